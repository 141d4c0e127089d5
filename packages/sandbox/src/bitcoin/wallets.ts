/** The wallets of this process: opened with their accounts, and found again by their addresses and transactions. */
import type { Account, Accounts } from '../core/accounts.ts'
import type { WalletList } from '../core/issued-lists.ts'
import type { Network } from './chain/network.ts'
import { scriptOfAddress } from './chain/script.ts'
import { tellStory, type Story } from './story.ts'
import { createWallet, type Wallet } from './wallet.ts'

// A wallet lives as long as the process, because its addresses do not show which account they belong to.
const walletsMax = 5_000

export type BitcoinAccount = Account<Story, Story>

export interface Wallets {
  /** The first call builds the wallet's history. Brings the chain up to the clock. */
  open(account: BitcoinAccount): Wallet
  /** Finds the wallet whose address or transaction a path names. */
  findAccount(path: string): BitcoinAccount | undefined
}

export function createWallets(
  { seed, nowMs, wallets: list }: { seed: string; nowMs: () => number; wallets: WalletList },
  accounts: Accounts<Story, Story>,
  network: Network,
): Wallets {
  const opened = new Map<string, Wallet>()
  const ownerOf = new Map<string, string>()
  let earlier: readonly string[] | undefined

  /** The account that a wallet is built for, and that its calls are counted for. */
  function ownerAccountOf(account: BitcoinAccount): BitcoinAccount {
    const { sharedKeys } = account.world()
    return (sharedKeys === undefined ? undefined : accounts.mint(account.scenario.name, sharedKeys)) ?? account
  }

  function open(asked: BitcoinAccount): Wallet {
    network.chain.advance(nowMs())
    const account = ownerAccountOf(asked)
    const known = opened.get(account.id)
    if (known !== undefined) return known
    if (opened.size >= walletsMax) throw new RangeError(`${walletsMax} wallets are open already`)
    const story = account.world()
    const keys = story.sharedKeys ?? seed
    const wallet = createWallet(keys, account.id, story, ({ script }) => ownerOf.set(script, account.id))
    tellStory(network, wallet, story, nowMs())
    opened.set(account.id, wallet)
    list.add(account.id)
    return wallet
  }

  function findOwner(path: string): string | undefined {
    const [, collection, subject = ''] = path.split('/')
    if (collection === 'tx') return network.find(subject)?.accountId
    const script = collection === 'address' ? findScript(subject) : undefined
    return script === undefined ? undefined : ownerOf.get(script)
  }

  return {
    open,
    findAccount(path) {
      if (!/^\/(address|tx)\/./.test(path)) return undefined
      // A path that no open wallet owns may belong to a wallet that an earlier process opened.
      earlier ??= list.list()
      let owner = findOwner(path)
      while (owner === undefined && earlier.length > 0) {
        const [next = '', ...rest] = earlier
        earlier = rest
        const account = accounts.findById(next)
        if (account !== undefined) open(account)
        owner = findOwner(path)
      }
      return owner === undefined ? undefined : accounts.findById(owner)
    },
  }
}

function findScript(address: string): string | undefined {
  try {
    return scriptOfAddress(decodeURIComponent(address)).toString('hex')
  } catch {
    return undefined
  }
}
