/**
 * `npm run campaign -- proof`: stored records are sabotaged one at a time, and the proof has to notice each: exactly
 * the assets whose sums changed are no longer proved, and the first bad interval of each contains the record.
 * Afterwards the record is put back, and everything is proved again.
 *
 * Which sums changed is read from the postings, which the proof does not write. A sabotage that changes no sum, such as
 * a record that is doubled in its own group, must change no verdict either.
 */
import { parseArgs } from 'node:util'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import type { TestEngine } from '../../../apps/server/src/test-engine.ts'
import { createChance, pick, type Chance } from '../../security/bad-input-values.ts'
import { stopOwnPostgres } from '../../postgres.ts'
import { withEngine } from '../campaign-engine.ts'
import { accountNames, openAccount, type ProofAccount } from './proof-accounts.ts'

const of = 'user_key = $1 and connection_key = $2 and stream = $3 and partition = $4 and source_key = $5'

/** The part of a record that is changed. PostgreSQL keeps the rest, whose numbers have more digits than ours. */
type Copy = Readonly<Record<'source_key' | 'group_key' | 'body', string>>

/** What replaces a record. */
const sabotages = {
  dropped: () => [],
  doubled: (copy: Copy) => [copy, toAnother(copy)],
  altered: (copy: Copy) => [{ ...copy, body: alter(copy.body) }],
  // The record comes with the next page, after the balance that contains it was judged. Until then it is missing.
  late: () => [],
} as const satisfies Record<string, (copy: Copy) => readonly Copy[]>

type SabotageKind = keyof typeof sabotages
const sabotageKinds = Object.keys(sabotages) as SabotageKind[]

/** A copy of the record as a separate event: with another reference, or the hash of another transaction. */
function toAnother(copy: Copy): Copy {
  const body = copy.body
    .replace(/"(refid|orderId|order|id)":"/g, '"$1":"again')
    .replace(/("(?:txid|hash|transactionHash)":"(?:0x)?|"signatures":\[")\w{5}/g, '$1face5')
  return { ...copy, source_key: `${copy.source_key}-again`, group_key: `${copy.group_key}-again`, body }
}

/** Puts a 1 before the digits of every amount. For a transaction on Solana, it changes the balances after it. */
function alter(body: string): string {
  const withOne = (head: string): string => `${head}1`
  return body
    .replace(/"(?:amount|qty|transactionFee|toAmount|totalAmount|value)":"?-?(?=\d)/g, withOne)
    .replace(/"postBalances":\[[^\]]*\]/g, (list) => list.replace(/\d+/g, '1$&'))
}

interface Target {
  stream: string
  partition: string
  source_key: string
  occurred_at: string
}

export interface ProofWorld {
  engine: TestEngine
  /**
   * Derives everything again. `thorough` also judges everything again; an ordinary run judges only what has changed.
   */
  prove(ref: ConnectionRef, providerId: string, options: { thorough: boolean }): Promise<Proved>
}

interface Proved {
  /** The interval of each asset that is not proved, by its id. */
  bad: Map<string, { start: string | null; end: string | null }>
  /** Assets that were judged and are not spam, which shows in no holding. */
  judged: ReadonlySet<string>
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
    const rows = await db.rows<{ id: string; sum: string }>(
      `select a.id, trim_scale(sum(p.amount))::text as sum from postings p join assets a on a.asset_key = p.asset_key
       where p.user_key = $1 and p.connection_key = $2 group by a.id having sum(p.amount) <> 0`,
      [ref.userKey, ref.connectionKey],
    )
    return new Map(rows.map(({ id, sum }) => [id, sum]))
  }
  const write = (one: Copy): Promise<number> =>
    db.execute(
      'insert into raw_records select * from jsonb_populate_record(null::raw_records, $1::jsonb || $2::jsonb)',
      [whole, JSON.stringify(one)],
    )
  const remove = (sourceKey: string): Promise<number> =>
    db.execute(`delete from raw_records where ${of}`, [...key.slice(0, 4), sourceKey])
  const before = await sums()
  const { whole, ...copy } = await db.row<Copy & { whole: string }>(
    `select to_jsonb(r)::text as whole, source_key, group_key, body from raw_records r where ${of}`,
    key,
  )
  await remove(target.source_key)
  for (const one of sabotages[kind](copy)) await write(one)
  // A late record comes with an ordinary run, after a run without it.
  const how = { thorough: kind !== 'late' }
  const { bad: found, judged } = await prove(ref, providerId, how)
  const after = await sums()
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (id) => before.get(id) !== after.get(id) && judged.has(id),
  )
  const what = `${providerId} ${kind} ${target.stream} ${target.source_key} of ${target.occurred_at}`
  const missed = changed.filter((id) => !found.has(id))
  const invented = [...found.keys()].filter((id) => !changed.includes(id))
  const misplaced = [...found].filter(
    ([, { start, end }]) => start === null || end === null || target.occurred_at < start || target.occurred_at >= end,
  )
  for (const sourceKey of [target.source_key, `${target.source_key}-again`]) await remove(sourceKey)
  await write(copy)
  const { bad: left } = await prove(ref, providerId, how)
  const wrongs = [
    ...missed.map((id) => `${id} changed and is still proved`),
    ...invented.map((id) => `${id} did not change and is not proved`),
    ...misplaced.map(([id, { start, end }]) => `${id} is placed from ${start ?? '–'} to ${end ?? '–'}`),
    ...[...left.keys()].map((id) => `${id} is not proved with the record in its place`),
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
  const { toReach } = await import('../../../apps/server/src/sync/coverage.ts')
  const { loadStandings } = await import('../../../apps/server/src/sync/store.ts')
  return {
    engine,
    async prove(ref, providerId, { thorough }) {
      const definition = getDefinition(providerId)
      const source = { connector: await loadConnector(providerId), definition }
      await engine.ledger.replay({ connectionId: ref.connectionId, apply: true, onProgress: () => undefined })
      const reach = toReach(definition.streams, (await loadStandings(engine.db, ref)).lists)
      await engine.proof.prove(ref, source, reach, { thorough })
      const page = await engine.proof.list(ref, ref.connectionId, { limit: 1_000, after: undefined })
      const rows = page?.rows.filter(({ spam }) => !spam) ?? []
      const bad = rows.filter(({ grade }) => grade !== 'proved')
      return {
        bad: new Map(bad.map(({ asset_id: id, first_bad_start: start, first_bad_end: end }) => [id, { start, end }])),
        judged: new Set(rows.map(({ asset_id: id }) => id)),
      }
    },
  }
}

