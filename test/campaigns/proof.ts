/**
 * `npm run campaign -- proof`: stored records are sabotaged one at a time, and the proof has to notice each: exactly the
 * assets whose sums changed are no longer proved, and the first bad interval of each contains the record. Afterwards the
 * record is put back, and everything is proved again.
 *
 * Which sums changed is read from the postings, which the proof does not write. A sabotage that changes no sum, such as a
 * record that is doubled in its own group, must change no verdict either.
 */
import { parseArgs } from 'node:util'
import type { ConnectionRef } from '../../apps/server/src/owner.ts'
import type { TestEngine } from '../../apps/server/src/test-engine.ts'
import { createChance, pick, type Chance } from '../bad-input-values.ts'

const of = 'user_key = $1 and connection_key = $2 and stream = $3 and partition = $4 and source_key = $5'

/** Each takes the five parts of a record's key. */
export const sabotages = {
  dropped: `delete from raw_records where ${of}`,
  doubled: `insert into raw_records select * from jsonb_populate_recordset(null::raw_records, (
      select jsonb_agg(to_jsonb(r) || jsonb_build_object('source_key', source_key || '-again', 'group_key', group_key || '-again',
        'body', regexp_replace(body, '"(refid|orderId|id)":"', '"\\1":"again', 'g')))
      from raw_records r where ${of}))`,
  altered: `update raw_records set
      body = regexp_replace(body, '"(amount|qty|transactionFee|toAmount|totalAmount)":"(-?)', '"\\1":"\\21', 'g')
    where ${of}`,
  // It comes with the next page, after the balance that it is in was judged: until then it is not there.
  late: `delete from raw_records where ${of}`,
} as const

export type SabotageKind = keyof typeof sabotages
export const sabotageKinds = Object.keys(sabotages) as SabotageKind[]

interface Target {
  stream: string
  partition: string
  source_key: string
  occurred_at: string
}

export interface ProofWorld {
  engine: TestEngine
  /** Everything is derived and judged again; by symbol the interval of what is not proved. */
  prove(ref: ConnectionRef, providerId: string): Promise<Map<string, { start: string | null; end: string | null }>>
}

/** Returns what was wrong with the verdict; undefined when it was right. */
export async function sabotageOnce(
  { engine: { db }, prove }: ProofWorld,
  ref: ConnectionRef,
  providerId: string,
  kind: SabotageKind,
  target: Target,
): Promise<{ wrong: string | undefined; changed: number }> {
  const key = [ref.userKey, ref.connectionKey, target.stream, target.partition, target.source_key]
  const sums = async (): Promise<Map<string, string>> => {
    const rows = await db.rows<{ symbol: string; sum: string }>(
      `select a.symbol, trim_scale(sum(p.amount))::text as sum from postings p join assets a on a.asset_key = p.asset_key
       where p.user_key = $1 and p.connection_key = $2 group by a.symbol having sum(p.amount) <> 0`,
      [ref.userKey, ref.connectionKey],
    )
    return new Map(rows.map(({ symbol, sum }) => [symbol, sum]))
  }
  const before = await sums()
  const { copy } = await db.row<{ copy: string }>(
    `select to_jsonb(r)::text as copy from raw_records r where ${of}`,
    key,
  )
  await db.execute(sabotages[kind], key)
  const found = await prove(ref, providerId)
  const after = await sums()
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((one) => before.get(one) !== after.get(one))
  const what = `${providerId} ${kind} ${target.stream} ${target.source_key} of ${target.occurred_at}`
  const missed = changed.filter((symbol) => !found.has(symbol))
  const invented = [...found.keys()].filter((symbol) => !changed.includes(symbol))
  const misplaced = [...found].filter(
    ([, { start, end }]) => start === null || end === null || target.occurred_at < start || target.occurred_at >= end,
  )
  await db.execute(`delete from raw_records where ${of}`, [...key.slice(0, 4), `${target.source_key}-again`])
  await db.execute(`delete from raw_records where ${of}`, key)
  await db.execute('insert into raw_records select * from jsonb_populate_record(null::raw_records, $1::jsonb)', [copy])
  const left = await prove(ref, providerId)
  const wrongs = [
    ...missed.map((symbol) => `${symbol} changed and is still proved`),
    ...invented.map((symbol) => `${symbol} did not change and is not proved`),
    ...misplaced.map(([symbol, { start, end }]) => `${symbol} is placed from ${start ?? '–'} to ${end ?? '–'}`),
    ...[...left.keys()].map((symbol) => `${symbol} is not proved with the record in its place`),
  ]
  return { wrong: wrongs.length === 0 ? undefined : `${what}: ${wrongs.join('; ')}`, changed: changed.length }
}

