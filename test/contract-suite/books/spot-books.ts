/** The books of the simulated spot exchanges, as their control API shows them: what happened, in plain terms. */
import { dayMs } from '@assay/core'
import { msUntilNoon } from '../../noon.ts'
import type { Held } from '../simulator.ts'

interface Happened {
  at: string
  status?: string
  asset: string
  amount: string
  fee: string
  pair: string
  side: 'buy' | 'sell'
  qty: string
  cost: string
  feeAsset: string
  fromAsset: string
  fromAmount: string
  toAsset: string
  toAmount: string
  source: string
}

interface SpotState {
  balances: Record<string, string>
  records: { id: string; kind: string; body: Happened & Record<string, unknown> }[]
}

type Change = Held['balances'][number]

const byKind: Readonly<Record<string, string>> = { trade: 'trades', deposit: 'deposits', withdrawal: 'withdrawals' }
const streamOf = (kind: string): string | undefined => byKind[kind]

/** The engine's clock begins at noon. */
function forgottenMs(memoryDays: number): number {
  const nowMs = Date.now()
  return nowMs + msUntilNoon(nowMs) - memoryDays * dayMs
}

export function bitfinexHeld(state: SpotState): Held {
  const isTransfer = (kind: string): boolean => kind === 'deposit' || kind === 'withdrawal'
  return toSpotHeld(
    state,
    (kind) => (isTransfer(kind) ? 'transfers' : streamOf(kind)),
    () => true,
  )
}

/**
 * Interest and airdrops are booked in the funding wallet, which has its own list that ccxt does not read, and so have
 * deposits from other Bybit accounts. Trades and the transaction log are forgotten after two years.
 */
export function bybitHeld(state: SpotState): Held {
  const reachMs = forgottenMs(730)
  return toSpotHeld(state, streamOf, (kind, body) => {
    if (kind === 'deposit') return body['internal'] !== true
    if (kind === 'withdrawal') return true
    if (kind === 'reward' && body['to'] !== 'trading') return false
    return Date.parse(body.at) >= reachMs
  })
}

/**
 * Fills and bills are forgotten after three months, deposits and withdrawals never. What is credited to the funding
 * account is in no list that is read.
 */
export function okxHeld(state: SpotState): Held {
  const reachMs = forgottenMs(90)
  return toSpotHeld(state, streamOf, (kind, body) => {
    if (kind === 'deposit' || kind === 'withdrawal') return true
    if (kind === 'reward' && body['to'] !== 'trading') return false
    return Date.parse(body.at) >= reachMs
  })
}

/** `isTold` says whether any list that is read shows this. If none does, the amount is held and cannot be found. */
function toSpotHeld(
  { balances, records }: SpotState,
  streamOf: (kind: string) => string | undefined,
  isTold: (kind: string, body: Happened & Record<string, unknown>) => boolean,
): Held {
  return {
    records: records.map(({ id, kind, body }) => {
      const told = isTold(kind, body)
      const stream = (told ? streamOf(kind) : undefined) ?? 'ledger'
      return { stream, partition: '', key: id, changes: told ? changesOf(kind, body) : [] }
    }),
    balances: Object.entries(balances).map(([code, amount]) => ({ code, amount })),
  }
}

function changesOf(kind: string, event: Happened & Record<string, unknown>): Change[] {
  switch (kind) {
    case 'trade': {
      const [base = '', quote = ''] = event.pair.split('/')
      const isBuy = event.side === 'buy'
      return [
        { code: base, amount: isBuy ? event.qty : negate(event.qty) },
        { code: quote, amount: isBuy ? negate(event.cost) : event.cost },
        { code: event.feeAsset, amount: negate(event.fee) },
      ]
    }
    case 'deposit':
      return event.status === 'done' ? [{ code: event.asset, amount: event.amount }] : []
    case 'withdrawal':
      if (event.status === 'cancelled' || event.status === 'failed') return []
      return [
        { code: event.asset, amount: negate(event.amount) },
        { code: event.asset, amount: negate(event.fee) },
      ]
    case 'convert':
      return [
        { code: event.fromAsset, amount: negate(event.fromAmount) },
        { code: event.toAsset, amount: event.toAmount },
      ]
    case 'reward':
      return [{ code: event.asset, amount: event.amount }]
    case 'charge':
      return [{ code: event.asset, amount: negate(event.amount) }]
    case 'product':
      return [{ code: event.asset, amount: event['to'] === 'product' ? negate(event.amount) : event.amount }]
    default:
      return []
  }
}

function negate(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/**
 * Ids are the exchange's own, and the books have none: records are counted by list. The ledger has several for one
 * happening.
 */
export function countedByList(stream: string): string | undefined {
  return stream === 'ledger' ? undefined : stream
}
