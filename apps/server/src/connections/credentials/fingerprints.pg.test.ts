import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { testKeyring } from '../../test-keys.ts'
import {
  checkFingerprintKeys,
  createFingerprints,
  forgetFingerprintKeys,
  resealFingerprintKeys,
} from './fingerprints.ts'

/** Connectors hash an account in this way. */
const found = createHash('sha256').update('account 1').digest('hex')

describe('the fingerprint of an account', () => {
  it('is the same in every process for one tenant, and differs between tenants', async (t) => {
    const { db } = await testDatabase(t)
    const worker = createFingerprints(db, testKeyring('main'))
    const other = createFingerprints(db, testKeyring('main'))
    const [first, again] = await Promise.all([worker({ tenantKey: 1 }, found), other({ tenantKey: 1 }, found)])
    assert.equal(first, again)
    const elsewhere = await worker({ tenantKey: 2 }, found)
    assert.notEqual(elsewhere, first)
    for (const stored of [first, elsewhere]) assert.ok(!stored.includes(found) && /^[0-9a-f]{64}$/.test(stored))
  })

  it('survives a rotation of the sealing keys, after which the old key can be removed', async (t) => {
    const { db } = await testDatabase(t)
    const before = await createFingerprints(db, testKeyring('old'))({ tenantKey: 1 }, found)
    assert.equal((await resealFingerprintKeys(db, testKeyring('new', 'old'))).resealed, 1)
    assert.equal((await resealFingerprintKeys(db, testKeyring('new', 'old'))).resealed, 0)
    assert.equal(await createFingerprints(db, testKeyring('new'))({ tenantKey: 1 }, found), before)
  })

  it('cannot be computed by a process without private keys, nor by one that has lost the key', async (t) => {
    const { db } = await testDatabase(t)
    const { seals, derive } = testKeyring('main')
    await createFingerprints(db, testKeyring('main'))({ tenantKey: 1 }, found)
    const api = createFingerprints(db, { seals, derive, opens: undefined })
    await assert.rejects(api({ tenantKey: 1 }, found), /only workers open secrets/)
    assert.deepEqual((await checkFingerprintKeys(db, testKeyring('other'))).lost, ['1'])
  })

  it('uses a new key once a lost one is given up, and only for the tenants that lost theirs', async (t) => {
    const { db } = await testDatabase(t)
    const before = await createFingerprints(db, testKeyring('lost'))({ tenantKey: 1 }, found)
    const kept = await createFingerprints(db, testKeyring('new'))({ tenantKey: 2 }, found)
    const worker = createFingerprints(db, testKeyring('new'))
    await assert.rejects(worker({ tenantKey: 1 }, found), /no sealing key named "lost"/)
    await forgetFingerprintKeys(db, (await checkFingerprintKeys(db, testKeyring('new'))).lost)
    assert.notEqual(await worker({ tenantKey: 1 }, found), before)
    assert.equal(await worker({ tenantKey: 2 }, found), kept)
  })
})
