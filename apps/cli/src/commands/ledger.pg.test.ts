/** `assay ledger replay` as an operator uses it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { testDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import { testKeyTexts } from '../../../server/src/test-keys.ts'
import { run, start, type Ended } from '../test-cli.ts'

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
  const mistyped = await assay('apply', '--provider', 'krakn')
  assert.deepEqual([mistyped.code, mistyped.out], [2, ''])
  assert.match(mistyped.err, /^assay: provider "krakn" does not exist/)
})

it('assay ledger findings lists them as fast as they are read, and not into memory', async (t) => {
  const { db, connection } = await testDatabase(t)
  const environment = { DATABASE_URL: toDatabaseUrl(connection), ...testKeyTexts('test') }
  await db.execute(
    `insert into user_ledgers (user_key, connection_keys) values (7, 1);
     insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id, connection_type,
       status, key_lane, created_at)
     values (7, 1, 1, 'ten_a', 'usr_a', 'con_a', 'kraken', 'api_key', 'active', 'a', now());
     insert into replay_findings (user_key, connection_key, id, replay_id, found_at, group_key, change, reason)
     select 7, 1, gen_random_uuid(), gen_random_uuid(), now(), 'R', 'removed', repeat('x', 2000)
     from generate_series(1, 5000)`,
  )
  const { child, output } = start(['ledger', 'findings'], environment)
  t.after(() => child.kill('SIGKILL'))
  child.stdout?.pause()
  await until('the list to wait for its reader', () =>
    db.maybeRow(
      `select from pg_stat_activity where datname = current_database() and state = 'idle'
         and query like '%from replay_findings%' and state_change < clock_timestamp() - interval '1 second'
         and pid <> pg_backend_pid()`,
    ),
  )
  child.stdout?.resume()
  await once(child, 'close')
  assert.equal(child.exitCode, 0)
  assert.equal(output().split('\n').length, 5_002)
})
