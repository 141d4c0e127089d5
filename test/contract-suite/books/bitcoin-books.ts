/** What the chain holds for a simulated wallet, from the simulator's own books. */
import { toDecimalText } from '../../reconciler.ts'
import type { Held } from '../simulator.ts'

export interface BitcoinState {
  balance_sat: { confirmed: string }
  transactions: { txid: string; confirmed: boolean; net_sat: string }[]
}

/** What a block has is in the balance, however deep the block is; what none has is not. */
export function toHeld({ balance_sat: { confirmed }, transactions }: BitcoinState): Held {
  return {
    records: transactions.map((one) => ({
      stream: 'transactions',
      partition: '',
      key: one.txid,
      changes: one.confirmed ? [{ code: 'BTC', amount: toDecimalText(one.net_sat, 8) }] : [],
    })),
    balances: [{ code: 'BTC', amount: toDecimalText(confirmed, 8) }],
  }
}
