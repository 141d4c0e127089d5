/** The books of the simulated spot exchanges, as their control API shows them: what happened, in plain terms. */
import type { Held } from './simulator.ts'

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

export interface SpotState {
  balances: Record<string, string>
  records: { id: string; kind: string; body: Happened & Record<string, unknown> }[]
}

type Change = Held['balances'][number]

/** `isTold` says whether any list that is read shows this. If none does, the amount is held and cannot be found. */
export function toSpotHeld(
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

function changesOf(kind: string, event: Happened): Change[] {
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
    default:
      return []
  }
}

function negate(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/** Ids are the exchange's own, and the books have none: records are counted by list. The ledger has several for one happening. */
export function countedByList(stream: string): string | undefined {
  return stream === 'ledger' ? undefined : stream
}
