/**
 * Kraken (spot). The ledger is the complete source: TradesHistory lacks purchases made in the app, and its fees are
 * estimates. Deposits and withdrawals are also read, for hashes, addresses and networks.
 *
 * Kraken Futures is a separate product with its own keys and is not read.
 */
import type { ApiKeyCredentials, Connector, Io, Session } from '../kit/connector.ts'
import { toAccount } from './account.ts'
import { toBalances } from './balances.ts'
import { createClient } from './client.ts'
import { krakenDefinition } from './definition.ts'
import { fetchPage } from './pages.ts'
import { linkKeys } from './deriving/families.ts'
import { runningBalance } from './records.ts'
import { toTransactions } from './deriving/transactions.ts'

export const connector: Connector = {
  providerId: krakenDefinition.metadata.provider_id,
  version: 2,
  budget: {
    buckets: [
      {
        name: 'counter',
        scope: 'key',
        // Pro, Intermediate, Starter: docs.kraken.com, "Spot REST rate limits". No call returns an account's tier.
        tiers: [
          { capacity: 20, refillPerSecond: 1 },
          { capacity: 20, refillPerSecond: 1 / 2 },
          { capacity: 15, refillPerSecond: 1 / 3 },
        ],
      },
    ],
    verify: { counter: 1 },
    balances: { counter: 1 },
    partitions: {},
  },
  open(credentials, io) {
    if (credentials.type !== 'api_key') throw new TypeError('Kraken uses API keys')
    return openSession(credentials, io)
  },
  linkKeys,
  toTransactions,
  runningBalance,
}

function openSession(credentials: ApiKeyCredentials, io: Io): Session {
  const call = createClient(credentials, io)
  return {
    verify: async () => toAccount(credentials.apiKey, await call('GetApiKeyInfo')),
    fetchBalances: async () => ({ balances: toBalances(await call('BalanceEx')) }),
    fetchPage: async ({ stream: name, window, position }) => {
      const stream = krakenDefinition.streams.find((candidate) => candidate.name === name)
      if (stream === undefined) throw new RangeError(`Kraken has no stream ${JSON.stringify(name)}`)
      return fetchPage(call, stream.name, window, position)
    },
  }
}
