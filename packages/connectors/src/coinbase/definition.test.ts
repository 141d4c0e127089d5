/**
 * What the widget says about a pasted Coinbase key before it is sent. Forms: docs.cdp.coinbase.com,
 * coinbase-app/authentication-authorization/api-key-authentication, and the SDK's JwtOptions. All keys are invented.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { cleanField, examineFields, isReady, type Remark } from '@assay/core/credentials'
import { coinbaseDefinition } from './definition.ts'

const keyId = '0b1e5d1c-5f5e-4a43-9a34-000000000002'
const keyName = `organizations/0b1e5d1c-5f5e-4a43-9a34-000000000001/apiKeys/${keyId}`
const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'sec1', format: 'pem' })
  .toString()
const ed25519 = Buffer.alloc(64, 7).toString('base64')

function examine(apiKey: string, secretKey: string): Remark[] {
  const values: Record<string, string> = { api_key: apiKey, secret_key: secretKey }
  return examineFields(
    coinbaseDefinition.metadata.credential_fields.map(({ name, required, shape }) => ({
      ...{ name, required, shape },
      value: cleanField(name, values[name] ?? ''),
    })),
  )
}

const codes = (apiKey: string, secretKey: string): string[] => examine(apiKey, secretKey).map(({ code }) => code)

describe('a Coinbase key in the form', () => {
  it('is accepted with its whole name or its id, and with either kind of secret', () => {
    for (const name of [keyName, keyId]) {
      for (const secret of [pem, ed25519]) assert.ok(isReady(examine(name, secret)))
    }
  })

  it('a PEM block is repaired: with \\n as two characters, with spaces for line ends, in one line, in quotes', () => {
    const pasted = [
      pem.replaceAll('\n', String.raw`\n`),
      pem.replaceAll('\n', ' '),
      pem.replaceAll('\n', ''),
      `"${pem}"`,
    ]
    for (const secret of pasted) {
      assert.equal(cleanField('secret_key', secret), pem.trim())
      assert.ok(isReady(examine(keyName, secret)))
    }
  })

  it('a PEM block without its first line, its last line or both is called broken', () => {
    const lines = pem.trim().split('\n')
    for (const cut of [lines.slice(1), lines.slice(0, -1), lines.slice(1, -1)]) {
      for (const end of ['\n', String.raw`\n`, ' ']) assert.deepEqual(codes(keyName, cut.join(end))[1], 'broken_pem')
    }
  })

  it('an old key is refused', () => {
    const remarks = examine('aBcDeFgHiJkLmNoP', 'aBcDeFgHiJkLmNoPaBcDeFgHiJkLmNoP')
    assert.deepEqual(
      remarks.map(({ code, level }) => [code, level]),
      [
        ['too_short', 'stop'],
        ['too_short', 'stop'],
      ],
    )
  })

  it('a secret in the field of the name is detected', () => {
    assert.deepEqual(codes(pem, keyName), ['swapped', 'swapped'])
    assert.deepEqual(codes(ed25519, keyId), ['swapped', 'swapped'])
    assert.equal(codes(pem, pem)[0], 'same_twice')
  })
})
