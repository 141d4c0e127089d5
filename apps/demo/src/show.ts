/** Northwind's pages: what they need from the service, asked for together. */
import type { AssetPosition, Client, ConnectedProvider, TransactionType } from '@assay/sdk'
import { eventsPage } from './pages/events.ts'
import { coveragePage } from './pages/coverage.ts'
import { portfolioPage } from './pages/portfolio.ts'
import { olderPage } from './pages/transactions.ts'
import { toView } from './view.ts'
import { welcomePage } from './pages/welcome.ts'
import { goTo, page, type Answer, type DemoDeps, type Visit } from './visit.ts'

/** By the name in the address, which anybody may write. */
export const notices: ReadonlyMap<string, string> = new Map([
  ['declined', 'Nothing was shared. You can connect whenever you like.'],
  ['ended', 'Northwind may no longer read your accounts. Connect again to go on.'],
  ['failed', 'Your accounts cannot be read at the moment. Try again in a minute.'],
  ['unexpected', 'That answer did not belong to this browser. Start again from here.'],
])

const dayMs = 86_400_000
/** More than a page can show anyhow. */
const positionsMax = 1_000
const connectionsMax = 100

export async function showPortfolio(_: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const notice = notices.get(url.searchParams.get('notice') ?? '')
  const client = session?.client
  if (client === undefined) return page(welcomePage(notice))
  const view = toView(url.searchParams)
  const [connections, assets, values, transactions] = await Promise.all([
    listConnections(client),
    listAssets(client),
    client.assetHistory({ start_time: new Date(Date.now() - (view.days - 1) * dayMs) }),
    listTransactions(client, view.types, undefined),
  ])
  return page(portfolioPage({ view, connections, assets, values, transactions, notice }))
}

/** The rows after those on the page; the script takes them from here into the page that was scrolled to its end. */
export async function showMore(_: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const cursor = url.searchParams.get('cursor')
  if (session?.client === undefined || cursor === null) return goTo('/')
  const [connections, transactions] = await Promise.all([
    listConnections(session.client),
    listTransactions(session.client, toView(url.searchParams).types, cursor),
  ])
  return page(olderPage(transactions, connections))
}

export async function showCoverage(_: DemoDeps, { session }: Visit): Promise<Answer> {
  const client = session?.client
  if (client === undefined) return goTo('/')
  const connections = await listConnections(client)
  const streams = await Promise.all(connections.map(({ connection_id }) => client.providers.coverage(connection_id)))
  return page(coveragePage(connections.map((connection, index) => ({ connection, streams: streams[index] ?? [] }))))
}

export function showEvents({ webhooks }: DemoDeps): Answer {
  return page(eventsPage(webhooks.list()))
}

function listTransactions(client: Client, types: readonly TransactionType[] | undefined, cursor: string | undefined) {
  return client.transactionsPage({
    ...(types === undefined ? {} : { types }),
    ...(cursor === undefined ? {} : { cursor }),
  })
}

const listConnections = (client: Client): Promise<ConnectedProvider[]> => take(client.providers.list(), connectionsMax)
const listAssets = (client: Client): Promise<AssetPosition[]> => take(client.assets(), positionsMax)

async function take<Item>(items: AsyncIterable<Item>, max: number): Promise<Item[]> {
  const taken: Item[] = []
  for await (const item of items) {
    taken.push(item)
    if (taken.length === max) break
  }
  return taken
}
