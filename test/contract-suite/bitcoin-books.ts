/** What the chain holds for a simulated wallet, from the simulator's own books. */
import type { Held } from './simulator.ts'

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
      changes: one.confirmed ? [{ code: 'BTC', amount: toBitcoin(one.net_sat) }] : [],
    })),
    balances: [{ code: 'BTC', amount: toBitcoin(confirmed) }],
  }
}

function toBitcoin(satoshi: string): string {
  const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(satoshi) ?? []
  const padded = digits.padStart(9, '0')
  return `${sign}${padded.slice(0, -8)}.${padded.slice(-8)}`
}
