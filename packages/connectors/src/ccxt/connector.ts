/**
 * Every exchange that ccxt reads, by one implementation: nothing here or beside it is code for one exchange. What differs
 * between them is data: exchanges.ts (found out from ccxt, generated) and about.ts (from the exchanges' documents).
 *
 * Trades, deposits and withdrawals are the source of truth, and the ledger adds only what those three cannot tell: interest,
 * rewards, rebates, airdrops. The opposite choice, the ledger first, was ruled out because ccxt does not unify ledgers:
 * several cover one wallet of many, some write a trade's fee into its amount and some beside it, references join the legs of
 * a trade at some exchanges and nothing at others, and half of the exchanges have none. So an entry that speaks of
 * something that another list of this exchange has is stored and counts nothing, and no movement is counted twice
 * (transactions.ts).
 */
import type { Connector, Credentials, Io, Session } from '../kit/connector.ts'
import { fetchAccount } from './account.ts'
import { fetchBalances } from './balances.ts'
import { createCcxtClient, type CcxtKeys } from './client.ts'
import { getFacts, toBudget } from './catalogue/definitions.ts'
import type { ExchangeFacts } from './catalogue/facts.ts'
import { listReadLists } from './catalogue/lists.ts'
import { fetchPage } from './pages.ts'
import { listPartitions, withAssets, withConnectedAt } from './state.ts'
import { linkKeys, toTransactions } from './transactions.ts'

export function createCcxtConnector(providerId: string): Connector {
  const facts = getFacts(providerId)
  return {
    providerId,
    version: 1,
    budget: toBudget(facts),
    open: (credentials, io) => openSession(facts, toKeys(facts, credentials), io),
    linkKeys,
    toTransactions: (records) => toTransactions(providerId, records),
  }
}

/** The third field of a connection by API key is whatever the exchange asks for beside key and secret. */
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

function openSession(facts: ExchangeFacts, keys: CcxtKeys, io: Io): Session {
  const client = createCcxtClient(facts, keys, io)
  const lists = listReadLists(facts)
  const identity = keys.apiKey ?? keys.uid ?? keys.walletAddress ?? ''
  return {
    verify: () => fetchAccount(client, facts.id, identity),
    async fetchBalances(state) {
      const { balances, codes } = await fetchBalances(client, facts.id)
      const dated = withConnectedAt(state, io.now())
      const learned = withAssets(dated, codes) ?? dated
      return { balances, ...(learned === state ? {} : { state: learned }) }
    },
    async listPartitions(state) {
      if (lists.every(({ by }) => by === null)) return []
      return listPartitions(lists, await client.listMarkets(), state, io.now())
    },
    async fetchPage(request) {
      const list = lists.find(({ stream }) => stream === request.stream)
      // An exchange whose history cannot be read has one list that is always empty (definitions.ts).
      if (list === undefined) return { records: [], next: null }
      return fetchPage(client, list, request)
    },
  }
}
