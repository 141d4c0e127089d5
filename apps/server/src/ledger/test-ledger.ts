/** A ledger with one connection at Kraken, records that a test writes by hand, and prices that it sets. */
import { loadConnector, type Connector, type RawRecord } from '@assay/connectors'
import { parseDecimal, SourceError, type Decimal } from '@assay/core'
import { pino } from 'pino'
import { testDatabase, type TestAddress } from '../../../../test/postgres.ts'
import type { ConnectionRef } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import { createPrices, type Prices } from '../prices/index.ts'
import { createLedger, type Ledger } from './index.ts'

export interface Written {
  id: string
  group_key: string
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
  moveClock(ms: number): void
  /** Users for whom matching was asked for. */
  queued: string[]
  derive(of?: ConnectionRef): Promise<boolean>
  /** By group. */
  listWritten(): Promise<Written[]>
  listRemovedIds(): Promise<string[]>
}

type Owner = Parameters<typeof testDatabase>[0]

/** A provider that the test's ledger takes for a wallet. */
export const walletId = 'a_wallet'
export const dayMs = 86_400_000
export const noonMs = Date.UTC(2026, 2, 2, 12)

/** In dollars, of everything; or the source's failing. */
type Price = Decimal | 'down'

interface Options {
  price?: Price
  /** Called whenever a day's prices are asked for. */
  beforePrices?: () => Promise<void>
}

export async function openLedger(t: Owner, options: Options = {}): Promise<TestLedger> {
  const { beforePrices } = options
  let { price = parseDecimal('64000.5') } = options
  let nowMs = noonMs + dayMs
  const { db, connection } = await testDatabase(t)
  const getPrice = (): Decimal => {
    if (price === 'down') throw new SourceError('venue_down', 'no prices today')
    return price
  }
  const source = {
    name: 'a test',
    fetchCurrent: async (ids: readonly string[]) => ({
      coins: new Map(ids.map((id) => [id, getPrice()])),
      currencies: new Map<string, Decimal>(),
    }),
    async fetchDaily(_: string, fromMs: number) {
      await beforePrices?.()
      return [...daysFrom(fromMs, nowMs, getPrice())]
    },
    fetchDailyRates: async () => new Map<string, never[]>(),
  }
  const log = pino({ level: 'silent' })
  const prices = createPrices({ db, source, now: () => nowMs, pace: 1, log })
  const queued: string[] = []
  const queueMatching = async (_: unknown, { userId }: { userId: string }): Promise<void> => void queued.push(userId)
  const ledger = createLedger({ db, prices, log, loadConnector, isWallet: (id) => id === walletId, queueMatching })
  const ref = { tenantId: 'ten_a', userId: 'usr_a', connectionId: 'con_a' }
  await addConnection(db, ref)
  const connector = await loadConnector('kraken')
  const keepAt = (of: ConnectionRef, stream: string, ...records: RawRecord[]): Promise<void> =>
    db.transaction((tx) => ledger.keepRaw(tx, of, stream, records))
  return {
    db,
    connection,
    ledger,
    connector,
    ref,
    prices,
    setPrice: (next) => void (price = next),
    moveClock: (ms) => void (nowMs += ms),
    queued,
    keep: (...records) => keepAt(ref, 'ledger', ...records),
    keepAt,
    keepFunding: (stream, ...records) => keepAt(ref, stream, ...records),
    derive: (of = ref) => ledger.derive(of, connector, () => true),
    listWritten: () => db.rows('select id, group_key, updated_at, document from transactions order by group_key'),
    async listRemovedIds() {
      const rows = await db.rows<{ id: string }>('select id from removed_transactions order by id')
      return rows.map(({ id }) => id)
    },
  }
}

function* daysFrom(fromMs: number, toMs: number, price: Decimal): Generator<{ dayMs: number; price: Decimal }> {
  for (let day = fromMs; day <= toMs; day += dayMs) yield { dayMs: day, price }
}

export async function addConnection(
  db: Database,
  ref: ConnectionRef,
  more: { sessionId?: string } = {},
): Promise<void> {
  await db.execute(
    `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, session_id)
     values ($1, $2, $3, 'kraken', 'api_key', 'active', $3, $4)`,
    [ref.tenantId, ref.userId, ref.connectionId, more.sessionId ?? null],
  )
}

/** A row of Kraken's ledger as the provider writes it. */
export function ledgerRow(key: string, group: string, more: Record<string, string> = {}, atMs = noonMs): RawRecord {
  const row = { refid: group, time: String(atMs / 1000), type: 'deposit', subtype: '', asset: 'XXBT', fee: '0' }
  return { key, group, occurredAtMs: atMs, body: JSON.stringify({ ...row, amount: '0.5', ...more }) }
}

/** A row of Kraken's lists of deposits and withdrawals, which says what the ledger does not. */
export function fundingRow(refid: string, more: Record<string, string> = {}, atMs = noonMs): RawRecord {
  const row = { refid, time: String(atMs / 1000), asset: 'XXBT', amount: '0.5', fee: '0', status: 'Success' }
  return { key: refid, group: refid, occurredAtMs: atMs, body: JSON.stringify({ ...row, ...more }) }
}
