/**
 * The part `nodes` of the campaign `cluster`: users connect, are read and remove accounts, while one node of the
 * cluster after the other is killed (kill -9 of its postmaster) and started again, the coordinator among them.
 *
 * - While a worker is away its users are answered 503 with Retry-After, and the users of other workers 200, for pages
 *   and for the refresh of a token. Without the coordinator everybody is answered 503.
 * - Nothing is restarted but the node; everybody is served again afterwards.
 * - What is served in the end equals what one PostgreSQL server serves.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { isDatabaseAway } from '../../../apps/server/src/db/index.ts'
import { authorize, connect, demo, redeem, walk } from '../../application.ts'
import type { Citus, CitusNode } from '../../cluster/citus.ts'
import { startTestPostgres } from '../../postgres.ts'
import type { TestService } from '../../service.ts'
import { until } from '../../until.ts'
import { onCluster, withService } from './cluster-service.ts'
import { startReader } from '../onlookers.ts'
import { createRandom, shuffle } from '../random.ts'

export interface NodesOptions {
  kills: number
  seed: number
  say(text: string): void
}

interface Trial extends NodesOptions {
  citus: Citus
  service: TestService
  onlookers: readonly Onlooker[]
  random(): number
  failures: string[]
}

/** How long everything works between two kills, and how long a node stays away once every user has been queried. */
const [upMaxMs, downMaxMs] = [5_000, 2_000]
const usersMin = 3
const pollMs = 100

export async function killNodes(citus: Citus, options: NodesOptions): Promise<string[]> {
  const { say, kills, seed } = options
  say(`  ${kills} kills, seed ${seed} (--seed ${seed} repeats its choices)`)
  let served = new Map<string, Served>()
  const failures = await onCluster(citus, async (service, failures) => {
    const onlookers = await findOnlookers(service, citus)
    const trial = { ...options, citus, service, onlookers, random: createRandom(seed), failures }
    served = await gather(service, await playUnderKills(trial))
  })
  const expected = await serveFromOneServer(served.size)
  say(`  ${JSON.stringify([...served]).length} bytes served to ${served.size} users`)
  const differing = [...expected].flatMap(([user, rows]) => {
    const found = served.get(user) ?? []
    return isDeepStrictEqual(found, rows) ? [] : [describeDifference(user, found, rows)]
  })
  return [...failures, ...differing]
}

/** How many users there were. */
async function playUnderKills(trial: Trial): Promise<number> {
  const over = new AbortController()
  // Both must end: a killed node has to be started again even when a user has failed.
  const [users, end] = await Promise.allSettled([
    play(trial.service, (count) => count < usersMin || !over.signal.aborted).catch((error: unknown) => {
      over.abort()
      throw error
    }),
    keepKilling(trial, over.signal).finally(() => over.abort()),
  ])
  if (users.status === 'rejected') throw users.reason
  if (end.status === 'rejected') throw end.reason
  return users.value
}

async function serveFromOneServer(users: number): Promise<Map<string, Served>> {
  const postgres = await startTestPostgres()
  process.env['ASSAY_TEST_POSTGRES'] = postgres.address
  let served = new Map<string, Served>()
  try {
    await withService(async (service) => {
      served = await gather(service, await play(service, (count) => count < users))
    })
    return served
  } finally {
    delete process.env['ASSAY_TEST_POSTGRES']
    await postgres.stop()
  }
}

// ---------------------------------------------------------------------------------------------------------- the users

const nameOf = (user: number): string => `user ${user}`
/** Every third user removes the account again. */
const isRemoved = (user: number): boolean => user % 3 === 2

/** Users connect and are read one after another. Returns how many there were. */
async function play(service: TestService, isNeeded: (count: number) => boolean): Promise<number> {
  const { url } = service
  let count = 0
  for (; isNeeded(count); count += 1) {
    const user = nameOf(count)
    const { token } = await retry(`${user} comes`, () => connect(url, user, []))
    await add(service, user, token)
    await until(
      `${user} is read`,
      async () => {
        const connections = await list<{ status: string }>(url, user, '/accounts/v2/providers', token)
        return connections.every(({ status }) => status === 'active') ? true : undefined
      },
      pollMs,
    )
    await list(url, user, '/accounts/v2/transactions?limit=100', token)
    if (isRemoved(count)) await remove(url, user, token)
  }
  return count
}

