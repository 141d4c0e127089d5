import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { installQueue, parseStored } from './jobs/index.ts'
import { createLog } from './http/log.ts'
import { addConnection, fundingRow, ledgerRow, openLedger } from './ledger/test-ledger.ts'
import { createMatchTask, queueMatching } from './match-job.ts'

describe('the job that looks for own transfers', () => {
  it('is queued once for a user, and finds transfers of what has been settled', async (t) => {
    const { db, connection, ledger, ref, keep, keepFunding, keepAt, derive, listWritten } = await openLedger(t)
    await installQueue(connection, createLog({ level: 'silent' }))
    const other = { ...ref, connectionKey: ref.connectionKey + 1, connectionId: 'con_b' }
    await addConnection(db, other, { connectSessionId: 'ses_1' })
    const hash = { txid: 'ab'.repeat(32) }
    await keep(ledgerRow('L1', 'R1', { type: 'withdrawal', amount: '-0.5' }))
    await keepFunding('withdrawals', fundingRow('R1', hash))
    await keepAt(other, 'ledger', ledgerRow('L2', 'R2'))
    await keepAt(other, 'deposits', fundingRow('R2', hash))
    await derive()
    await derive(other)
    await db.execute('update connections set session_id = null')

    await db.transaction((tx) => queueMatching(tx, ref))
    await db.transaction((tx) => queueMatching(tx, ref))
    const jobs = await db.rows<{ payload: unknown }>(
      `select j.payload from graphile_worker._private_jobs j join graphile_worker.jobs v on v.id = j.id
       where v.task_identifier = 'match'`,
    )
    const { tenantKey, tenantId, userKey, userId } = ref
    const payloads = jobs.map(({ payload }) => parseStored('match', payload))
    assert.deepEqual(payloads, [{ owner: { tenantKey, tenantId, userKey, userId } }])
    await createMatchTask({ db, ledger })({ owner: ref }, new AbortController().signal)
    for (const { document } of await listWritten()) assert.match(document, /"counterpart":{"transaction_id":"txn_/)
  })
})
