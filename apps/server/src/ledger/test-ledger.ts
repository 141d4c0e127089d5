/** A ledger with one connection at Kraken, records that a test writes by hand, and prices that it sets. */
import { loadConnector, type RawRecord } from '@assay/connectors'
import { parseDecimal, SourceError, type Decimal } from '@assay/core'
import { pino } from 'pino'
import { testDatabase } from '../../../../test/postgres.ts'
import type { ConnectionRef } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import { createPrices } from '../prices/index.ts'
import { createLedger, type Ledger } from './index.ts'

export interface Written {
  id: string
  group_key: string
  updated_at: string
  document: string
}

export interface TestLedger {
  db: Database
  ledger: Ledger
  ref: ConnectionRef
  keep(...records: RawRecord[]): Promise<void>
  derive(of?: ConnectionRef): Promise<boolean>
  /** By group. */
  listWritten(): Promise<Written[]>
  listRemovedIds(): Promise<string[]>
}

type Owner = Parameters<typeof testDatabase>[0]

export const dayMs = 86_400_000
export const noonMs = Date.UTC(2026, 2, 2, 12)

export async function openLedger(t: Owner, price: Decimal | 'down' = parseDecimal('64000.5')): Promise<TestLedger> {
  const { db } = await testDatabase(t)
  const getPrice = (): Decimal => {
    if (price === 'down') throw new SourceError('venue_down', 'no prices today')
    return price
  }
  const source = {
    name: 'a test',
    fetchCurrent: async (ids: readonly string[]) => new Map(ids.map((id) => [id, getPrice()])),
    fetchDaily: async (_: string, fromMs: number) => [...daysFrom(fromMs, getPrice())],
  }
  const log = pino({ level: 'silent' })
  const prices = createPrices({ db, source, now: () => noonMs + dayMs, log })
  const ledger = createLedger({ db, prices, log })
  const ref = { tenantId: 'ten_a', userId: 'usr_a', connectionId: 'con_a' }
  await addConnection(db, ref)
  const connector = await loadConnector('kraken')
  return {
    db,
    ledger,
    ref,
    keep: (...records) => db.transaction((tx) => ledger.keepRaw(tx, ref, 'ledger', records)),
    derive: (of = ref) => ledger.derive(of, connector, () => true),
    listWritten: () => db.rows('select id, group_key, updated_at, document from transactions order by group_key'),
    async listRemovedIds() {
      const rows = await db.rows<{ id: string }>('select id from removed_transactions order by id')
      return rows.map(({ id }) => id)
    },
  }
}

function* daysFrom(fromMs: number, price: Decimal): Generator<{ dayMs: number; price: Decimal }> {
  for (let day = fromMs; day <= noonMs + dayMs; day += dayMs) yield { dayMs: day, price }
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
