/**
 * A service with users who come and go, for the feed campaign. Each action is what an application, a person or a
 * provider does, through the service's public interfaces; the campaign chooses them at chance and lets several happen
 * at once.
 */
import { randomUUID } from 'node:crypto'
import {
  OAuthError,
  ProblemError,
  createClient,
  createEnterpriseClient,
  type Client,
} from '../../../packages/sdk/src/index.ts'
import { authorize, demo, redeem, type Authorization, type Tokens } from '../../application.ts'
import type { Chance } from '../../security/bad-input-values.ts'
import type { TestService } from '../../service.ts'
import { isDatabaseAway } from '../../../apps/server/src/db/index.ts'
import { until } from '../../until.ts'
import { ReaderStopped, compareRows, keepAccountCopy, keepTenantCopy } from './feed-copies.ts'

interface Account {
  connectionId: string
  accountId: string
  /** The text that the account was minted from. */
  account: string
  scenario: string
  isBroken: boolean
}

interface User {
  name: string
  userId: string
  client: Client
  copy: ReturnType<typeof keepAccountCopy>
  accounts: Account[]
  /** Connections that were made in a session; their accounts are the sandbox's own. */
  settled: string[]
  /** A session whose code has not been redeemed. */
  session: Authorization | undefined
  /** False after the end of the grant, until the person consents again. */
  isLive: boolean
  /** What begins and ends the grant happens one after the other, so that it is known which was the last. */
  turn: Promise<unknown>
}

export type Action =
  | 'book'
  | 'refresh'
  | 'tick'
  | 'begin session'
  | 'settle session'
  | 'add'
  | 'remove'
  | 'break key'
  | 'repair'
  | 'end grant'
  | 'consent'
  | 'poll'
  | 'poll tenant'

export interface FeedWorld {
  act(action: Action, chance: Chance): Promise<boolean>
  /** Waits until nothing is in flight, brings every copy up to date and compares it with its list. */
  compare(): Promise<string[]>
  /** Years pass: every grant expires, and every cursor that was not read on expires. */
  leap(): Promise<void>
  describe(): { users: number; transactions: number; resets: number }
}

const tickMs = 20 * 60_000
const leapMs = 400 * 86_400_000

export interface FeedWorldOptions {
  /**
   * The database is away now and then: a request that is answered 503 is expected, and so is a statement that fails.
   */
  mayBeAway: boolean
}

