/** A ledger with one connection at Kraken, records that a test writes by hand, and prices that it sets. */
import { loadConnector, type Connector, type ConnectorState, type RawRecord } from '@assay/connectors'
import { getDefinition } from '@assay/connectors/catalog'
import { dayMs, type Decimal, parseDecimal, SourceError } from '@assay/core'
import { pino } from 'pino'
import { testDatabase, type TestAddress } from '../../../../test/postgres.ts'
import { createAssets } from '../assets/index.ts'
import type { CountedTransactions } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import type { ChangeCounts } from '../notices.ts'
import type { ConnectionRef } from '../owner.ts'
import { createPrices, type Prices } from '../prices/index.ts'
import { createLedger, type Ledger, type LedgerDeps, type WholePart } from './index.ts'

export interface Written {
  /** The id in its stored form. */
  id: string
  group_key: string
  change_seq: string
  updated_at: string
  document: string
}

export interface TestLedger {
  db: Database
  connection: TestAddress
  ledger: Ledger
  connector: Connector
  ref: ConnectionRef
  keep(...records: RawRecord[]): Promise<void>
  keepFunding(stream: 'deposits' | 'withdrawals', ...records: RawRecord[]): Promise<void>
  keepAt(of: ConnectionRef, stream: string, ...records: RawRecord[]): Promise<void>
  prices: Prices
  setPrice(price: Price): void
  /** Rules that a replay has instead of Kraken's. */
  setRules(rules: Partial<Connector>): void
  moveClock(ms: number): void
  /** Keys of users for whom matching was asked for. */
  queued: string[]
  /** What webhooks would count, by connection: added, changed and removed. */
  announced: Map<number, ChangeCounts>
  /** Derives with the connector's rules, or with others. */
  derive(of?: ConnectionRef, more?: DeriveOptions): Promise<boolean>
  /** The written transactions, by group. */
  listWritten(): Promise<Written[]>
  listRemovedIds(): Promise<string[]>
}

interface DeriveOptions {
  by?: Connector
  part?: WholePart
  storySpanMs?: number
  state?: ConnectorState
}

type Owner = Parameters<typeof testDatabase>[0]

/** A provider that the test's ledger takes for a wallet. */
export const walletId = 'a_wallet'
export const noonMs = Date.UTC(2026, 2, 2, 12)

/** The price of everything in dollars, or a failure of the source. */
type Price = Decimal | 'down'

interface Options {
  price?: Price
  /** Rules that a replay has instead of Kraken's. */
  rules?: Partial<Connector>
  /** Called whenever a day's prices are asked for. */
  beforePrices?: () => Promise<void>
  /** Called whenever present prices are asked for. */
  beforeCurrent?: () => Promise<void>
}

export async function openLedger(t: Owner, options: Options = {}): Promise<TestLedger> {
  const { beforePrices, beforeCurrent } = options
  let { price = parseDecimal('64000.5'), rules = {} } = options
  let nowMs = noonMs + dayMs
  const { db, connection } = await testDatabase(t)
  const getPrice = (): Decimal => {
    if (price === 'down') throw new SourceError('venue_down', 'no prices today')
    return price
  }
  const source = {
    name: 'a test',
    async fetchCurrent(ids: readonly string[]) {
      await beforeCurrent?.()
      return { coins: new Map(ids.map((id) => [id, getPrice()])), currencies: new Map<string, Decimal>() }
    },
    async fetchDaily(_: string, fromMs: number) {
      await beforePrices?.()
      return { answeredFromMs: fromMs, prices: [...daysFrom(fromMs, nowMs, getPrice())] }
    },
    fetchDailyRates: async (_: unknown, fromMs: number) => ({
      answeredFromMs: fromMs,
      prices: new Map<string, never[]>(),
    }),
  }
  const log = pino({ level: 'silent' })
  const prices = createPrices({ db, source, now: () => nowMs, scaleWait: (ms) => ms, log })
  const queued: string[] = []
  const announced = new Map<number, ChangeCounts>()
  const ledger = createLedger({
    db,
    assets: createAssets({ db }),
    prices,
    log,
    loadConnector: async (id) => ({ ...(await loadConnector(id === walletId ? 'kraken' : id)), ...rules }),
    getDefinition: (id) => getDefinition(id === walletId ? 'kraken' : id),
    isWallet: (id) => id === walletId,
    queueMatching: async (_, { userKey }) => void queued.push(userKey),
    async addChanges(_, { connectionKey }, { added, changed, removed }) {
      const sum = announced.get(connectionKey) ?? { added: 0, changed: 0, removed: 0 }
      announced.set(connectionKey, {
        added: sum.added + added,
        changed: sum.changed + changed,
        removed: sum.removed + removed,
      })
    },
    ...connectionRows,
  })
  const ref = refOf(1, 1)
  await addConnection(db, ref)
  const connector = await loadConnector('kraken')
  const keepAt = async (of: ConnectionRef, stream: string, ...records: RawRecord[]): Promise<void> => {
    const pages = [{ stream, partition: '', records, withdrawn: [], complete: undefined }]
    await db.transaction((tx) => ledger.keepRaw(tx, of, connector, pages))
  }
  return {
    db,
    connection,
    ledger,
    connector,
    ref,
    prices,
    setPrice: (next) => void (price = next),
    setRules: (next) => void (rules = next),
    moveClock: (ms) => void (nowMs += ms),
    queued,
    announced,
    keep: (...records) => keepAt(ref, 'ledger', ...records),
    keepAt,
    keepFunding: (stream, ...records) => keepAt(ref, stream, ...records),
    derive(of = ref, { by = connector, part, storySpanMs = getDefinition('kraken').storySpanMs, state = {} } = {}) {
      return ledger.derive(of, { connector: by, storySpanMs, state }, () => true, part)
    },
    listWritten: () =>
      db.rows('select id, group_key, change_seq, updated_at, document from transactions order by group_key'),
    async listRemovedIds() {
      const rows = await db.rows<{ id: string }>('select id from removed_transactions order by id')
      return rows.map(({ id }) => id)
    },
  }
}

