/**
 * `npm run campaign -- faults`: an account of every simulated provider is read while its calls fail at random: refused,
 * cut off, stalled, answered with half of the JSON, with rows that move or come twice, by a clock that is wrong. In
 * some rounds the key is taken back half-way, and later replaced.
 *
 * The judge is a second reader of the same account, which nothing disturbs: in the end both have the same records,
 * transactions, postings and balances, byte for byte. While a key is gone, every window that counts as covered has all
 * of its records. The contract suite compares an undisturbed reader with the simulator's books.
 */
import { parseArgs } from 'node:util'
import type { ConnectionRef } from '../../apps/server/src/owner.ts'
import type { TestEngine } from '../../apps/server/src/test-engine.ts'
import { createChance, pick, type Chance } from '../security/bad-input-values.ts'
import type { ArmedFault, SimulatedAccount } from '../contract-suite/simulator.ts'
import { ofConnection } from '../of-connection.ts'
import { stopOwnPostgres } from '../postgres.ts'
import { withEngine } from './campaign-engine.ts'
import { compareEvidence, gatherEvidence } from './evidence.ts'
import { accountNames, add, connect, openSimulator, readAgain } from './proof/proof-accounts.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** Short, because a call that stalls is waited for. A call that is slower on a busy machine is one more fault. */
const providerTimeoutMs = 1_500

/** Each passes: it ends after some calls, or a reader can live with it. */
const passing: Readonly<Record<string, (chance: Chance) => Omit<ArmedFault, 'kind'>>> = {
  http_429: () => ({}),
  http_429_retry_after: (chance) => ({ retry_after_s: chance(90) }),
  http_418: (chance) => ({ retry_after_s: chance(90) }),
  http_5xx: (chance) => ({ status: 500 + chance(5) }),
  reset: () => ({}),
  truncated_json: () => ({}),
  html: () => ({}),
  stall: () => ({}),
  rate_limited: () => ({}),
  service_unavailable: () => ({}),
  down: () => ({}),
  latency_ms: (chance) => ({ latency_ms: chance(200) }),
  duplicate_rows: (chance) => ({ rows: 1 + chance(10) }),
  // The first run of a day reads a week again, and finds what was booked late.
  shifting_page: (chance) => ({ late_ms: chance(2) * chance(3 * dayMs) }),
  // A clock is wrong for every account, and for calls without a key, such as the one that asks what time it is. Some
  // readers ask; the others wait until it is right again.
  clock_skew: (chance) => ({ skew_ms: chance(1_200_000) - 600_000, account_id: undefined, times: 1 + chance(100) }),
}
const kinds = Object.keys(passing)
const [faultsMin, faultsMax, hitsMax] = [2, 8, 4]
/** Of a key that was taken back, and of a sign-in. */
const reauthentications = ['needs_reauth: invalid_credentials', 'needs_reauth: needs_reauth']
const withoutKeys: ReadonlySet<string> = new Set(['bitcoin', 'evm', 'solana'])

/** Two connections to one account have different ids, so that rows are named by what the provider calls them. */
const tables: Record<string, string> = {
  raw_records: `select stream || ' ' || partition || ' ' || source_key as key,
      md5(row(group_key, pending, occurred_at, body, unreadable, retired_at is null)::text) as sum
    from raw_records where ${ofConnection}`,
  due_groups: `select group_key as key, '' as sum from due_groups where ${ofConnection}`,
  transactions: `select group_key || ' ' || occurred_at as key,
      string_agg(row(type, category, pending, document)::text, ' ' order by document) as sum
    from transactions where ${ofConnection} group by group_key, occurred_at`,
  postings: `select a.id || ' ' || p.occurred_at as key,
      string_agg(row(p.staked, p.side, p.amount)::text, ' ' order by p.side, p.staked, p.amount) as sum
    from postings p join assets a using (asset_key) where ${ofConnection} group by a.id, p.occurred_at`,
  holdings: `select a.id as key, row(h.liquid, h.staked, h.spam)::text as sum
    from holdings h join assets a using (asset_key) where ${ofConnection}`,
  poison_groups: `select group_key as key, reason as sum from poison_groups where ${ofConnection}`,
}

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      rounds: { type: 'string', default: '3' },
      accounts: { type: 'string', default: accountNames.join(',') },
    },
  })
  const [seed, rounds, names] = [Number(values.seed), Number(values.rounds), values.accounts.split(',')]
  say(`fault campaign: ${rounds} rounds of ${names.join(', ')}, seed ${seed} (--seed ${seed} repeats its choices)`)
  const chance = createChance(seed)
  const failures: string[] = []
  try {
    for (const name of names) {
      await withEngine((engine) => disturbMany(engine, name, { rounds, chance, failures }), {
        ASSAY_PROVIDER_TIMEOUT: String(providerTimeoutMs),
      })
    }
  } finally {
    await stopOwnPostgres()
  }
  for (const failure of failures) say(`✗ ${failure}`)
  const verdict = failures.length === 0 ? '✓ every disturbed read ended as an undisturbed one' : '✗ failed'
  say(`${verdict}, seed ${seed}`)
  return failures.length === 0
}