export async function openFeedWorld(
  service: TestService,
  usersMax: number,
  { mayBeAway }: FeedWorldOptions,
): Promise<FeedWorld> {
  const { url } = service
  const tenant = createEnterpriseClient({
    baseUrl: url,
    clientId: 'cli_enterprise',
    clientSecret: 'sandbox-enterprise-secret',
    scopes: ['enterprise:read', 'enterprise:manage'],
  })
  const tenantCopy = keepTenantCopy()
  const users: User[] = []
  for (let number = 0; number < usersMax; number += 1) users.push(await signUp(url, `user ${number}`))

  async function post<T>(base: string, body: object): Promise<T> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(base, { method: 'POST', headers, body: JSON.stringify(body) })
    if (response.status !== 200) throw new Error(`${base}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
  const control = <T>(path: string, body: object): Promise<T> =>
    post<T>(`${service.sandbox.controlUrl}/control/${path}`, body)
  // The clock moves one step at a time, because the simulated providers follow it and refuse to go back.
  let lastMove: Promise<unknown> = Promise.resolve()
  const moveClock = (ms: number): Promise<unknown> => {
    // A move that failed does not keep the next one from being tried.
    lastMove = lastMove.catch(() => undefined).then(() => post(`${url}/sandbox/clock`, { advance_ms: ms }))
    return lastMove
  }
  const mint = (account: string, scenario: string) =>
    control<{ account_id: string; credentials: { api_key: string; secret_key: string } }>('accounts', {
      ...{ provider_id: 'kraken', scenario, account },
    })

  async function consent(user: User): Promise<void> {
    const authorization = await authorize(url, user.name, [])
    user.client = toClient(url, await redeem(url, authorization))
    user.isLive = true
  }

  const begin = (user: User, chance: Chance): Promise<Authorization> =>
    authorize(url, user.name, [{ provider_id: 'kraken', scenario: pick(scenarios, chance) }])

  async function connect(user: User, account: string, scenario: string): Promise<string | null> {
    const { credentials } = await mint(account, scenario)
    const { connection_id: id } = await user.client.providers.add({
      provider_id: 'kraken',
      connection: { type: 'api_key', ...credentials },
    })
    return id
  }

  const acts: Record<Action, (user: User, chance: Chance) => Promise<unknown>> = {
    async book(user, chance) {
      const { accountId } = pick(user.accounts, chance)
      const amount = `0.${chance(90) + 10}`
      await control(`accounts/${accountId}/entries`, { entries: [{ type: 'deposit', asset: 'XXBT', amount }] })
    },
    refresh: (user) => user.client.refreshTransactions(),
    tick: () => moveClock(tickMs),
    async 'begin session'(user, chance) {
      if (user.session !== undefined) throw new Impossible()
      user.session = await begin(user, chance)
    },
    'settle session': (user, chance) =>
      inTurn(user, async () => {
        // One that was begun before has been read meanwhile, unless it has expired; a new one is read while it settles.
        const session = user.session ?? (await begin(user, chance))
        user.session = undefined
        user.client = toClient(url, await redeem(url, session))
        user.isLive = true
        user.settled.push(...session.connections.flatMap(({ connection_id: id }) => (id === null ? [] : [id])))
      }),
    async add(user, chance) {
      const [account, scenario] = [randomUUID(), pick(scenarios, chance)]
      const { account_id: accountId } = await mint(account, scenario)
      const connectionId = await connect(user, account, scenario)
      if (connectionId !== null) user.accounts.push({ connectionId, accountId, account, scenario, isBroken: false })
    },
    async remove(user, chance) {
      const gone = pick([...user.accounts.map(({ connectionId }) => connectionId), ...user.settled], chance)
      user.accounts = user.accounts.filter(({ connectionId }) => connectionId !== gone)
      user.settled = user.settled.filter((connectionId) => connectionId !== gone)
      await user.client.providers.remove({ connection_id: gone })
    },
    async 'break key'(user, chance) {
      const account = pick(user.accounts, chance)
      account.isBroken = true
      await control(`accounts/${account.accountId}/key`, { revoked: true })
      await moveClock(tickMs)
    },
    async repair(user, chance) {
      const account = pick(
        user.accounts.filter(({ isBroken }) => isBroken),
        chance,
      )
      account.isBroken = false
      await control(`accounts/${account.accountId}/key`, { revoked: false })
      await connect(user, account.account, account.scenario)
    },
    'end grant': (user) =>
      inTurn(user, async () => {
        user.isLive = false
        await tenant.users.end(user.userId)
      }),
    consent: (user) => inTurn(user, () => consent(user)),
    async poll(user, chance) {
      await follow(user.copy, chance, () => user.client.syncCopy(user.copy))
    },
    async 'poll tenant'(_, chance) {
      await follow(tenantCopy, chance, () => tenant.syncCopy(tenantCopy))
    },
  }

  // Every user begins with a history of several pages.
  for (const user of users) await acts.add(user, () => 0)

  return {
    async act(action, chance) {
      const user = pick(findSuited(users, action), chance)
      try {
        await acts[action](user, chance)
        return true
      } catch (error) {
        if (isExpected(error) || (mayBeAway && isAway(error))) return false
        throw new Error(`${action} of ${user.name} failed`, { cause: error })
      }
    },
    async compare() {
      await untilQuiet(service)
      const failures: string[] = []
      // A refresh whose answer was lost has spent the token, and an application would ask for consent again.
      if (mayBeAway) {
        for (const user of users.filter(({ isLive }) => isLive)) await patiently(() => consent(user))
      }
      for (const user of users.filter(({ isLive }) => isLive)) failures.push(...(await compareUser(service, user)))
      const list = await settled(service, async () => {
        await tenant.syncCopy(tenantCopy)
        return collect(tenant.transactions())
      })
      return [...failures, ...compareRows('the tenant', tenantCopy.rows, list)]
    },
    async leap() {
      await patiently(() => moveClock(leapMs))
      for (const user of users) {
        user.session = undefined
        await patiently(() => consent(user))
        // Data without a grant for this long is being destroyed.
        user.accounts = []
        user.settled = []
        await patiently(() => acts.add(user, () => 0))
      }
    },
    describe: () => ({
      users: users.length,
      transactions: tenantCopy.rows.size,
      resets: [tenantCopy, ...users.map(({ copy }) => copy)].reduce((sum, { resets }) => sum + resets, 0),
    }),
  }
}

/** The users that this action applies to, or all of them. */
function findSuited(users: readonly User[], action: Action): readonly User[] {
  const suited = users.filter(({ accounts, isLive }) => {
    if (action === 'repair') return isLive && accounts.some(({ isBroken }) => isBroken)
    if (action === 'consent') return !isLive
    return action === 'break key' || action === 'book' ? accounts.length > 0 : isLive
  })
  return suited.length === 0 ? users : suited
}

const scenarios = ['default', 'empty', 'empty']

/** The action has no possible target. */
class Impossible extends Error {}

function inTurn(user: User, work: () => Promise<void>): Promise<void> {
  const done = user.turn.then(work)
  user.turn = done.catch(() => undefined)
  return done
}

/** A reader reads some pages and stops, or reads to the end; one reading at a time. */
async function follow(
  copy: { pagesLeft: number | undefined },
  chance: Chance,
  sync: () => Promise<unknown>,
): Promise<void> {
  if (copy.pagesLeft !== undefined) throw new Impossible()
  copy.pagesLeft = chance(4)
  await sync().finally(() => (copy.pagesLeft = undefined))
}

/** Simultaneous actions may conflict: a connection may have just gone, or a grant just ended. */
function isExpected(error: unknown): boolean {
  if (error instanceof Impossible || error instanceof ReaderStopped) return true
  if (error instanceof ProblemError) return [400, 401, 404, 409, 422, 429].includes(error.status)
  // A session that has expired, a code or a refresh token whose grant has ended: the clock moves meanwhile.
  return error instanceof OAuthError || (error instanceof Error && /^(authorization|token): 4\d\d /.test(error.message))
}

/** Answered 503, or a statement of the campaign itself that met a dead node. */
function isAway(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status === 503
  return isDatabaseAway(error) || (error instanceof Error && /: 503 /.test(error.message))
}

/** Connections that died with a node are noticed one by one, by the requests and statements that use them first. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const { value } = await until('the database', async () => {
    try {
      return { value: await work() }
    } catch (error) {
      if (isAway(error)) return undefined
      throw error
    }
  })
  return value
}

async function signUp(url: string, name: string): Promise<User> {
  const tokens = await redeem(url, await authorize(url, name, []))
  const client = toClient(url, tokens)
  return {
    ...{ name, userId: tokens.user_id, client, copy: keepAccountCopy(), accounts: [] },
    ...{ settled: [], session: undefined, isLive: true, turn: Promise.resolve() },
  }
}

function toClient(url: string, tokens: Tokens): Client {
  return createClient({
    baseUrl: url,
    clientId: demo.clientId,
    clientSecret: demo.secret,
    tokens: {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      expiresAtMs: Date.now() + tokens.expires_in * 1_000,
      scope: tokens.scope,
      userId: tokens.user_id,
      grantId: tokens.grant_id,
    },
  })
}

function pick<T>(of: readonly T[], chance: Chance): T {
  const found = of[chance(Math.max(1, of.length))]
  if (found === undefined) throw new Impossible()
  return found
}

async function collect<Row extends { id: string }>(rows: AsyncIterable<Row>): Promise<Map<string, Row>> {
  const all = new Map<string, Row>()
  for await (const row of rows) all.set(row.id, row)
  return all
}

async function compareUser(service: TestService, { name, client, copy }: User): Promise<string[]> {
  const list = await settled(service, async () => {
    await client.syncCopy(copy)
    return collect(client.transactions())
  })
  return compareRows(name, copy.rows, list)
}

/** No job runs, and none is due. Upkeep comes every minute whatever happens. */
async function untilQuiet({ db }: TestService): Promise<void> {
  const busy = `select from graphile_worker.jobs where task_identifier <> 'upkeep'
    and (locked_at is not null or run_at <= clock_timestamp() + interval '3 seconds')`
  const isQuiet = async (): Promise<boolean> => (await patiently(() => db.rows(busy))).length === 0
  await until('a moment without jobs', async () => ((await isQuiet()) ? true : undefined), 50)
}

/**
 * Reads again when something was committed while it read: a list that was walked during a commit is not one snapshot.
 */
async function settled<T>(service: TestService, read: () => Promise<T>): Promise<T> {
  for (;;) {
    const before = await readMark(service)
    const found = await read()
    if ((await readMark(service)) === before) return found
    await untilQuiet(service)
  }
}

async function readMark({ db }: TestService): Promise<string> {
  const find = `select md5(coalesce((select string_agg(l.user_key || ' ' || l.change_seq, ',' order by l.user_key) from user_ledgers l), '')
       || coalesce((select string_agg(g.id || coalesce(g.revoked_at::text, '') || (g.expires_at > $1::timestamptz), ','
         order by g.user_key, g.id) from grants g), '')) as mark`
  const { mark } = await patiently(() => db.row<{ mark: string }>(find, [db.now()]))
  return mark
}
