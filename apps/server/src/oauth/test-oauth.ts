/**
 * The authorization server over a sandbox database of the test's own, with the sandbox's clients and a clock to move.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { after, type TestContext } from 'node:test'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import { createStillClock } from '../../../../test/still-clock.ts'
import { markInstallation, type Database, type Sql } from '../db/index.ts'
import type { Owner, Tenant } from '../owner.ts'
import { createTenants, type Client, type ClientRegistration, type Tenants } from '../tenants/index.ts'
import { createOauth, type CodeRedeemed, type Oauth, type TokenResponse } from './index.ts'

export const demo = { client_id: 'cli_demo', client_secret: 'sandbox-demo-secret' }
export const enterprise = { client_id: 'cli_enterprise', client_secret: 'sandbox-enterprise-secret' }
export const redirectUri = 'http://127.0.0.1:4100/callback'
export const issuer = 'https://auth.example'

export const testKeys = { tokenKey: new Uint8Array(32).fill(1), olderTokenKeys: [new Uint8Array(32).fill(2)] }

export interface Authorization {
  code: string
  verifier: string
  challenge: string
  owner: Owner
}

export interface AuthorizationChoices {
  clientId?: string
  scope?: string
  user?: string
  method?: 'S256' | 'plain'
  redirectUri?: string
  connectSessionId?: string
  /** The words that the person agreed to. */
  text?: string
  /** The consent is carried over from a grant that ends then. */
  carriedUntil?: string
}

type TestOwner = Pick<TestContext, 'after'>

export interface TestOauth {
  db: Database
  tenant: Tenant
  tenants: Tenants
  oauth: Oauth
  /** The arguments of onCodeRedeemed. */
  redeemed: CodeRedeemed[]
  /** A user's consent and its code, as the connect flow makes it. */
  authorize: (choices?: AuthorizationChoices) => Promise<Authorization>
  /** The long-term flow, to the end. */
  signIn: (choices?: AuthorizationChoices) => Promise<TokenResponse & { refresh_token: string }>
  exchange: (fields: Record<string, string>) => Promise<TokenResponse>
  addClient: (registration?: Partial<ClientRegistration>) => Promise<{ client: Client; secret: string }>
  /** Moves the clock of every node. Otherwise it stands still, so that short lifetimes do not end on a busy machine. */
  moveClock: (seconds: number) => Promise<void>
  /** The same database, seen by another process that has its own pool. */
  secondNode: (keys?: typeof testKeys) => Promise<Oauth>
  /** The same database, with every statement counted; BEGIN and COMMIT are among them. */
  countedNode: () => { oauth: Oauth; statements: string[] }
}

/** To be called in an async `describe`: everything is closed when that suite ends, the last opened first. */
export function ownedBySuite(): TestOwner {
  const cleanups: (() => Promise<void>)[] = []
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup()
  })
  // A test's own hooks are handed its context; none of ours asks for it.
  return { after: (cleanup) => void cleanups.push(cleanup as () => Promise<void>) }
}

export async function openOauth(owner: TestOwner = ownedBySuite(), issuerName: string = issuer): Promise<TestOauth> {
  const { db: running, connection } = await testDatabase(owner)
  await markInstallation(running, 'sandbox')
  const clock = createStillClock()
  const db = clock.of(running)
  const tenants = createTenants({ db })
  const tenant = await tenants.ensureSandboxTenant()
  const redeemed: CodeRedeemed[] = []
  const nodeOver = (database: Database, keys: typeof testKeys): Oauth =>
    createOauth({
      db: database,
      tenants: createTenants({ db: database }),
      keys,
      issuer: issuerName,
      widgetUrl: `${issuerName}/connect`,
      onCodeRedeemed: async (_tx, event) => void redeemed.push(event),
      randomBytes,
    })
  const oauth = nodeOver(db, testKeys)

  const authorize: TestOauth['authorize'] = async (choices = {}) => {
    const verifier = randomBytes(32).toString('base64url')
    const { method = 'S256' } = choices
    const challenge = method === 'S256' ? createHash('sha256').update(verifier).digest('base64url') : verifier
    const request = await oauth.parseAuthorizationRequest([
      ['client_id', choices.clientId ?? demo.client_id],
      ['code_challenge', challenge],
      ['code_challenge_method', method],
      ['state', randomUUID()],
      ['redirect_uri', choices.redirectUri ?? ''],
      ['scope', choices.scope ?? ''],
    ])
    const externalUserId = choices.user ?? 'ann'
    const { tenantKey, tenantId } = request.client
    const owner = await tenants.ensureUser({ tenantKey, tenantId, externalUserId })
    const { carriedUntil: until, text = 'Read holdings and transactions' } = choices
    const consent = { version: '1', text, ...(until === undefined ? {} : { until }) }
    const code = await oauth.issueAuthorizationCode({
      ...request,
      owner,
      connectSessionId: choices.connectSessionId ?? null,
      consent,
    })
    return { code, verifier, challenge, owner }
  }

  const exchange: TestOauth['exchange'] = (fields) =>
    oauth.token({ parameters: new Map(Object.entries(fields)), authorization: undefined })

  return {
    db,
    tenant,
    tenants,
    oauth,
    redeemed,
    authorize,
    exchange,
    async signIn(choices) {
      const { code } = await authorize(choices)
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, ...demo }
      const { refresh_token = '', ...rest } = await exchange(fields)
      return { ...rest, refresh_token }
    },
    async addClient(registration) {
      const scopes = ['assets:read', 'offline_access'] as const
      const plain = { name: 'Another application', redirectUris: ['https://other.example/cb'], scopes }
      const { client, secret } = await tenants.createClient(tenant.tenantId, { ...plain, ...registration })
      return { client, secret: secret ?? '' }
    },
    async moveClock(seconds) {
      await db.clock.advance(seconds * 1_000)
    },
    async secondNode(keys = testKeys) {
      const other = openTestDatabase(connection)
      owner.after(() => other.close())
      return nodeOver(clock.of(other), keys)
    },
    countedNode() {
      const statements: string[] = []
      return { oauth: nodeOver(counted(db, statements), testKeys), statements }
    },
  }
}

/** Writes every statement's text into `statements` before it runs. */
function counted(db: Database, statements: string[]): Database {
  const through = (sql: Sql): Sql => ({
    now: sql.now,
    rows: (text, values) => (statements.push(text), sql.rows(text, values)),
    row: (text, values) => (statements.push(text), sql.row(text, values)),
    maybeRow: (text, values) => (statements.push(text), sql.maybeRow(text, values)),
    execute: (text, values) => (statements.push(text), sql.execute(text, values)),
  })
  return {
    ...db,
    ...through(db),
    async transaction(work) {
      statements.push('BEGIN')
      const result = await db.transaction((tx) => work(through(tx)))
      statements.push('COMMIT')
      return result
    },
  }
}
