/**
 * Binance (spot wallet and Simple Earn). Binance has no ledger: the history is assembled from twelve kinds of lists,
 * one of them for each pair that was traded. Moves between the spot wallet and Simple Earn change no balance and are
 * not read.
 */
import type { ApiKeyCredentials, Budget, Connector, Io, AccountReader } from '../kit/connector.ts'
import { fetchAccount } from './account.ts'
import { baseAssetCodeOf } from './assets.ts'
import { fetchBalances } from './balances.ts'
import { createClient } from './client.ts'
import { binanceDefinition } from './definition.ts'
import { costOf, endpoints } from './endpoints.ts'
import { fetchPage, listGonePairs } from './pages.ts'
import { joinStates, listPartitions, readState, toPairs, withAssets, type Pair } from './pairs.ts'
import { linkKeys, toTransactions } from './transactions.ts'

const perMinute = (weight: number) => [{ capacity: weight, refillPerSecond: weight / 60 }] as const

const budget: Budget = {
  buckets: [
    { name: 'weight', scope: 'address', tiers: perMinute(6_000) },
    { name: 'sapi', scope: 'address', tiers: perMinute(12_000) },
    { name: 'earn_flexible', scope: 'address', tiers: perMinute(12_000) },
    { name: 'earn_locked', scope: 'address', tiers: perMinute(12_000) },
    { name: 'withdrawals', scope: 'key', tiers: [{ capacity: 180_000, refillPerSecond: 180_000 }] },
    { name: 'convert', scope: 'key', tiers: perMinute(180_000) },
    { name: 'fiat_orders', scope: 'key', tiers: perMinute(180_000) },
  ],
  verify: costOf(endpoints.apiRestrictions, endpoints.account),
  balances: costOf(endpoints.account, endpoints.flexiblePositions, endpoints.lockedPositions),
  partitions: costOf(endpoints.exchangeInfo),
}

export const connector: Connector = {
  providerId: binanceDefinition.metadata.provider_id,
  version: 2,
  budget,
  // Requests are signed with a time, not with a nonce, and Binance counts their weight alone ("Limits").
  atOnce: { callsMax: 8, joinStates },
  open(credentials, io) {
    if (credentials.type !== 'api_key') throw new TypeError('Binance uses API keys')
    return openReader(credentials, io)
  },
  linkKeys,
  toTransactions,
}

function openReader(credentials: ApiKeyCredentials, io: Io): AccountReader {
  const call = createClient(credentials, io)
  // The list of pairs is long and seldom changes: a reader asks for it once.
  let pairs: Pair[] | undefined
  return {
    verify: () => fetchAccount(credentials.apiKey, call),
    async fetchBalances(state) {
      const { codes, ...fetched } = await fetchBalances(call)
      const { connectedAtMs = Math.round(io.now()) } = readState(state)
      const dated = { ...state, connectedAtMs }
      const learned = withAssets(dated, codes.map(baseAssetCodeOf))
      const isFirst = state['connectedAtMs'] === undefined
      return { ...fetched, ...(learned !== undefined || isFirst ? { state: learned ?? dated } : {}) }
    },
    async listPartitions(state, known = []) {
      if (readState(state).assets.length === 0) return []
      pairs ??= toPairs((await call(endpoints.exchangeInfo, { showPermissionSets: 'false' })).text)
      return listPartitions(pairs, listGonePairs(pairs, known), state, io.now())
    },
    async fetchPage(request) {
      const stream = binanceDefinition.streams.find(({ name }) => name === request.stream)
      if (stream === undefined) throw new RangeError(`Binance has no stream ${JSON.stringify(request.stream)}`)
      return fetchPage(call, stream.name, request, Math.round(io.now()))
    },
  }
}
