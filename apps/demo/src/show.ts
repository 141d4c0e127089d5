/** Northwind's pages: their data from the service, fetched together. */
import type { AssetPosition, AssetProof, Client, ConnectedProvider, TransactionType } from '@assay/sdk'
import { createIcons } from './icons.ts'
import { coveragePage } from './pages/coverage.ts'
import { portfolioPage } from './pages/portfolio.ts'
import { olderPage } from './pages/transactions.ts'
import { dayMs, toView } from './view.ts'
import { welcomePage } from './pages/welcome.ts'
import { goTo, page, type Answer, type DemoDeps, type Visit } from './visit.ts'
import { html } from './html.ts'
import type { ReceivedEvent } from './webhooks.ts'
import { layout } from './pages/layout.ts'

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

export async function showPortfolio(deps: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const { baseUrl, widgetUrl, clientId, sampleUser } = deps
  const notice = notices.get(url.searchParams.get('notice') ?? '')
  const client = session?.client
  if (client === undefined) return page(welcomePage({ notice, hasSample: sampleUser !== undefined }))
  const view = toView(url.searchParams)
  const connections = await listConnections(client)
  const [assets, values, transactions] = await Promise.all([
    listAssets(client),
    client.assetHistory(toTimes(connections, view.days)),
    listTransactions(client, view.types, undefined),
  ])
  const differences = await findDifferences(client, connections)
  const icons = createIcons(baseUrl)
  const manageUrl = `${widgetUrl}/manage?client_id=${encodeURIComponent(clientId)}`
  return page(portfolioPage({ view, connections, assets, values, transactions, differences, icons, manageUrl, notice }))
}

/**
 * The service's day may be ahead of ours: at midnight, and always once the sandbox's clock was moved. So the end is
 * named, which keeps the range within what the service allows, and is no earlier than the last reading of an account.
 */
function toTimes(connections: readonly ConnectedProvider[], days: number): { start_time: Date; end_time: Date } {
  const readAtMs = connections.map(({ last_synced_at: readAt }) => (readAt === null ? 0 : Date.parse(readAt)))
  const endMs = Math.max(Date.now(), ...readAtMs)
  return { start_time: new Date(endMs - (days - 1) * dayMs), end_time: new Date(endMs) }
}

/** The rows after those on the page. When the page is scrolled to its end, its script fetches and adds them. */
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

export function showEvents({ webhooks, sampleUser }: DemoDeps, { session }: Visit): Answer {
  // Without a sample user the accounts are real, and other users of this machine reach this address too.
  if (sampleUser === undefined && session?.client === undefined) return goTo('/')
  return page(eventsPage(webhooks.list()))
}

/** For each connection that does not simply add up: the first asset by symbol with the same grade and a cause. */
async function findDifferences(client: Client, connections: readonly ConnectedProvider[]) {
  const graded = connections.filter(({ proof }) => proof?.grade === 'open' || proof?.grade === 'explained')
  const found = await Promise.all(
    graded.map(async ({ connection_id: id, proof }): Promise<[string, AssetProof][]> => {
      const rows = await take(client.providers.proof(id), positionsMax)
      const first = rows.find(({ grade, causes }) => grade === proof?.grade && causes.length > 0)
      return first === undefined ? [] : [[id, first]]
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

/** What the webhook receiver got, newest first. */
function eventsPage(events: readonly ReceivedEvent[]): string {
  return layout({
    title: 'Events · Northwind',
    body: html`<section class="panel events">
      <h1>Events</h1>
      <p class="quiet">
        What was posted to <code>/webhooks</code> with a signature that holds, newest first. Anything else is refused.
      </p>
      ${events.length === 0 && html`<p class="empty">Nothing has arrived yet.</p>`}
      ${events.map(
        ({ receivedAt, type, body }) =>
          html`<details>
            <summary>
              <span>${type}${toChange(body)}</span>
              <time class="quiet" datetime="${receivedAt}">${toMoment(receivedAt)}</time>
            </summary>
            <pre tabindex="0">${body}</pre>
          </details>`,
      )}
    </section>`,
  })
}

/** What changed, where the message says it in a word. The body was verified before it was kept. */
function toChange(body: string): string {
  const { data } = JSON.parse(body) as { data?: { change?: unknown } }
  return typeof data?.change === 'string' ? `: ${data.change}` : ''
}

function toMoment(time: string): string {
  const format = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })
  return `${format.format(new Date(time))} UTC`
}
