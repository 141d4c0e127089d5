/** The simulators of packages/sandbox behind the suite's interface: a client of their control API. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Sandbox } from '@assay/sandbox'
import type { NewCredentials } from '../../apps/server/src/connections/index.ts'
import type { ProviderName } from './scenario-table.ts'
import type { Held, SimulatedAccount, SimulatorUnderTest, SignInUrl } from './simulator.ts'

/** What differs between the sandbox's providers: how their books read, and what their rights are called. */
export interface SandboxDialect {
  providerId: ProviderName
  client?: { clientId: string; clientSecret: string }
  /** Set to sign in at a provider that also has keys. */
  signIn?: true
  toHeld(state: never): Held
  /** Of an account with a history; `default` by default. */
  scenario?: string
  /** Left out for wallets, which have no rights. */
  permissions?: Readonly<Record<'read_only' | 'excess' | 'missing', readonly string[]>>
}

interface Minted {
  account_id: string
  credentials: {
    api_key?: string
    secret_key?: string
    passphrase?: string
    account?: string
    address?: string
    extended_public_key?: string
    descriptor?: string
  }
}

export function createSandboxSimulator(sandbox: Sandbox, dialect: SandboxDialect): SimulatorUnderTest {
  const { providerId } = dialect

  async function control<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${sandbox.controlUrl}/control/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }

  async function newAccount(kind: string): Promise<SimulatedAccount> {
    const account = randomUUID()
    const scenario = kind === 'default' ? (dialect.scenario ?? kind) : kind
    const minted = await control<Minted>('POST', 'accounts', { provider_id: providerId, scenario, account })
    const path = `accounts/${minted.account_id}`
    return {
      authorize: (toSignInUrl) => authorize(dialect.signIn === true ? withoutKey(minted) : minted, toSignInUrl),
      hold: async () => dialect.toHeld(await control<never>('GET', `${path}/state`)),
      async book({ time, entries }) {
        const booked = entries.map(({ code: asset, ...entry }) => ({
          ...entry,
          asset,
          ...(time === undefined ? {} : { time }),
        }))
        return (await control<{ ids: string[] }>('POST', `${path}/entries`, { entries: booked })).ids
      },
      async withdraw(ids) {
        await control('POST', `${path}/withdrawn`, { ids })
      },
      async setRights(rights) {
        await control('POST', `${path}/key`, { permissions: dialect.permissions?.[rights] })
      },
      async arm(fault) {
        await control('POST', `providers/${providerId}/faults`, { account_id: minted.account_id, ...fault })
      },
      async countCalls() {
        const { requests, overlaps } = await control<{ requests: { count: number }[]; overlaps: number }>(
          'GET',
          `log?account_id=${minted.account_id}`,
        )
        return { calls: requests.reduce((sum, { count }) => sum + count, 0), overlaps }
      },
    }
  }

  return {
    url: sandbox.urls[providerId],
    ...(dialect.client === undefined ? {} : { client: dialect.client }),
    newAccount,
    async clearFaults() {
      await control('DELETE', `providers/${providerId}/faults`)
    },
    async setClock(offsetMs) {
      await control('POST', 'clock', { offset_ms: offsetMs })
    },
    close: async () => undefined,
  }
}

function withoutKey({ account_id, credentials: { account = '' } }: Minted): Minted {
  return { account_id, credentials: { account } }
}

/**
 * A key or a wallet is handed out as it is; for a sign-in the provider's page is opened and allowed, as a browser
 * would.
 */
async function authorize({ credentials }: Minted, toSignInUrl: SignInUrl): Promise<NewCredentials> {
  const { api_key: apiKey, secret_key: secretKey, passphrase, account = '' } = credentials
  if (apiKey !== undefined && secretKey !== undefined) {
    return { type: 'api_key', apiKey, secretKey, ...(passphrase === undefined ? {} : { passphrase }) }
  }
  const { address, extended_public_key: extendedPublicKey, descriptor } = credentials
  if (address !== undefined) return { type: 'wallet', address }
  if (extendedPublicKey !== undefined) return { type: 'wallet', extendedPublicKey }
  if (descriptor !== undefined) return { type: 'wallet', descriptor }
  const codeVerifier = randomBytes(32).toString('base64url')
  const redirectUri = 'http://127.0.0.1:1/callback'
  const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')
  const page = new URL(toSignInUrl({ redirectUri, state: randomUUID(), codeChallenge }))
  const body = new URLSearchParams([...page.searchParams, ['account', account], ['decision', 'allow']])
  page.search = ''
  const response = await fetch(page, { method: 'POST', body, redirect: 'manual' })
  const code = new URL(response.headers.get('location') ?? '').searchParams.get('code')
  if (code === null) throw new Error(`the sign-in page of ${page.origin} gave no code: HTTP ${response.status}`)
  return { type: 'oauth2', code, codeBoundTo: null, codeVerifier, redirectUri }
}
