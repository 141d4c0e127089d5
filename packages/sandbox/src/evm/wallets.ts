/** The accounts of the simulated chains: which wallet a text gets, and which wallets a call is about. */
import { createAccounts, type Account, type Accounts } from '../core/accounts.ts'
import { accountNumberOf, scenarioTagOf } from '../core/keys.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import type { Scenario } from '../core/scenario.ts'
import type { Address, AddressBook } from './chain/addresses.ts'
import type { Story } from './story.ts'

export type EvmAccount = Account<Story, Story>

export interface Wallet {
  address: Address
  story: Story
}

export interface Wallets {
  accounts: Accounts<Story, Story>
  /** The same scenario and text give the same wallet, for as long as this process lives. */
  mint(scenario: string, text: string): EvmAccount | undefined
  walletOf(account: EvmAccount): Wallet
  /** The wallets that a call names: as a parameter, or as a word of 32 bytes in what it asks a contract. */
  findIn(request: WireRequest): EvmAccount[]
  /** The wallets that the chains have from their beginning. */
  listPrepared(): EvmAccount[]
}

/**
 * How much a caller without a key may ask an explorer of Blockscout, which has one for each chain and counts by IP
 * address: 300 calls in a minute, or 5 a second. https://docs.blockscout.com/devs/apis/requests-and-limits
 */
export const documentedLimit = { max: 300, decayPerSecond: 5 }

export function createWallets(
  book: AddressBook,
  options: { seed: string; pace: Pace; scenarios: readonly Scenario<Story>[] },
): Wallets {
  const { scenarios } = options
  const build = (story: Story): Story => story
  const accounts = createAccounts<Story, Story>({ ...options, provider: 'evm', documentedLimit, build })
  /** The text that a prepared wallet was assigned to, by account id. */
  const given = new Map<string, string>()

  function findByAddress(address: string): EvmAccount | undefined {
    const read = book.read(address)
    const scenario = read && scenarios.find(({ name }) => scenarioTagOf(name) === read.scenarioTag)
    return scenario && accounts.findById(`evm.${scenario.name}.${read.accountNumber}`)
  }

  return {
    accounts,
    // Prepared wallets are assigned first. When all are taken, a text gets a new wallet.
    mint(name, text) {
      const own = accounts.mint(name, text)
      if (own === undefined) return undefined
      const { prepared } = own.world()
      for (let tried = 0; tried < prepared; tried += 1) {
        const slot = (parseInt(accountNumberOf(text).slice(0, 8), 16) + tried) % prepared
        const id = preparedId(name, slot)
        if ((given.get(id) ?? text) !== text) continue
        given.set(id, text)
        return accounts.findById(id)
      }
      return own
    },
    walletOf: (account) => ({
      address: book.addressOf(account.scenario.name, account.number),
      story: account.world(),
    }),
    findIn(request) {
      const text = request.method === 'GET' ? request.rawQuery : request.body
      const named = text.matchAll(/(?:0x|0{24})([0-9a-f]{40})/gi)
      const addresses = new Set([...named].map(([, digits = '']) => `0x${digits.toLowerCase()}`))
      return [...addresses].map(findByAddress).filter((account) => account !== undefined)
    },
    listPrepared() {
      const ids = scenarios.flatMap(({ name, story }) =>
        Array.from({ length: story().prepared }, (_, slot) => preparedId(name, slot)),
      )
      return ids.map((id) => accounts.findById(id)).filter((account) => account !== undefined)
    },
  }
}

function preparedId(scenario: string, slot: number): string {
  return `evm.${scenario}.${slot.toString(16).padStart(24, '0')}`
}