/** For each sabotage that should change something. At Bitfinex, four of five records repeat what another list has. */
const triesMax = 60

const say = (text: string): void => void process.stdout.write(`${text}\n`)

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      sabotages: { type: 'string', default: '200' },
      accounts: { type: 'string', default: accountNames.join(',') },
    },
  })
  const [seed, count, names] = [Number(values.seed), Number(values.sabotages), values.accounts.split(',')]
  say(`proof campaign: ${count} sabotages of ${names.join(', ')}, seed ${seed}`)
  const failures: string[] = []
  try {
    await withEngine(async (engine) => {
      const world = await openProofWorld(engine)
      const chance = createChance(seed)
      for (const name of names) {
        const account = await openAccount(engine, name)
        failures.push(...(await sabotageMany(world, account, Math.ceil(count / names.length), chance)))
      }
    })
  } finally {
    await stopOwnPostgres()
  }
  for (const failure of failures) say(`✗ ${failure}`)
  say(failures.length === 0 ? '✓ every sabotage was noticed in its place' : `✗ ${failures.length} failures`)
  return failures.length === 0
}

async function sabotageMany(
  world: ProofWorld,
  { name, providerId, ref, provableSince }: ProofAccount,
  count: number,
  chance: Chance,
): Promise<string[]> {
  const all = await listTargets(world.engine, ref)
  const targets = all.filter(({ occurred_at }) => Date.parse(occurred_at) >= provableSince)
  const { bad } = await world.prove(ref, providerId, { thorough: true })
  const failures = [...bad.keys()].map((id) => `${name}: ${id} is not proved before anything was done`)
  let effective = 0
  // A record that only adds detail, or that another list has too, changes nothing, so another one is chosen.
  for (let tries = 0; effective < count && tries < count * triesMax; tries += 1) {
    const kind = pick(chance, sabotageKinds)
    const target = pick(chance, targets)
    const { wrong, changed } = await sabotageOnce(world, ref, providerId, kind, target)
    const verdict = changed === 0 ? 'no sum changed, and no verdict' : `noticed in ${changed} assets`
    say(`${name} ${kind} ${target.stream} ${target.source_key}: ${wrong === undefined ? verdict : `WRONG, ${wrong}`}`)
    if (changed > 0) effective += 1
    if (wrong === undefined) continue
    failures.push(wrong)
  }
  if (effective < count) failures.push(`${name}: only ${effective} of ${count} sabotages changed anything`)
  return failures
}
