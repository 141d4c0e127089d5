/**
 * What the control API can see and change of a simulated wallet.
 *
 *   entries    { type: "deposit" | "withdrawal", asset, amount, address? }: a transfer in or out, in the chain's next
 *              block. `asset` is ETH, USDC, GUSD, WETH, SPAM or FAKE on the Ethereum-shaped network; "USDC@8453" names
 *              the Base-shaped one, which has CBBTC instead of GUSD. `address` is the other side, the wallet's exchange
 *              unless told. The ids are transaction hashes. A chain books nothing in the past, so `time` is refused.
 *   withdrawn  { ids }: a reorganisation without these transactions. They must be all of the newest booked block.
 *   records    { id }: a reorganisation after which the transaction is in a later block. { id, withdrawn: true } drops
 *              it.
 */
import type { Controlled, NewEntry } from '../control.ts'
import { isAddress } from './chain/addresses.ts'
import type { Move } from './bookings.ts'
import type { ChainId, TokenCode } from './chain/networks.ts'
import { networks } from './chain/networks.ts'
import type { Evm } from './index.ts'
import type { EvmAccount } from './wallets.ts'
import type { World } from './world.ts'

export function controlEvm(evm: Evm, url: string): Controlled {
  const { accounts } = evm.wallets

  async function reorganise(account: EvmAccount, ids: readonly string[], how: 'drop' | 'move'): Promise<void> {
    await evm.withWorld([account], async ({ chains }) => {
      const chain = [...chains.values()].find(({ index }) => ids.every((id) => index.findTransaction(id) !== undefined))
      if (chain === undefined) throw new RangeError(`no chain has the transactions ${ids.join(', ')}`)
      await chain.reorganise(ids, how)
    })
  }

  return {
    providerId: 'evm',
    url,
    scenarios: accounts.scenarios,
    async mint(scenario, text) {
      const account = evm.wallets.mint(scenario, text)
      if (account === undefined) return undefined
      const address = await evm.withWorld([account], (world) =>
        Promise.resolve(world.toChecksum(evm.wallets.walletOf(account).address)),
      )
      return { account_id: account.id, credentials: { address } }
    },
    async state(id) {
      const account = accounts.findById(id)
      return account && evm.withWorld([account], (world) => stateOf(evm, world, account))
    },
    async addEntries(id, entries, nowMs, refid) {
      if (refid !== undefined) throw new RangeError('the transactions of a chain have no reference')
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      const moves = entries.map(toMove)
      const { bookMoves } = await import('./bookings.ts')
      return evm.withWorld([account], (world) => bookMoves(world, evm.wallets.walletOf(account).address, moves, nowMs))
    },
    async withdraw(id, ids) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      await reorganise(account, ids, 'drop')
      return { withdrawn: ids }
    },
    async changeRecord(id, { id: hash, withdrawn = false, ...change }) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      if (Object.keys(change).length > 0) throw new RangeError('a transaction cannot be corrected, only reorganised')
      await reorganise(account, [hash], withdrawn ? 'drop' : 'move')
      return { id: hash, withdrawn }
    },
    changeKey(id) {
      if (accounts.findById(id) === undefined) return undefined
      throw new RangeError('a wallet has no key: anyone can read its address')
    },
  }
}

async function stateOf(evm: Evm, world: World, account: EvmAccount): Promise<object> {
  const { address } = evm.wallets.walletOf(account)
  const { readNetworkState } = await import('./chain/account-state.ts')
  const states = []
  for (const chain of world.chains.values()) states.push(await readNetworkState(chain, address))
  return {
    account_id: account.id,
    provider_id: 'evm',
    scenario: account.scenario.name,
    public_account_id: world.toChecksum(address),
    networks: states,
  }
}

function toMove({ type, asset, amount, address, ...rest }: NewEntry): Move {
  const refused = Object.entries(rest).filter(([, value]) => value !== undefined)
  if (refused.length > 0)
    throw new RangeError(`a chain decides this itself: ${refused.map(([name]) => name).join(', ')}`)
  if (type !== 'deposit' && type !== 'withdrawal') {
    throw new RangeError(`${type} cannot be booked here; deposit and withdrawal can`)
  }
  if (address !== undefined && !isAddress(address)) throw new RangeError(`not an address: ${address}`)
  const [code = '', chain = '1'] = asset.split('@')
  const network = networks.find(({ chainId }) => String(chainId) === chain)
  const isKnown = code === 'ETH' || (network !== undefined && Object.hasOwn(network.tokens, code))
  if (network === undefined || !isKnown) throw new RangeError(`no asset ${asset}; write USDC, or USDC@8453`)
  return {
    chainId: network.chainId satisfies ChainId,
    asset: code as 'ETH' | TokenCode,
    amount: amount.replace(/^-/, ''),
    direction: type === 'deposit' ? 'in' : 'out',
    ...(address !== undefined && { other: address.toLowerCase() as `0x${string}` }),
  }
}