interface Trial {
  rounds: number
  chance: Chance
  failures: string[]
}

async function disturbMany(engine: TestEngine, name: string, { rounds, chance, failures }: Trial): Promise<void> {
  const { newAccount, providerId } = openSimulator(engine, name)
  const rehearsal = await newAccount('default')
  await connect(engine, providerId, rehearsal)
  // Faults are spread over a whole read.
  const { calls } = await rehearsal.countCalls()
  for (let round = 1; round <= rounds; round += 1) {
    const began = performance.now()
    const isRevoked = chance(3) === 0 && !withoutKeys.has(name)
    const faults = drawFaults(chance, calls)
    if (isRevoked) faults.push({ kind: 'revoked', after: chance(calls) })
    const told = faults.map(({ kind, after = 0, times = 'on' }) => `${kind} ${after}+${times}`).join(', ')
    const wrong = await disturb(engine, name, faults).catch((error: unknown) => [String(error)])
    const seconds = Math.round((performance.now() - began) / 1_000)
    say(`${name} ${round} of ${rounds}, ${calls} calls, ${seconds} s: ${told}${wrong.length > 0 ? ': WRONG' : ''}`)
    failures.push(...wrong.map((text) => `${name}, round ${round}: ${text}`))
  }
}

function drawFaults(chance: Chance, calls: number): ArmedFault[] {
  return Array.from({ length: faultsMin + chance(faultsMax - faultsMin) }, () => {
    const kind = pick(chance, kinds)
    const [after, times] = [chance(calls), 1 + chance(hitsMax)]
    return { kind, after, times, ...passing[kind]?.(chance) }
  })
}

/** What is wrong, in words. */
async function disturb(engine: TestEngine, name: string, faults: readonly ArmedFault[]): Promise<string[]> {
  const { newAccount, clearFaults, providerId } = openSimulator(engine, name)
  const account = await newAccount('default')
  const owner = await engine.newOwner()
  const { connectionId, errors } = await add(engine, providerId, account, owner)
  if (connectionId === null) throw new Error(`not connected: ${JSON.stringify(errors)}`)
  const disturbed = await engine.toRef(owner, connectionId)
  // Rows that a shifting page books late are found by the first run of the next day, and may be missing until then.
  // Their time is by the simulator's clock, which may be wrong too.
  const lateMs = Math.max(0, ...faults.map((fault) => Number(fault['late_ms'] ?? 0)))
  const lateSinceMs = lateMs === 0 ? Infinity : engine.clock.now() - lateMs - 60 * minuteMs
  for (const fault of faults) await account.arm(fault)
  const end = await readToEnd(engine, disturbed)
  await clearFaults()
  // A limit that was hit at last still holds the next reader off, for up to a minute.
  await engine.moveClock(minuteMs)
  const isRevoked = faults.some(({ kind }) => kind === 'revoked')
  if (end !== 'active' && !(isRevoked && reauthentications.includes(end))) return [`the read ended ${end}`]

  const calm = await connect(engine, providerId, account, (ref) => readCalmly(engine, ref))
  const wrong = end === 'active' ? [] : await repair(engine, providerId, account, { disturbed, calm, lateSinceMs })
  await engine.moveClock(dayMs)
  await readAgain(engine, calm, disturbed)
  const [expected, found] = [
    await gatherEvidence(engine.db, calm.connectionId, tables),
    await gatherEvidence(engine.db, disturbed.connectionId, tables),
  ]
  if (expected.get('transactions')?.size === 0) wrong.push('the undisturbed read found nothing')
  return [...wrong, ...compareEvidence(expected, found), ...(await listHoles(engine, { calm, disturbed }))]
}