export async function listTargets({ db }: TestEngine, ref: ConnectionRef): Promise<Target[]> {
  return db.rows<Target>(
    `select stream, partition, source_key, occurred_at from raw_records
     where user_key = $1 and connection_key = $2 and not pending and retired_at is null
     order by occurred_at, stream, partition, source_key`,
    [ref.userKey, ref.connectionKey],
  )
}

export async function openProofWorld(engine: TestEngine): Promise<ProofWorld> {
  const { loadConnector } = await import('@assay/connectors')
  const { getDefinition } = await import('@assay/connectors/catalog')
  const { toReach } = await import('../../apps/server/src/sync/coverage.ts')
  const { loadPlaces } = await import('../../apps/server/src/sync/store.ts')
  return {
    engine,
    async prove(ref, providerId) {
      const definition = getDefinition(providerId)
      const source = { connector: await loadConnector(providerId), definition }
      await engine.ledger.replay({ connectionId: ref.connectionId, apply: true, onProgress: () => undefined })
      const reach = toReach(definition.streams, (await loadPlaces(engine.db, ref)).lists)
      await engine.proof.prove(ref, source, reach, { thorough: true })
      const page = await engine.proof.list(ref, ref.connectionId, { limit: 1_000, after: undefined })
      const bad = page?.rows.filter(({ grade, spam }) => grade !== 'proved' && !spam) ?? []
      return new Map(
        bad.map(({ asset_symbol: symbol, first_bad_start: start, first_bad_end: end }) => [symbol, { start, end }]),
      )
    },
  }
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      sabotages: { type: 'string', default: '200' },
      providers: { type: 'string', default: 'kraken,binance,coinbase' },
    },
  })
  const [seed, count, providers] = [Number(values.seed), Number(values.sabotages), values.providers.split(',')]
  say(`proof campaign: ${count} sabotages of ${providers.join(', ')}, seed ${seed}`)
  const { openEngine } = await import('../../apps/server/src/test-engine.ts')
  const ends: (() => unknown)[] = []
  const engine = await openEngine({}, {}, { after: (end) => void ends.push(end as () => unknown) })
  try {
    const failures: string[] = []
    const world = await openProofWorld(engine)
    const chance = createChance(seed)
    for (const providerId of providers) {
      const ref = await engine.connect(await engine.newOwner(), 'default', providerId)
      await engine.drain({ delayed: true })
      failures.push(...(await sabotageMany(world, ref, providerId, Math.ceil(count / providers.length), chance)))
    }
    for (const failure of failures) say(`✗ ${failure}`)
    say(failures.length === 0 ? '✓ every sabotage was noticed in its place' : `✗ ${failures.length} failures`)
    return failures.length === 0
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

async function sabotageMany(
  world: ProofWorld,
  ref: ConnectionRef,
  providerId: string,
  count: number,
  chance: Chance,
): Promise<string[]> {
  const targets = await listTargets(world.engine, ref)
  const failures: string[] = []
  let effective = 0
  for (let number = 0; number < count; number += 1) {
    const kind = pick(chance, sabotageKinds)
    const target = pick(chance, targets)
    const { wrong, changed } = await sabotageOnce(world, ref, providerId, kind, target)
    const verdict = changed === 0 ? 'no sum changed, and no verdict' : `noticed in ${changed} assets`
    say(`${providerId} ${kind} ${target.stream} ${target.source_key}: ${wrong === undefined ? verdict : 'WRONG'}`)
    if (changed > 0) effective += 1
    if (wrong === undefined) continue
    failures.push(wrong)
  }
  // Otherwise it would prove nothing.
  if (effective < count / 2) failures.push(`${providerId}: only ${effective} of ${count} sabotages changed anything`)
  return failures
}
