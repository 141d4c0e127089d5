import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseKeyring } from '../keys.ts'
import { createSealer } from './seal.ts'

const keyOf = (fill: number): string => Buffer.alloc(32, fill).toString('base64')
const credentials = { type: 'api_key', apiKey: 'an-api-key', secretKey: 'c2VjcmV0' } as const

describe('sealed credentials', () => {
  const sealer = createSealer(parseKeyring(`one:${keyOf(1)}`))

  it('open to what was sealed, with and without a passphrase', async () => {
    assert.deepEqual(await sealer.open('con_a', await sealer.seal('con_a', credentials)), credentials)
    const more = { ...credentials, passphrase: 'a phrase' }
    assert.deepEqual(await sealer.open('con_a', await sealer.seal('con_a', more)), more)
  })

  it('show nothing of themselves, and are another text each time', async () => {
    const sealed = await Promise.all([sealer.seal('con_a', credentials), sealer.seal('con_a', credentials)])
    assert.notEqual(sealed[0], sealed[1])
    for (const text of sealed) {
      const readable = text
        .split('.')
        .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
        .join()
      assert.doesNotMatch(readable, /an-api-key|c2VjcmV0/)
    }
  })

  it('do not open for another connection', async () => {
    const sealed = await sealer.seal('con_a', credentials)
    await assert.rejects(sealer.open('con_b', sealed), /sealed for/)
  })

  it('do not open when a byte of any part was changed, the name of the connection included', async () => {
    const parts = (await sealer.seal('con_a', credentials)).split('.')
    for (const index of parts.keys()) {
      const altered = parts.map((part, at) =>
        at === index ? `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}` : part,
      )
      await assert.rejects(sealer.open('con_a', altered.join('.')), `part ${index}`)
    }
    const header = JSON.parse(Buffer.from(parts[0] ?? '', 'base64url').toString()) as object
    const forged = Buffer.from(JSON.stringify({ ...header, bound_to: 'con_b' })).toString('base64url')
    await assert.rejects(sealer.open('con_b', [forged, ...parts.slice(1)].join('.')))
  })

  it('open with an older key of a rotated ring, and name the key that is missing otherwise', async () => {
    const sealed = await sealer.seal('con_a', credentials)
    const rotated = createSealer(parseKeyring(`two:${keyOf(2)},one:${keyOf(1)}`))
    assert.deepEqual(await rotated.open('con_a', sealed), credentials)
    assert.equal(rotated.keyNameOf(await rotated.seal('con_a', credentials)), 'two')
    const without = createSealer(parseKeyring(`two:${keyOf(2)}`))
    await assert.rejects(without.open('con_a', sealed), /no sealing key named "one"/)
  })

  it('do not open with another key of the same name', async () => {
    const sealed = await sealer.seal('con_a', credentials)
    const other = createSealer(parseKeyring(`one:${keyOf(9)}`))
    await assert.rejects(other.open('con_a', sealed))
  })
})
