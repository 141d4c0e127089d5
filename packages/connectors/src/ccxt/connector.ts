/**
 * One connector for every exchange that ccxt reads. No code in this room is specific to one exchange; the differences
 * are data: catalogue/exchanges.ts (generated from ccxt) and catalogue/abouts.ts (from the exchanges' documents).
 *
 * Trades, deposits and withdrawals are the source of truth. The ledger adds only what those lists lack: interest,
 * rewards, rebates and airdrops. We decided against starting from the ledger, because ccxt does not unify ledgers:
 * several cover only one of many wallets, some include a trade's fee in its amount and some list it separately,
 * references connect the legs of a trade at some exchanges only, and half of the exchanges have no ledger. So a ledger
 * entry that another list also covers is stored but not counted, and no movement counts twice (transactions.ts).
 */
import type { AccountReader, Connector, Credentials, Io, Page, PageRequest } from '../kit/connector.ts'
import { fetchAccount } from './account.ts'
import { fetchBalances } from './balances.ts'
import { createCcxtClient, type CcxtClient, type CcxtKeys } from './client.ts'
import { getFacts, toBudget } from './catalogue/definitions.ts'
import type { ExchangeFacts } from './catalogue/facts.ts'
import { findReadList, listReadLists, type ReadList } from './catalogue/lists.ts'
import { listKnownMarkets, withMarkets } from './known-markets.ts'
import { fetchPage } from './pages.ts'
import { parseTrade } from './records.ts'
import { listPartitions, withAssets, withConnectedAt } from './state.ts'
import { linkKeys, toTransactions } from './transactions.ts'

export function createCcxtConnector(providerId: string): Connector {
  const facts = getFacts(providerId)
  return {
    providerId,
    version: 2,
    budget: toBudget(facts),
    open: (credentials, io) => openReader(facts, toKeys(facts, credentials), io),
    linkKeys,
    toTransactions: (records) => toTransactions(providerId, records),
  }
}

/** The third field of an API key connection holds what the exchange asks for in addition to key and secret. */
function toKeys({ id, credentials: asked }: ExchangeFacts, given: Credentials): CcxtKeys {
  if (given.type === 'wallet' && asked.includes('walletAddress') && given.address !== undefined) {
    return { walletAddress: given.address }
  }
  if (given.type !== 'api_key' || asked.includes('walletAddress'))
    throw new TypeError(`${id} is not connected in this way`)
  const { apiKey, secretKey: secret, passphrase } = given
  if (!asked.includes('apiKey')) return { uid: apiKey, secret }
  if (asked.includes('privateKey')) return { apiKey, privateKey: secret }
  const third = asked.find((name) => name === 'password' || name === 'uid' || name === 'accountId')
  return { apiKey, secret, ...(third === undefined || passphrase === undefined ? {} : { [third]: passphrase }) }
}

function openReader(facts: ExchangeFacts, keys: CcxtKeys, io: Io): AccountReader {
  const client = createCcxtClient(facts, keys, io)
  const lists = listReadLists(facts)
  const identity = keys.apiKey ?? keys.uid ?? keys.walletAddress ?? ''
  return {
    verify: () => fetchAccount(client, facts.id, identity),
    async fetchBalances(state) {
      const { codes, ...fetched } = await fetchBalances(client, facts.id)
      const dated = withConnectedAt(state, io.now())
      const learned = withAssets(dated, codes) ?? dated
      return { ...fetched, ...(learned === state ? {} : { state: learned }) }
    },
    async listPartitions(state) {
      if (lists.every(({ by }) => by === null)) return []
      return listPartitions(lists, await client.listMarkets(), state, io.now())
    },
    async fetchPage(request) {
      const list = findReadList(lists, request)
      // An exchange without a readable history has one list that is always empty (catalogue/definitions.ts).
      if (list === undefined) return { records: [], next: null }
      const isOfAllPairs = list.stream === 'trades' && list.by === null
      return (isOfAllPairs ? fetchPageOfAllPairs : fetchPage)(client, list, request, io.now())
    },
  }
}

/** A page of trades of any pair, including pairs that the exchange no longer lists. */
async function fetchPageOfAllPairs(
  client: CcxtClient,
  list: ReadList,
  request: PageRequest,
  nowMs: number,
): Promise<Page> {
  await client.addMarkets(listKnownMarkets(request.state))
  const page = await fetchPage(client, list, request, nowMs)
  const readable = page.records.filter(({ unreadable }) => unreadable === undefined)
  const symbols = new Set(readable.map(({ body }) => parseTrade(body).symbol))
  const learned = withMarkets(page.state ?? request.state, await client.describeMarkets(symbols))
  return learned === undefined ? page : { ...page, state: learned }
}
