/**
 * proof: what judging a balance adds to a run that changed one asset, of which the account has 100,000 postings over a
 * year, beside the same with the postings that the account was read with. Kraken's records carry running balances, so
 * its proof also follows those.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { loadConnector } from '@assay/connectors'
import { getDefinition } from '@assay/connectors/catalog'
import type { Database } from '../../../apps/server/src/db/index.ts'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import { toReach } from '../../../apps/server/src/sync/coverage.ts'
import { loadStandings } from '../../../apps/server/src/sync/store.ts'
import type { Benchmark } from '../../benchmark.ts'
import { measure } from '../../measure.ts'
import { openEngine } from '../../world/engine.ts'
import { startInstallation } from '../../world/installation.ts'

const provider = 'kraken'
const asset = 'crypto:bitcoin'
/** One run is a hundredth of a second: its figure is the mean of this many. */
const proofsPerRun = 50
const pollMs = 50
const waitMaxMs = 120_000

export const proof: Benchmark = {
  name: 'proof',
  summary: 'judging a balance with 100,000 postings of its asset',
  async run(bench) {
    const postgres = await bench.postgres()
    const database = await postgres.newDatabase('bench_proof')
    const installation = await startInstallation(database, bench.say)
    bench.onEnd(() => installation.stop())
    const worker = await installation.startWorker()
    const token = await installation.newToken('one')
    await installation.connect(token, await installation.sandbox.newAccount('default'))
    const { db } = database
    await untilJudged(db)
    await worker.stop()
    const engine = await openEngine(database, installation.environment)
    const ref = await findRef(db)
    const source = { connector: await loadConnector(provider), definition: getDefinition(provider) }
    const reach = toReach(source.definition.streams, (await loadStandings(db, ref)).lists)
    const judge = async (): Promise<number> => {
      let spentMs = 0
      for (let count = 0; count < proofsPerRun; count += 1) {
        await markDue(db, ref)
        const began = performance.now()
        await engine.proof.prove(ref, source, reach)
        spentMs += performance.now() - began
      }
      return spentMs / proofsPerRun
    }
    const few = await measure({ name: 'as it was read', run: judge }, bench)
    const postings = bench.size === 'try' ? 1_000 : 100_000
    await addPostings(db, ref, postings)
    const many = await measure({ name: `with ${postings} postings`, run: judge }, bench)
    await checkProved(db, ref)
    const title = 'What a proof adds to a run that changed one asset'
    return [
      { title: `${title}, as it was read`, unit: 'ms', measured: few, goal: undefined, notes: [] },
      {
        title: `${title}, with ${postings} more postings of it`,
        unit: 'ms',
        measured: many,
        goal: { atMost: 5 },
        notes: [],
      },
    ]
  },
}

/** A first verdict comes with the run after the first read. */
async function untilJudged(db: Database): Promise<void> {
  const endsMs = performance.now() + waitMaxMs
  while ((await db.rows('select from connections where proof_grade is not null')).length === 0) {
    if (performance.now() > endsMs) throw new Error('there is no verdict')
    await delay(pollMs)
  }
}

function findRef(db: Database): Promise<ConnectionRef> {
  return db.row<ConnectionRef>(
    `select user_key as "userKey", tenant_key as "tenantKey", tenant_id as "tenantId", user_id as "userId",
       connection_key as "connectionKey", id as "connectionId" from connections`,
  )
}

/** As a page with a new record does. */
async function markDue(db: Database, { userKey, connectionKey }: ConnectionRef): Promise<void> {
  await db.execute(
    `insert into due_proofs (user_key, connection_key, asset_key, since)
     select $1::bigint, $2::integer, asset_key, $3::timestamptz from assets where id = $4
     on conflict (user_key, connection_key, asset_key) do update set since = excluded.since`,
    [userKey, connectionKey, db.now(), asset],
  )
}

/** Pairs that cancel, over a year. */
async function addPostings(db: Database, { userKey, connectionKey }: ConnectionRef, count: number): Promise<void> {
  await db.execute(
    `with added as (
       insert into postings
         (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam, amount)
       select $1::bigint, $2::integer, gen_random_uuid(), asset_key,
         $3::timestamptz - interval '2 days' - make_interval(mins => n * 5), 0, false, 'i', false,
         case when n % 2 = 0 then 1 else -1 end
       from assets, generate_series(1, $5::integer) n where id = $4 returning asset_key, occurred_at, amount)
     insert into daily_changes as d (user_key, connection_key, asset_key, day, amount)
     select $1::bigint, $2::integer, asset_key, (occurred_at at time zone 'UTC')::date, sum(amount) from added group by 3, 4
     on conflict (user_key, connection_key, asset_key, day) do update set amount = d.amount + excluded.amount`,
    [userKey, connectionKey, db.now(), asset, count],
  )
  await db.execute('vacuum analyze postings')
  await db.execute('vacuum analyze daily_changes')
}

/** A proof that judges nothing would be fast. */
async function checkProved(db: Database, { userKey }: ConnectionRef): Promise<void> {
  const proved = await db.rows(
    `select from proofs join assets using (asset_key) where user_key = $1 and id = $2 and grade = 'proved'`,
    [userKey, asset],
  )
  if (proved.length !== 1) throw new Error(`${asset} is not proved`)
}
