/**
 * The server's side of sandbox mode: a client of the simulated providers' control API. It speaks HTTP and knows nothing
 * of how they are made, so that the service never carries the simulators with it.
 */
import { Refusal, SourceError } from '@assay/core'
import { z } from 'zod'

const scenario = z.object({ name: z.string(), title: z.string(), description: z.string(), expects: z.string() })
const providersAnswer = z.object({
  providers: z.array(z.object({ provider_id: z.string(), url: z.url(), scenarios: z.array(scenario) })),
  prices_url: z.url(),
})
const accountAnswer = z.object({
  account_id: z.string(),
  credentials: z.object({
    api_key: z.string().exactOptional(),
    secret_key: z.string().exactOptional(),
    passphrase: z.string().exactOptional(),
    address: z.string().exactOptional(),
    extended_public_key: z.string().exactOptional(),
    descriptor: z.string().exactOptional(),
  }),
})

const signedInAnswer = z.object({ account_id: z.string() })
const keysAnswer = z.object({
  keys: z.array(z.object({ account_id: z.string(), api_key: z.string(), secret_key: z.string() })),
})

/** What a person would type into the form, by the names of its fields. */
export type TestFields = z.infer<typeof accountAnswer>['credentials']

export interface TestKey {
  apiKey: string
  secretKey: string
}

export type SandboxProviders = z.infer<typeof providersAnswer>

export interface SandboxControl {
  listProviders(): Promise<SandboxProviders>
  /** The same `account` text gives the same account, and the same key or wallet. */
  createAccount(request: { providerId: string; scenario: string; account: string }): Promise<TestFields>
  /**
   * Opens a provider's sign-in page, allows access, and returns what the browser would have been sent back with. Throws
   * a SourceError when the page does not send the browser back. `account` is "scenario:text" or an account's id.
   */
  signIn(url: string, account: string): Promise<{ state: string; code: string } | { state: string; error: string }>
  /**
   * The simulated account whose API key this test recognises; undefined when the sandbox gave out none of that kind.
   */
  findAccount(providerId: string, isKey: (key: TestKey) => boolean): Promise<string | undefined>
  /** The simulated account that a code or token came from. */
  findSignedIn(providerId: string, token: string): Promise<string>
  /** A further key of the same account. */
  addKey(accountId: string, name: string): Promise<TestFields>
  /** From now on the provider knows no key of the account. */
  revokeKeys(accountId: string): Promise<void>
  setFault(providerId: string, fault: Readonly<Record<string, unknown>>): Promise<void>
  clearFaults(providerId: string): Promise<void>
  setClock(offsetMs: number): Promise<void>
}

export function createSandboxControl(controlUrl: string, fetch: typeof globalThis.fetch): SandboxControl {
  async function ask<T>(method: string, path: string, body: unknown, answer: z.ZodType<T>): Promise<T> {
    const response = await fetch(`${controlUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    const text = await response.text()
    // The control API's refusals are about what our caller asked for: an unknown scenario, a malformed fault.
    if (response.status === 400 || response.status === 404) throw new Refusal('invalid_request', detailOf(text))
    if (!response.ok) throw new Error(`the sandbox answered ${response.status} to ${method} ${path}`)
    return answer.parse(text === '' ? {} : JSON.parse(text))
  }

  const anything = z.unknown()
  const accountPath = (accountId: string): string => `/control/accounts/${encodeURIComponent(accountId)}`
  const faultsPath = (providerId: string): string => `/control/providers/${encodeURIComponent(providerId)}/faults`
  return {
    listProviders: () => ask('GET', '/control/providers', undefined, providersAnswer),
    async createAccount({ providerId, scenario: name, account }) {
      const body = { provider_id: providerId, scenario: name, account }
      const { credentials } = await ask('POST', '/control/accounts', body, accountAnswer)
      if (Object.keys(credentials).length > 0) return credentials
      throw new Refusal('invalid_request', `${providerId} uses sign-in, not API keys.`)
    },
    async signIn(url, account) {
      const page = new URL(url)
      const form = new URLSearchParams([...page.searchParams, ['account', account], ['decision', 'allow']])
      page.search = ''
      const { status, headers } = await openPage(fetch, page, form)
      const location = headers.get('location')
      if (location === null) throw pageError(status, headers.get('retry-after'))
      const { searchParams } = new URL(location)
      const [code, state] = [searchParams.get('code'), searchParams.get('state') ?? '']
      return code === null ? { state, error: searchParams.get('error') ?? 'access_denied' } : { state, code }
    },
    async findAccount(providerId, isKey) {
      const path = `/control/keys?provider_id=${encodeURIComponent(providerId)}`
      const { keys } = await ask('GET', path, undefined, keysAnswer)
      return keys.find(({ api_key, secret_key }) => isKey({ apiKey: api_key, secretKey: secret_key }))?.account_id
    },
    async findSignedIn(providerId, token) {
      const body = { provider_id: providerId, token }
      return (await ask('POST', '/control/sign-ins', body, signedInAnswer)).account_id
    },
    async addKey(accountId, name) {
      return (await ask('POST', `${accountPath(accountId)}/keys`, { key: name }, accountAnswer)).credentials
    },
    async revokeKeys(accountId) {
      await ask('POST', `${accountPath(accountId)}/key`, { revoked: true }, anything)
    },
    async setFault(providerId, fault) {
      await ask('POST', faultsPath(providerId), fault, anything)
    },
    async clearFaults(providerId) {
      await ask('DELETE', faultsPath(providerId), undefined, anything)
    },
    async setClock(offsetMs) {
      await ask('POST', '/control/clock', { offset_ms: offsetMs }, anything)
    },
  }
}

/** A person who waits for a page that does not load gives up, too. */
const pageTimeoutMs = 20_000

function openPage(fetch: typeof globalThis.fetch, page: URL, form: URLSearchParams): Promise<Response> {
  const signal = AbortSignal.timeout(pageTimeoutMs)
  return fetch(page, { method: 'POST', body: form, redirect: 'manual', signal }).catch((cause: unknown) => {
    throw new SourceError('venue_down', 'the sign-in page did not answer', { cause })
  })
}

/** In the sandbox Retry-After is a number of seconds. */
function pageError(status: number, retryAfter: string | null): SourceError {
  const isBusy = status === 429 || status === 418
  return new SourceError(isBusy ? 'rate_limited' : 'venue_down', `the sign-in page answered ${status}`, {
    ...(retryAfter === null ? {} : { retryAfterMs: Number(retryAfter) * 1_000 }),
  })
}

const refusalAnswer = z.object({ error: z.string() })

function detailOf(text: string): string {
  try {
    return refusalAnswer.parse(JSON.parse(text)).error
  } catch {
    return 'the sandbox refused the request'
  }
}