/** The account belongs to the user's name, and has the same references whenever it is created. */
async function add({ url, sandbox }: TestService, user: string, token: string): Promise<void> {
  const wish = { provider_id: 'kraken', scenario: 'default', account: user }
  const made = await post(`${sandbox.controlUrl}/control/accounts`, wish)
  const { credentials } = made as { credentials: object }
  const body = { provider_id: 'kraken', connection: { type: 'api_key', ...credentials } }
  await retry(`${user} connects`, async () => {
    const { data } = (await post(`${url}/accounts/v2/providers`, body, token)) as { data: Added }
    // "Could not be checked in time" asks to try again, as 503 does; "connected already" has the id.
    if (data.connection_id === null)
      throw new Error(data.errors[0]?.cause === 'internal' ? '503 ' : JSON.stringify(data))
  })
}

interface Added {
  connection_id: string | null
  errors: { cause: string }[]
}

async function post(url: string, body: object, token?: string): Promise<unknown> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const headers = { 'content-type': 'application/json', ...authorization }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  return JSON.parse(text)
}

async function remove(url: string, user: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  await retry(`${user} removes the account`, async () => {
    const response = await fetch(`${url}/accounts/v2/providers?provider_id=kraken`, { method: 'DELETE', headers })
    // A removal whose answer was lost leaves nothing for the next try.
    if (response.status !== 200 && response.status !== 404)
      throw new Error(`${response.status} ${await response.text()}`)
  })
}

function list<T>(url: string, user: string, of: string, token: string): Promise<T[]> {
  return retry(`${user}: ${of}`, () => walk<T>(url, of, token))
}

/** While a node is away the API answers 503, and an application comes back. Any other refusal is wrong. */
async function retry<T>(what: string, work: () => Promise<T>): Promise<T> {
  const { value } = await until(
    what,
    async () => {
      try {
        // In an object, because `until` takes undefined for "not yet", and a removal that has succeeded returns
        // nothing.
        return { value: await work() }
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        if (/\b503 /.test(message)) return undefined
        throw new Error(`${what}: ${message}`, { cause: error })
      }
    },
    pollMs,
  )
  return value
}

// --------------------------------------------------------------------------------------------------- what they are
// served

/** Transactions and assets, each as a text; sorted, because ids decide the order within a millisecond. */
type Served = readonly string[]

/** Once everything is at rest. Ids are random, so they are left out. */
async function gather({ url, db }: TestService, users: number): Promise<Map<string, Served>> {
  const pending = `select (select count(*) from awaited_prices)
    + (select count(*) from connections where status <> 'active') as count`
  await until(
    'every account read and every price there',
    async () => {
      try {
        return (await db.row<{ count: string }>(pending)).count === '0' ? true : undefined
      } catch (error) {
        if (isDatabaseAway(error)) return undefined
        throw error
      }
    },
    pollMs,
  )
  const served = new Map<string, Served>()
  for (let number = 0; number < users; number += 1) {
    const user = nameOf(number)
    const { token } = await retry(`${user} comes back`, () => connect(url, user, []))
    const transactions = await list<object>(url, user, '/accounts/v2/transactions?limit=100', token)
    const assets = await list<object>(url, user, '/accounts/v2/assets', token)
    served.set(user, [...transactions, ...assets].map(toText).toSorted())
  }
  return served
}

const drawn = new Set(['id', 'user_id', 'connection_id', 'updated_at', 'time_fetched'])

function toText(served: object): string {
  return JSON.stringify(Object.fromEntries(Object.entries(served).filter(([name]) => !drawn.has(name))))
}

function describeDifference(user: string, served: Served, expected: Served): string {
  const extra = served.find((text) => !expected.includes(text))
  const missing = expected.find((text) => !served.includes(text))
  return `${user} is served ${served.length} rows, and by one server ${expected.length}; ${extra} and not ${missing}`
}

