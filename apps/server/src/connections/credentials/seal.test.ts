import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sealKeyName } from '../../sealing.ts'
import { testKeyring } from '../../test-keys.ts'
import { createSealer } from './seal.ts'

const credentials = { apiKey: 'an-api-key', secretKey: 'c2VjcmV0' } as const

describe('sealed credentials', () => {
  const sealer = createSealer(testKeyring('one'))

  it('open to what was sealed, with and without a passphrase', async () => {
    assert.deepEqual(await sealer.open('con_a', await sealer.seal('con_a', credentials)), credentials)
    const more = { ...credentials, passphrase: 'a phrase' }
    assert.deepEqual(await sealer.open('con_a', await sealer.seal('con_a', more)), more)
  })

  it('reveal nothing of their content, and differ each time', async () => {
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

  it('do not open when a byte of any part was changed, including the name of the connection', async () => {
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

  it('open with an older key of a rotated ring, and otherwise name the missing key', async () => {
    const sealed = await sealer.seal('con_a', credentials)
    const rotated = createSealer(testKeyring('two', 'one'))
    assert.deepEqual(await rotated.open('con_a', sealed), credentials)
    assert.equal(sealKeyName(await rotated.seal('con_a', credentials)), 'two')
    const without = createSealer(testKeyring('two'))
    await assert.rejects(without.open('con_a', sealed), /no sealing key named "one"/)
  })

  it('can be created but not opened by a process that has only the public keys', async () => {
    const { seals } = testKeyring('one')
    const half = createSealer({ seals, opens: undefined })
    const sealed = await half.seal('con_a', credentials)
    await assert.rejects(half.open('con_a', sealed), /only workers open secrets/)
    // Even without that guard, the code has no key to open it with.
    await assert.rejects(createSealer({ seals, opens: seals }).open('con_a', sealed))
    assert.deepEqual(await sealer.open('con_a', sealed), credentials)
  })

  it('do not open with another key of the same name', async () => {
    const sealed = await sealer.seal('con_a', credentials)
    const other = createSealer(testKeyring('one/other'))
    await assert.rejects(other.open('con_a', sealed))
  })
})
