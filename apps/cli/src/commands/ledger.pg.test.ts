/** `assay ledger replay` as an operator uses it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { testKeyTexts } from '../../../server/src/test-keys.ts'
import { run, type Ended } from '../test-cli.ts'

it('assay ledger replay shows what would change, applies it with --apply, and then finds nothing left to change', async (t) => {
  const { db, connection } = await testDatabase(t)
  const environment = { DATABASE_URL: toDatabaseUrl(connection), ...testKeyTexts('test') }
  const assay = (...words: string[]): Promise<Ended> => run(['ledger', ...words], environment)
  const body = { refid: 'R1', time: '1772452800', type: 'deposit', subtype: '', asset: 'XXBT', amount: '0.5', fee: '0' }
  await db.execute(
    `insert into user_ledgers (user_key, connection_keys) values (7, 1);
     insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id, connection_type,
       status, key_lane, created_at)
     values (7, 1, 1, 'ten_a', 'usr_a', 'con_a', 'kraken', 'api_key', 'active', 'a', now())`,
  )
  await db.execute(
    `insert into raw_records (user_key, connection_key, stream, partition, source_key, group_key, occurred_at, fetched_at,
       pending, body)
     values (7, 1, 'ledger', '', 'L1', 'R1', '2026-03-02T12:00:00Z', now(), false, $1)`,
    [JSON.stringify(body)],
  )

  const looked = await assay('replay')
  assert.equal(looked.code, 0, looked.err)
  assert.match(looked.out, /^Derived 1 groups of records of 1 connections again\.$/m)
  assert.match(looked.out, /^kraken +deposit +1 +0 +0$/m)
  assert.match(looked.out, /^ {2}added txn_\w+ of con_a$/m)
  assert.match(looked.out, /with --apply/)
  assert.deepEqual(await db.rows('select from transactions'), [])

  assert.match(
    (await assay('findings', '--provider', 'kraken')).out,
    /^added txn_\w+ of con_a \(kraken\): The records make/m,
  )
  assert.match((await assay('discard')).out, /^Discarded 1 findings\.$/m)
  assert.match((await assay('apply')).out, /^Nothing changed\.$/m)
  assert.equal((await assay('replay', '--apply', '--connection', 'con_a')).code, 0)
  assert.equal((await db.rows('select from transactions')).length, 1)
  assert.match((await assay('replay')).out, /^Nothing would change\.$/m)

  const [unknown, wrong] = await Promise.all([assay('replay', '--connection', 'con_x'), assay('rewind')])
  assert.deepEqual(unknown, { code: 2, out: '', err: 'assay: connection con_x does not exist\n' })
  assert.equal(wrong.code, 2)
})