// ---------------------------------------------------------------------------------------------------------- the kills

/** A user whose rows lie on this worker. */
interface Onlooker {
  name: string
  address: string
}

const onlookersMax = 50

/** One for each worker, connected and read before anything is killed. */
async function findOnlookers({ url, db }: TestService, { workers }: Citus): Promise<Onlooker[]> {
  const found = new Map<string, Onlooker>()
  for (let number = 1; found.size < workers.length; number += 1) {
    if (number > onlookersMax) throw new Error(`none of ${onlookersMax} users is on some worker`)
    const name = `onlooker ${number}`
    const { token } = await connect(url, name, [{ provider_id: 'kraken' }])
    const { address } = await db.row<{ address: string }>(
      `select n.nodename || ':' || n.nodeport as address
       from pg_dist_placement p join pg_dist_node n using (groupid)
       where p.shardid = get_shard_id_for_distribution_column('connections',
         (select user_key from users where external_user_id = $1))`,
      [name],
    )
    if (found.has(address)) continue
    found.set(address, { name, address })
    await until('the onlooker is read', async () => {
      const connections = await walk<{ status: string }>(url, '/accounts/v2/providers', token)
      return connections.every(({ status }) => status === 'active') ? true : undefined
    })
  }
  return [...found.values()]
}

async function keepKilling(trial: Trial, over: AbortSignal): Promise<void> {
  const { citus, kills, random, say } = trial
  const nodes = [citus.coordinator, ...citus.workers]
  let bag: CitusNode[] = []
  for (let count = 1; count <= kills && !over.aborted; count += 1) {
    if (bag.length === 0) bag = shuffle(nodes, random)
    const node = bag.pop() ?? citus.coordinator
    await delay(random() * upMaxMs)
    say(`  ${count} of ${kills}: ${node.name} ${await loseOne(trial, node)}`)
  }
}

/** Kills a node while users read, starts it again, and returns what they saw. */
async function loseOne(
  { citus, service: { url }, onlookers, random, failures }: Trial,
  node: CitusNode,
): Promise<string> {
  const present = await Promise.all(
    onlookers.map(async (one) => {
      const tokens = await retry(`${one.name} comes back`, async () => redeem(url, await authorize(url, one.name, [])))
      const { access_token: token, refresh_token: refreshToken } = tokens
      return { ...one, token, refreshToken, reader: startReader(url, token) }
    }),
  )
  const isHit = ({ address }: Onlooker): boolean => node === citus.coordinator || address === node.address
  const began = performance.now()
  await node.kill()
  try {
    for (const one of present) {
      // A worker's process may answer a last statement before it notices that its postmaster is gone.
      const wanted = isHit(one) ? 503 : 200
      await until(`${wanted} for ${one.name} while ${node.name} is away`, async () =>
        (await ask(url, one.token, failures)) === wanted ? true : undefined,
      )
      if (!isHit(one))
        await retry(`a refresh for ${one.name} while ${node.name} is away`, () => refresh(url, one.refreshToken))
    }
    await delay(random() * downMaxMs)
  } finally {
    await node.start()
  }
  const startedMs = performance.now()
  for (const one of present) {
    await until(`${one.name} is served again`, async () =>
      (await ask(url, one.token, failures)) === 200 ? true : undefined,
    )
  }
  const servedMs = performance.now() - startedMs
  for (const { reader } of present) failures.push(...(await reader.stop()))
  return `was away for ${toSeconds(startedMs - began)} s, everybody was served ${toSeconds(servedMs)} s later`
}

async function refresh(url: string, token: string): Promise<void> {
  const client = { client_id: demo.clientId, client_secret: demo.secret }
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token, ...client })
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
}

const toSeconds = (ms: number): number => Math.round(ms / 100) / 10

async function ask(url: string, token: string, failures: string[]): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/accounts/v2/transactions?limit=30`, { headers })
  const text = await response.text()
  const isFine = response.status === 200 || (response.status === 503 && response.headers.has('retry-after'))
  if (!isFine) failures.push(`an onlooker was answered ${response.status}: ${text}`)
  return response.status
}
