/** Northwind's pages: their data from the service, fetched together. */
import type { AssetPosition, AssetProof, Client, ConnectedProvider, TransactionType } from '@assay/sdk'
import { createIcons } from './icons.ts'
import { eventsPage } from './pages/events.ts'
import { coveragePage } from './pages/coverage.ts'
import { portfolioPage } from './pages/portfolio.ts'
import { olderPage } from './pages/transactions.ts'
import { dayMs, toView } from './view.ts'
import { welcomePage } from './pages/welcome.ts'
import { goTo, page, type Answer, type DemoDeps, type Visit } from './visit.ts'

/** Found by the name in the address, which any visitor can edit. */
const notices: ReadonlyMap<string, string> = new Map([
  ['declined', 'Nothing was shared. You can connect whenever you like.'],
  ['ended', 'Northwind may no longer read your accounts. Connect again to continue.'],
  ['failed', 'Your accounts were not connected. Try again in a minute.'],
  ['unexpected', 'This answer does not belong to your session. Please start again.'],
])

/** More than a page can show. */
const positionsMax = 1_000
const connectionsMax = 100

export async function showPortfolio({ baseUrl, sampleUser }: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const notice = notices.get(url.searchParams.get('notice') ?? '')
  const client = session?.client
  if (client === undefined) return page(welcomePage({ notice, hasSample: sampleUser !== undefined }))
  const view = toView(url.searchParams)
  const [connections, assets, values, transactions] = await Promise.all([
    listConnections(client),
    listAssets(client),
    client.assetHistory({ start_time: new Date(Date.now() - (view.days - 1) * dayMs) }),
    listTransactions(client, view.types, undefined),
  ])
  const differences = await findDifferences(client, connections)
  const icons = createIcons(baseUrl)
  return page(portfolioPage({ view, connections, assets, values, transactions, differences, icons, notice }))
}

/** The rows after those on the page; the script takes them from here into the page that was scrolled to its end. */
export async function showMore({ baseUrl }: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const cursor = url.searchParams.get('cursor')
  if (session?.client === undefined || cursor === null) return goTo('/')
  const [connections, transactions] = await Promise.all([
    listConnections(session.client),
    listTransactions(session.client, toView(url.searchParams).types, cursor),
  ])
  return page(olderPage({ page: transactions, connections, icons: createIcons(baseUrl) }))
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

/** The worst difference of each connection that does not simply add up. */
async function findDifferences(client: Client, connections: readonly ConnectedProvider[]) {
  const graded = connections.filter(({ proof }) => proof?.grade === 'open' || proof?.grade === 'explained')
  const found = await Promise.all(
    graded.map(async ({ connection_id: id, proof }): Promise<[string, AssetProof][]> => {
      const rows = await take(client.providers.proof(id), positionsMax)
      const worst = rows.find(({ grade, causes }) => grade === proof?.grade && causes.length > 0)
      return worst === undefined ? [] : [[id, worst]]
    }),
  )
  return new Map(found.flat())
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
