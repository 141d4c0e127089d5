/** What the simulated Kraken holds, read from its books. */
import { symbolOf as readCode, toUnits, type KrakenState } from '../../reconciler.ts'
import type { Held } from '../simulator.ts'

interface State extends KrakenState {
  deposits: { refid: string }[]
  withdrawals: { refid: string }[]
}

export function toHeld(state: State): Held {
  const funding = (stream: string, rows: readonly { refid: string }[]): Held['records'] =>
    rows.map(({ refid }) => ({ stream, partition: '', key: refid, changes: [] }))
  return {
    records: [
      ...state.ledger.map(({ id, asset, amount, fee }) => ({
        stream: 'ledger',
        partition: '',
        key: id,
        changes: [
          { code: asset, amount },
          { code: asset, amount: toUnits(fee) === 0n ? '0' : negate(fee) },
        ],
      })),
      ...funding('deposits', state.deposits),
      ...funding('withdrawals', state.withdrawals),
    ],
    balances: Object.entries(state.balances).map(([code, amount]) => ({ code, amount })),
  }
}

function negate(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/** A wallet behind the dot that Kraken does not document makes a separate asset. */
export function symbolOf(code: string): string {
  return code.endsWith('.Q') ? code : readCode(code)
}