function* daysFrom(fromMs: number, toMs: number, price: Decimal): Generator<{ dayMs: number; price: Decimal }> {
  for (let day = fromMs; day <= toMs; day += dayMs) yield { dayMs: day, price }
}

/** A connection of a user of the one tenant, by their numbers. */
export function refOf(user: number, connection: number): ConnectionRef {
  return {
    tenantKey: 1,
    tenantId: 'ten_a',
    userKey: String(user),
    userId: `usr_${user}`,
    connectionKey: connection,
    connectionId: `con_${user}_${connection}`,
  }
}

/** Settled and read, unless a session is named. */
export async function addConnection(
  db: Database,
  ref: ConnectionRef,
  more: { connectSessionId?: string; providerId?: string } = {},
): Promise<void> {
  await db.execute('insert into user_ledgers (user_key) values ($1) on conflict do nothing', [ref.userKey])
  await db.execute(
    `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id,
       connection_type, status, key_lane, session_id, created_at, added_at, shown_at, shown_seq)
     values ($1, $2, $3, $4, $5, $6, $7, 'api_key', 'active', $3, $8, $9, $9,
       case when $8::text is null then $9::timestamptz end, case when $8::text is null then 0 end)`,
    [
      ref.userKey,
      ref.connectionKey,
      ref.connectionId,
      ref.tenantKey,
      ref.tenantId,
      ref.userId,
      more.providerId ?? 'kraken',
      more.connectSessionId ?? null,
      db.now(),
    ],
  )
}

/** What the connections room writes for the ledger. */
const connectionRows: Pick<LedgerDeps, 'recordTransactions'> = {
  async recordTransactions(tx: Sql, ref: ConnectionRef, { difference, firstAt, isExact }: CountedTransactions) {
    await tx.execute(
      `update connections set transaction_count = transaction_count + $3,
         history_from = case when $5 then $4::timestamptz else least(history_from, $4::timestamptz) end
       where user_key = $1 and connection_key = $2`,
      [ref.userKey, ref.connectionKey, difference, firstAt, isExact],
    )
  },
}

/** Everything that was derived of one user is due again, as after a change of the rules. */
export async function makeAllDue(db: Database, userKey = '1'): Promise<void> {
  await db.execute(
    `insert into due_groups (user_key, connection_key, group_key, stream, partition, occurred_at, oldest_at, mark)
     select user_key, connection_key, group_key, max(stream), max(partition), max(occurred_at), min(occurred_at), 0
     from raw_records where user_key = $1 group by 1, 2, 3`,
    [userKey],
  )
}

/** A row of Kraken's ledger as the provider writes it. */
export function ledgerRow(key: string, group: string, more: Record<string, string> = {}, atMs = noonMs): RawRecord {
  const row = { refid: group, time: String(atMs / 1000), type: 'deposit', subtype: '', asset: 'XXBT', fee: '0' }
  return { key, occurredAtMs: atMs, body: JSON.stringify({ ...row, amount: '0.5', ...more }) }
}

/** A row of Kraken's lists of deposits and withdrawals, which says what the ledger does not. */
export function fundingRow(refid: string, more: Record<string, string> = {}, atMs = noonMs): RawRecord {
  const row = { refid, time: String(atMs / 1000), asset: 'XXBT', amount: '0.5', fee: '0', status: 'Success' }
  return { key: refid, occurredAtMs: atMs, body: JSON.stringify({ ...row, ...more }) }
}
