/**
 * Coinbase, the app including Advanced Trade. The v2 transactions of all wallets are the complete source. Advanced
 * Trade's list of fills lacks what was bought in the app, converted, received or earned.
 */
import type { Connector, Credentials, Io, AccountReader } from '../kit/connector.ts'
import { verifyKey, verifySignIn } from './account.ts'
import { createClient } from './client.ts'
import { coinbaseDefinition } from './definition.ts'
import { linkKeys } from './deriving/families.ts'
import { fetchPage } from './pages.ts'
import { findLearned, joinStates, readState } from './state.ts'
import { toTransactions } from './deriving/transactions.ts'
import { fetchWallets, toBalances } from './wallets.ts'

export const connector: Connector = {
  providerId: coinbaseDefinition.metadata.provider_id,
  version: 1,
  budget: {
    buckets: [
      {
        name: 'calls',
        scope: 'key',
        // Coinbase allows 10,000 calls an hour for each key or signed-in user (docs: rate-limiting): 1,000 at once, and
        // the rest spread over the hour. The lower tiers are for limits that Coinbase does not document.
        tiers: [
          { capacity: 1_000, refillPerSecond: 2.5 },
          { capacity: 30, refillPerSecond: 1 },
          { capacity: 5, refillPerSecond: 1 / 3 },
        ],
      },
    ],
    verify: { calls: 2 },
    balances: { calls: 1 },
    partitions: { calls: 1 },
  },
  // The nonce of a token has to be new and need not be larger than the last one. Coinbase counts calls by the hour
  // alone.
  atOnce: { callsMax: 4, joinStates },
  open: openReader,
  linkKeys,
  toTransactions,
}

function openReader(credentials: Credentials, io: Io): AccountReader {
  const call = createClient(credentials, io)
  return {
    verify: () => (credentials.type === 'api_key' ? verifyKey(call) : verifySignIn(call)),
    async fetchBalances(state) {
      const wallets = await fetchWallets(call)
      const learned = findLearned(state, { staked: wallets.filter(({ isStaked }) => isStaked).map(({ id }) => id) })
      const fetched = toBalances(wallets, readState(learned ?? state).staked)
      return { ...fetched, ...(learned === undefined ? {} : { state: learned }) }
    },
    async listPartitions(state) {
      const ids = new Set([...(await fetchWallets(call)).map(({ id }) => id), ...readState(state).discovered])
      return [...ids].map((partition) => ({ stream: 'transactions', partition }))
    },
    async fetchPage(request) {
      if (request.stream !== 'transactions') {
        throw new RangeError(`Coinbase has no stream ${JSON.stringify(request.stream)}`)
      }
      return fetchPage(call, request, io.now())
    },
  }
}
