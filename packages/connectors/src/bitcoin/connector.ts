/**
 * Bitcoin, read from an Esplora server. A connection is a wallet: one address, or all addresses of an extended public
 * key or descriptor, which are derived here (wallet.ts). The server learns addresses but never the key.
 *
 * The balance comes from the blocks (`chain_stats`), never from the sum of the transactions that were read.
 */
import type { Connector, ConnectorState, Credentials, Io, AccountReader } from '../kit/connector.ts'
import { bitcoinDefinition } from './definition.ts'
import { createEsplora } from './esplora.ts'
import { fetchPage } from './pages.ts'
import { batchSize, pollBatch } from './poll.ts'
import { readState, toBalance } from './state.ts'
import { asset, toBitcoin, toTransactions } from './transactions.ts'
import { toWallet } from './wallet.ts'
import { zero } from '@assay/core'

export const connector: Connector = {
  providerId: bitcoinDefinition.metadata.provider_id,
  version: 1,
  budget: {
    buckets: [
      {
        name: 'calls',
        scope: 'address',
        keyless: true,
        // The highest tier is Esplora's own nginx configuration (50 a second, 100 at once), for an operator's own
        // server. Public servers accept one call every 250 ms for a while, and blockstream.info 700 an hour.
        tiers: [
          { capacity: 100, refillPerSecond: 50 },
          { capacity: 60, refillPerSecond: 4 },
          { capacity: 40, refillPerSecond: 700 / 3_600 },
        ],
      },
    ],
    verify: { calls: 1 },
    balances: { calls: batchSize },
    partitions: {},
  },
  open: openReader,
  // A record is a whole transaction, so nothing else belongs to it.
  linkKeys: ({ key }) => [key],
  ownAddresses: (state) => readState(state).addresses.map(({ address }) => address),
  toTransactions,
}

function openReader(credentials: Credentials, io: Io): AccountReader {
  if (credentials.type !== 'wallet') throw new TypeError('Bitcoin is connected with an address or a public key')
  const wallet = toWallet(credentials)
  const esplora = createEsplora(io)
  return {
    async verify() {
      // This shows whether the server answers and supports this kind of address.
      await esplora.verifyAddress(wallet.branches[0].addressAt(0))
      const { fingerprint } = wallet
      return { fingerprint, fingerprintOf: 'account', excess: [], missing: [], keyExpiresAtMs: null }
    },
    async fetchBalances(given: ConnectorState) {
      const state = readState(given)
      const hasEnded = await pollBatch(wallet, esplora, state, io.now())
      if (!hasEnded) return { balances: [], isPartial: true, state }
      const { assetId, symbol, name } = asset
      const liquid = toBitcoin(toBalance(state))
      return { balances: [{ assetId, symbol, name, liquid, staked: zero }], state }
    },
    fetchPage: (request) => fetchPage(wallet, esplora, request, io.now()),
  }
}
