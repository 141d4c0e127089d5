/**
 * A provider that a test writes by hand: its lists, its pages and its oddities. It stands in for Kraken (keys of
 * Kraken's shape connect it), so that the whole engine runs on it: jobs, metering, ledger and coverage.
 *
 * A record's body is `{ links, amount }`. The records of a story become one deposit of bitcoin, named by the first link
 * of its oldest record.
 */
import type {
  Balances,
  Budget,
  CallsAtOnce,
  Connector,
  ConnectorState,
  Height,
  Page,
  PageRequest,
  Partition,
  RawRecord,
  AccountReader,
  StoredRecord,
  Stream,
} from '@assay/connectors'
import { getDefinition, type ProviderDefinition } from '@assay/connectors/catalog'
import { dayMs, hourMs, parseDecimal, sum, type TransactionDraft } from '@assay/core'
import type { Registry } from '../compose/pace.ts'
import type { ConnectionRef } from '../owner.ts'
import { openEngine, type TestEngine } from '../test-engine.ts'

export const plainStream: Stream = {
  name: 'ledger',
  unit: 'ms',
  partitioned: false,
  windowMax: null,
  retentionMs: null,
  overlap: hourMs,
  cost: { calls: 1 },
  required: true,
  providerLimit: null,
  remedy: null,
}

export interface TestRecord extends RawRecord {
  /** For streams in blocks. */
  height?: number
}

export interface TestProvider extends Registry {
  /** By stream and partition, joined by a slash. */
  lists: Map<string, TestRecord[]>
  partitions: Partition[]
  pageSize: number
  height: Height
  /** May throw instead of giving the height. */
  answerHeight(partition: string): Height
  /** Every page that was asked for. */
  requests: PageRequest[]
  /** May change an answer, or throw instead of it. */
  answer(request: PageRequest, page: Page): Page | Promise<Page>
  /** States that `listPartitions` was given. */
  listings: ConnectorState[]
  balancesRead: number
  /** May throw. */
  answerBalances(state: ConnectorState): Balances
}

interface Options {
  streams?: readonly [Stream, ...Stream[]]
  budget?: Partial<Budget>
  atOnce?: CallsAtOnce
  storySpanMs?: number
  storiesStayInLists?: true
  networks?: Readonly<Record<string, string>>
  rebasing?: readonly string[]
  unlistedCredits?: Readonly<Record<string, string>>
}

export function createTestProvider({
  streams = [plainStream],
  budget,
  atOnce,
  storySpanMs = dayMs,
  storiesStayInLists,
  networks,
  rebasing,
  unlistedCredits,
}: Options = {}): TestProvider {
  const definition: ProviderDefinition = {
    ...getDefinition('kraken'),
    ...{ streams, storySpanMs, settlesMs: 0 },
    ...(storiesStayInLists && { storiesStayInLists }),
    ...(networks && { networks }),
    ...(rebasing && { rebasing }),
    ...(unlistedCredits && { unlistedCredits }),
  }
  const provider: TestProvider = {
    lists: new Map(),
    partitions: [],
    pageSize: 2,
    height: { height: 0, atMs: 0 },
    answerHeight: () => provider.height,
    requests: [],
    answer: (_, page) => page,
    listings: [],
    balancesRead: 0,
    answerBalances: () => ({ balances: [] }),
    getDefinition: () => definition,
    loadConnector: async () => connector,
  }
  const reader: AccountReader = {
    verify: async () => ({
      ...{ fingerprint: crypto.randomUUID(), fingerprintOf: 'account' },
      ...{ excess: [], missing: [], keyExpiresAtMs: null },
    }),
    async fetchBalances(state) {
      provider.balancesRead += 1
      return provider.answerBalances(state)
    },
    async listPartitions(state) {
      provider.listings.push(state)
      return provider.partitions
    },
    fetchHeight: async (_, partition) => provider.answerHeight(partition),
    async fetchPage(request) {
      provider.requests.push(request)
      return provider.answer(request, toPage(provider, request))
    },
  }
  const connector: Connector = {
    providerId: 'kraken',
    version: 1,
    budget: {
      buckets: [{ name: 'calls', scope: 'key', tiers: [{ capacity: 1_000_000, refillPerSecond: 1_000 }] }],
      ...{ verify: { calls: 1 }, balances: { calls: 1 }, partitions: {} },
      ...budget,
    },
    ...(atOnce && { atOnce }),
    open: () => reader,
    linkKeys,
    toTransactions: (records) => [toDeposit(records)],
  }
  return provider
}