/** Nothing disturbs it, but what the faults taught us of the provider's limit may make it wait. */
async function readCalmly(engine: TestEngine, ref: ConnectionRef): Promise<void> {
  const end = await readToEnd(engine, ref)
  if (end !== 'active') throw new Error(`the undisturbed read ended ${end}`)
}

interface Readers {
  disturbed: ConnectionRef
  calm: ConnectionRef
}

/** A key that was taken back is replaced. Before that, nothing older that counts as covered may be missing. */
async function repair(
  engine: TestEngine,
  providerId: string,
  account: SimulatedAccount,
  { disturbed, calm, lateSinceMs }: Readers & { lateSinceMs: number },
): Promise<string[]> {
  const missing = await engine.db.rows<{ record: string }>(
    `select r.stream || ' ' || r.partition || ' ' || r.source_key as record from raw_records r
     where r.user_key = $1 and r.connection_key = $2 and r.retired_at is null
       and extract(epoch from r.occurred_at) * 1000 < $5
       and exists (select from covered_windows w where w.user_key = $3 and w.connection_key = $4
         and (w.stream, w.partition) = (r.stream, r.partition)
         and extract(epoch from r.occurred_at) * 1000 >= w.window_start
         and extract(epoch from r.occurred_at) * 1000 < w.window_end)
       and not exists (select from raw_records d where d.user_key = $3 and d.connection_key = $4
         and (d.stream, d.partition, d.source_key) = (r.stream, r.partition, r.source_key))`,
    [calm.userKey, calm.connectionKey, disturbed.userKey, disturbed.connectionKey, lateSinceMs],
  )
  const { errors } = await add(engine, providerId, account, disturbed, { repairOf: disturbed.connectionId })
  await engine.drain({ delayed: true })
  return [
    ...missing.map(({ record }) => `${record} is missing in a window that counts as covered`),
    ...errors.map(({ cause }) => `the replaced key is refused: ${cause}`),
  ]
}

const stepsMax = 400
const jobsPerStep = 10

/** The clock moves on between jobs, because a provider that says how long to wait must be left alone for so long. */
async function readToEnd(engine: TestEngine, ref: ConnectionRef): Promise<string> {
  let last = ''
  for (let step = 0; step < stepsMax; step += 1) {
    await engine.drain({ delayed: true, enough: stopAfter(jobsPerStep) })
    const row = await engine.connections.find(ref, ref.connectionId)
    if (row === undefined) throw new Error('the connection is gone')
    last = row.status_cause === null ? row.status : `${row.status}: ${row.status_cause}`
    if (row.status === 'active' || row.status === 'needs_reauth') return last
    await engine.moveClock(minuteMs)
  }
  return `${last} after ${stepsMax} minutes`
}

function stopAfter(jobs: number): () => Promise<boolean> {
  let done = 0
  return async () => done++ === jobs
}

/** A provider that forgets has the same hole for both. */
async function listHoles(engine: TestEngine, { disturbed, calm }: Readers): Promise<string[]> {
  const find = async (ref: ConnectionRef): Promise<string[]> => {
    const streams = (await engine.sync.findCoverage(ref, ref.connectionId)) ?? []
    return streams.flatMap(({ stream, holes }) => holes.map(({ cause }) => `a hole in ${stream}: ${cause}`))
  }
  const known = new Set(await find(calm))
  return (await find(disturbed)).filter((hole) => !known.has(hole))
}
