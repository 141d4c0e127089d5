/** The wallets of this process, found again by the addresses and signatures that a call names. */
import { createAccounts, type Account, type Accounts } from '../core/accounts.ts'
import type { Pace } from '../core/clock.ts'
import type { Scenario } from '../core/scenario.ts'
import type { WalletList } from '../core/issued-lists.ts'
import { keyOf } from './chain/addresses.ts'
import { documentedLimit } from './rpc/limits.ts'
import type { Story } from './story.ts'

export type SolanaAccount = Account<Story, Story>

export interface Wallets {
  accounts: Accounts<Story, Story>
  addressOf(account: SolanaAccount): string
  /** Says whose an address or a signature is. */
  note(text: string, accountId: string): void
  /** Remembers the wallet for the next process. */
  keep(account: SolanaAccount): void
  /** The wallets that a body names. */
  findIn(body: string): SolanaAccount[]
  /** Wallets of an earlier process whose transactions this one does not know yet; empty after the first call. */
  takeEarlier(): SolanaAccount[]
}

/** An address has 32 to 44 letters of base58, a signature up to 88. */
const names = /[1-9A-HJ-NP-Za-km-z]{32,88}/g
// This is far more than any test needs; addresses and signatures of wallets live as long as the process.
const notedMax = 1_000_000

export function createWallets(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  wallets: WalletList
}): Wallets {
  const { seed, wallets: list } = options
  const build = (story: Story): Story => story
  const accounts = createAccounts<Story, Story>({ ...options, provider: 'solana', documentedLimit, build })
  const owners = new Map<string, string>()
  let earlier: SolanaAccount[] | undefined

  function note(text: string, accountId: string): void {
    if (owners.size >= notedMax) throw new RangeError(`${notedMax} addresses and signatures are known already`)
    owners.set(text, accountId)
  }

  function addressOf({ id }: SolanaAccount): string {
    return keyOf(seed, id, 'self').address
  }

  /** The addresses of earlier wallets are known from the beginning, their token accounts and signatures are not. */
  function readEarlier(): SolanaAccount[] {
    const known = list.list().map((id) => accounts.findById(id))
    const found = known.filter((account) => account !== undefined)
    for (const account of found) note(addressOf(account), account.id)
    return found
  }

  return {
    accounts,
    addressOf,
    note,
    keep: ({ id }) => list.add(id),
    findIn(body) {
      earlier ??= readEarlier()
      const ids = new Set([...body.matchAll(names)].map(([text]) => owners.get(text)))
      const found = [...ids].map((id) => (id === undefined ? undefined : accounts.findById(id)))
      return found.filter((account) => account !== undefined)
    },
    takeEarlier() {
      const taken = earlier ?? readEarlier()
      earlier = []
      return taken
    },
  }
}