/** Newest first, by offset; the page after the last one is empty. */
function toPage(
  { lists, pageSize }: TestProvider,
  { stream, partition, window, pageMark: position }: PageRequest,
): Page {
  const standingOf = ({ height, occurredAtMs }: TestRecord): number =>
    window.unit === 'block' ? (height ?? 0) : occurredAtMs
  const own = (lists.get(`${stream}/${partition}`) ?? [])
    .filter((record) => standingOf(record) >= window.start && standingOf(record) < window.end)
    .toSorted((a, b) => standingOf(b) - standingOf(a))
  const from = Number(position ?? 0)
  const records = own.slice(from, from + pageSize)
  const next = records.length === 0 ? null : String(from + records.length)
  return { records, next, ...(next === null && { complete: window }) }
}

export function record(
  key: string,
  occurredAtMs: number,
  more: Partial<TestRecord> & { links?: string[] } = {},
): TestRecord {
  const { links = [key], ...rest } = more
  return { key, occurredAtMs, body: JSON.stringify({ links, amount: '1' }), ...rest }
}

interface Body {
  links: [string, ...string[]]
  amount: string
}

function linkKeys({ body }: StoredRecord): [string, ...string[]] {
  return (JSON.parse(body) as Body).links
}

function toDeposit(records: readonly StoredRecord[]): TransactionDraft {
  const [first] = records.toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)
  if (first === undefined) throw new Error('a story without records')
  const bodies = records.map(({ body }) => JSON.parse(body) as Body)
  const amount = sum(bodies.map((body) => parseDecimal(body.amount)))
  return {
    ...{ naturalKey: linkKeys(first)[0], type: 'receive', category: 'deposit', method: 'venue', confidence: 1 },
    status: first.pending === true ? 'pending' : 'confirmed',
    occurredAtMs: first.occurredAtMs,
    inputs: [{ assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin', amount }],
    ...{ outputs: [], fees: [], network: null, hash: null, fromAddress: null, toAddress: null, spam: false },
    ...{ providerReference: null, description: null, incomplete: [] },
  }
}

/** The whole engine on providers that tests write; `use` names the one that everything talks to from then on. */
export interface TestReader extends TestEngine {
  use(provider: TestProvider): TestProvider
  /** Connected, not yet read. */
  connectTest(): Promise<ConnectionRef>
  /** Runs what is due, as one more run of this connection. */
  run(ref: ConnectionRef, choices?: Parameters<TestEngine['drain']>[0]): Promise<void>
  /** The amounts that are served, newest first, by natural key of the test provider. */
  listAmounts(ref: ConnectionRef): Promise<string[]>
}

/** Call it in an async `describe`. */
export async function openReader(settings: Parameters<typeof openEngine>[0] = {}): Promise<TestReader> {
  let current = createTestProvider()
  const registry: Registry = {
    loadConnector: (id) => current.loadConnector(id),
    getDefinition: (id) => current.getDefinition(id),
  }
  const engine = await openEngine(settings, { registry })
  const { db } = engine
  return {
    ...engine,
    use: (provider) => (current = provider),
    async connectTest() {
      // Connections of the tests before would be read from this one's provider.
      await db.execute('delete from graphile_worker._private_jobs')
      return engine.connect(await engine.newOwner(), 'empty')
    },
    async run(ref, choices) {
      const { key_lane: lane } = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
        ref.connectionId,
      ])
      await engine.sync.beginReading(db, ref, lane)
      await engine.drain(choices)
    },
    async listAmounts({ userKey }) {
      const rows = await db.rows<{ amount: string }>(
        `select substring(document from '"amount":"([^"]*)"') as amount from transactions
         where user_key = $1 order by occurred_at desc, id desc`,
        [userKey],
      )
      return rows.map(({ amount }) => amount)
    },
  }
}
