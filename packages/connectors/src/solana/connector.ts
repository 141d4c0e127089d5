/**
 * Wallets on Solana, read from a node. A connection is one address. The history is that of the wallet's own account, of
 * each of its token accounts and of each of its stake accounts; the balances are what the chain itself says.
 */
import type { Connector, Io, AccountReader, WalletCredentials } from '../kit/connector.ts'
import { fetchAccount, fetchHoldings, readAddress } from './accounts.ts'
import { solanaDefinition } from './definition.ts'
import { createNames } from './names.ts'
import { fetchTransactions } from './pages.ts'
import { fetchRewards } from './rewards.ts'
import { createRpc } from './rpc.ts'
import { listOwnStakes, readState, withAccounts } from './state.ts'
import { linkKeys, toTransactions } from './deriving/transactions.ts'

export const connector: Connector = {
  providerId: solanaDefinition.metadata.provider_id,
  version: 1,
  budget: {
    buckets: [
      {
        name: 'rpc',
        scope: 'address',
        keyless: true,
        // The widest tier is for an operator's own node. The public node allows 40 calls of one method in 10 seconds,
        // and 100 of all of them (solana.com/docs/references/clusters).
        tiers: [
          { capacity: 100, refillPerSecond: 25 },
          { capacity: 60, refillPerSecond: 4 },
          { capacity: 30, refillPerSecond: 2 },
        ],
      },
    ],
    verify: { rpc: 1 },
    balances: { rpc: 5 },
    partitions: {},
  },
  open(credentials, io) {
    if (credentials.type !== 'wallet') throw new TypeError('Solana wallets are connected by their address')
    return openReader(credentials, io)
  },
  linkKeys,
  ownAddresses(state) {
    const known = readState(state)
    return [known.address, ...known.tokens, ...listOwnStakes(known)]
  },
  toTransactions,
}

function openReader(credentials: WalletCredentials, io: Io): AccountReader {
  const rpc = createRpc(io)
  const fetchNames = createNames(rpc)
  const seen = new Map<string, string>()
  return {
    verify: async () => fetchAccount(rpc, readAddress(credentials)),
    async fetchBalances(given) {
      const state = { ...readState(given), address: readAddress(credentials) }
      const { balances, ...accounts } = await fetchHoldings(rpc, fetchNames, state)
      const learned = withAccounts(state, accounts)
      return { balances, ...(learned === undefined ? {} : { state: learned }) }
    },
    async listPartitions(state) {
      const known = readState(state)
      const { address, tokens, stakes } = known
      if (address === '') return []
      return [
        ...[address, ...tokens, ...stakes].map((partition) => ({ stream: 'transactions', partition })),
        ...listOwnStakes(known).map((partition) => ({ stream: 'rewards', partition })),
      ]
    },
    async fetchPage(request) {
      if (request.stream === 'rewards') return fetchRewards(rpc, request)
      if (request.stream !== 'transactions') {
        throw new RangeError(`Solana wallets have no stream ${JSON.stringify(request.stream)}`)
      }
      return fetchTransactions({ rpc, fetchNames, address: readAddress(credentials), seen, nowMs: io.now() }, request)
    },
  }
}
