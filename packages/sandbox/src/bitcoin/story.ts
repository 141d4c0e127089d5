/**
 * The vocabulary in which a scenario describes what happened to a wallet. `tellStory` turns it into signed transactions
 * on the network, and refuses a story in which a wallet spends what it does not have.
 */
import { toUnits } from '../core/units.ts'
import type { Entry, Network } from './chain/network.ts'
import { receive, reward, send, strangerScript, sweep, type Bank, type Moment } from './payments.ts'
import { sha256 } from './chain/transaction.ts'
import type { ChainName, OwnAddress, Standard, Wallet, WalletKind } from './wallet.ts'
export { every } from '../core/scenario.ts'
export type { Standard, WalletKind } from './wallet.ts'

export interface Story {
  kind: WalletKind
  standard: Standard
  /**
   * After this many payments the change goes to the first address again. If it is left out, every change has a new
   * address.
   */
  changeAddresses?: number
  /**
   * Every account of the scenario opens the same wallet, in every sandbox: another simulator can name its addresses and
   * transactions. The keys come from this text instead of the sandbox's seed.
   */
  sharedKeys?: string
  events: readonly StoryEvent[]
}

export type StoryEvent = Received | Sent | Joined | Rewarded

/** Times are UTC: "2025-03-04 09:12:33". */
interface Happening {
  at: string
  /** Satoshis for each virtual byte; drawn from the time when left out. */
  feeRate?: number
  /** It never leaves the mempool by itself. */
  unconfirmed?: true
}

export interface Received extends Happening {
  kind: 'receive'
  /** Bitcoin, one for each output to the wallet. */
  amounts: readonly string[]
  /** The receiving addresses; the next unused ones when left out. */
  to?: readonly number[]
  /** How many other customers are paid in the same transaction. */
  strangers?: number
}

export interface Sent extends Happening {
  kind: 'send'
  /** An amount of bitcoin, or "all". */
  amount: string
  payee: string
  /** Text for an output that only carries data. */
  data?: string
}

/** All coins go to one own address. */
export interface Joined extends Happening {
  kind: 'consolidate'
}

export interface Rewarded extends Happening {
  kind: 'reward'
  amount: string
}

export const bitcoinDecimals = 8

/** `nowMs`: what happens later than this has not happened yet and is left out. */
export function tellStory(network: Network, wallet: Wallet, story: Story, nowMs: number): void {
  const bank = { network, wallet }
  const next: Record<ChainName, number> = { receive: 0, change: 0 }
  const use = (chain: ChainName): OwnAddress => {
    next[chain] += 1
    const index = next[chain] - 1
    return wallet.at(chain, chain === 'change' ? index % (story.changeAddresses ?? Number.POSITIVE_INFINITY) : index)
  }
  for (const event of story.events.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))) {
    const seconds = Date.parse(`${event.at.replace(' ', 'T')}Z`) / 1_000
    const height = network.chain.heightAtOrAfter(seconds)
    if (seconds * 1_000 > nowMs || (height === undefined && event.unconfirmed === undefined)) continue
    const feeRate = BigInt(event.feeRate ?? feeRateOf(event.at))
    tell(bank, event, { seconds, height: event.unconfirmed ? undefined : height, feeRate }, use, next)
  }
}

function tell(
  bank: Bank,
  event: StoryEvent,
  moment: Moment,
  use: (chain: ChainName) => OwnAddress,
  next: Record<ChainName, number>,
): Entry {
  const { wallet } = bank
  switch (event.kind) {
    case 'receive': {
      const outputs = event.amounts.map((amount, index) => {
        const to = event.to?.[index]
        if (to === undefined) return { to: use('receive'), value: toSatoshi(amount) }
        next.receive = Math.max(next.receive, to + 1)
        return { to: wallet.at('receive', to), value: toSatoshi(amount) }
      })
      return receive(bank, moment, outputs, { strangers: event.strangers ?? 0 })
    }
    case 'send': {
      const script = strangerScript(wallet, event.payee)
      if (event.amount === 'all') return sweep(bank, moment, script)
      const data = event.data === undefined ? {} : { data: event.data }
      return send(bank, moment, { script, value: toSatoshi(event.amount), change: use('change'), ...data })
    }
    case 'consolidate':
      return sweep(bank, moment, Buffer.from(use('receive').script, 'hex'))
    case 'reward':
      return reward(bank, moment, use('receive'), toSatoshi(event.amount))
  }
}

export function toSatoshi(amount: string): bigint {
  return toUnits(amount, bitcoinDecimals)
}

/** Between 2 and 33, as if the mempool were fuller on some days than on others. */
export function feeRateOf(text: string): number {
  return 2 + (sha256(Buffer.from(text)).readUInt8() >> 3)
}
