/** A client that follows `next` to the end over one connection, parses every page and keeps a copy by id. */
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { listTransactionChanges, listTransactions } from '@assay/contract'

export interface Reader {
  /** Transactions by id, as JSON. */
  copy: Map<string, string>
  /** Reads the list from its beginning into the copy. */
  walkList(): Promise<void>
  /** Reads the feed into the copy, from where the last call ended. Returns the number of pages. */
  follow(): Promise<number>
  stop(): void
}

interface Item {
  id: string
}

interface ListPage {
  page: { next: string }
  data: Item[]
}

interface ChangesPage {
  page: { next: string }
  cursor: string
  data: ({ op: 'upsert'; transaction: Item } | { op: 'remove'; id: string })[]
}

/** The largest page of both lists. */
const limit = 100

export function startReader(url: string, token: string): Reader {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const copy = new Map<string, string>()
  let cursor: string | undefined

  async function fetchPage<Page>(target: string): Promise<Page> {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      http.get(`${url}${target}`, { agent, headers }, resolve).once('error', reject)
    })
    const answer = await text(response)
    if (response.statusCode !== 200) throw new Error(`${target}: ${response.statusCode} ${answer}`)
    return JSON.parse(answer) as Page
  }
  const keep = (item: Item): unknown => copy.set(item.id, JSON.stringify(item))

  return {
    copy,
    async walkList() {
      for (let next = `${listTransactions.path}?limit=${limit}`; next !== '';) {
        const page = await fetchPage<ListPage>(next)
        page.data.forEach(keep)
        next = page.page.next
      }
    },
    async follow() {
      let pages = 0
      const place = cursor === undefined ? '' : `&cursor=${cursor}`
      for (let next = `${listTransactionChanges.path}?limit=${limit}${place}`; next !== ''; pages += 1) {
        const page = await fetchPage<ChangesPage>(next)
        for (const change of page.data) {
          if (change.op === 'remove') copy.delete(change.id)
          else keep(change.transaction)
        }
        cursor = page.cursor
        next = page.page.next
      }
      return pages
    },
    stop: () => agent.destroy(),
  }
}

export function checkSameCopy(feed: ReadonlyMap<string, string>, list: ReadonlyMap<string, string>): void {
  const differing = [...list].filter(([id, item]) => feed.get(id) !== item)
  if (differing.length === 0 && feed.size === list.size) return
  throw new Error(
    `the copy has ${feed.size} transactions and the list ${list.size}; ${differing.length} of the list are missing or differ`,
  )
}
