/**
 * The enterprise API: what a tenant sees of its users, as far as their consents go. For backends only: it holds the
 * client's secret and gets its own tokens with it.
 */
import { createCalls, toSegment, type CallOptions, type Calls, type WirePage } from '../calling/calls.ts'
import { createFeed, type ChangesOptions, type Copy } from '../changes.ts'
import { toTokenClient, type ClientOptions } from '../client.ts'
import type * as wire from './enterprise-types.ts'
import type { AssetPosition, Provider, TransactionFilters } from '../types.ts'
import { marginMs, postForm, type TokenClient, type TokenHolder } from '../tokens.ts'

export interface EnterpriseOptions extends Omit<ClientOptions, 'tokens' | 'onTokens' | 'clientSecret'> {
  clientSecret: string
  /** Default: to read. Ending a user's consents needs enterprise:manage too. */
  scopes?: readonly ('enterprise:read' | 'enterprise:manage')[]
}

export type EnterpriseClient = ReturnType<typeof createEnterpriseClient>

const root = '/enterprise/v2'

export function createEnterpriseClient(options: EnterpriseOptions) {
  const auth = toTokenClient(options)
  const holder = createTenantTokenHolder(auth, (options.scopes ?? ['enterprise:read']).join(' '))
  const calls = createCalls(options.baseUrl.replace(/\/+$/, ''), auth, holder)
  const { get, walk } = calls
  const feed = createFeed<wire.EnterpriseChange>(calls, `${root}/changes`)
  const stats = <Data>(name: string, more: CallOptions): Promise<wire.Stats<Data>> =>
    get<wire.Stats<Data>>(`${root}/stats/${name}`, more)

  return {
    /** Transactions of all users whose consent covers them, newest first. */
    transactions: (filters: wire.EnterpriseTransactionFilters = {}, more: CallOptions = {}) =>
      walk<wire.EnterpriseTransaction>(`${root}/transactions`, { ...filters }, more),
    /** What changed since the cursor of an earlier reading, oldest first; everything without one. */
    changes: (options: ChangesOptions = {}, more: CallOptions = {}) => feed.changes(options, more),
    /** One page of them, with its cursor. */
    changesPage: (options: ChangesOptions = {}, more: CallOptions = {}) => feed.page(options, more),
    /** Brings a copy of all users' transactions up to date; returns how many changes that took. */
    syncCopy: (copy: Copy<wire.EnterpriseChange>, more: CallOptions = {}): Promise<number> => feed.syncCopy(copy, more),
    accounts: (more: CallOptions = {}) => walk<wire.EnterpriseAccount>(`${root}/accounts`, {}, more),
    providers: (more: CallOptions = {}) => walk<Provider>(`${root}/providers`, {}, more),
    users: createUsers(calls),
    stats: {
      users: (more: CallOptions = {}) => stats<wire.UserStats>('users', more),
      accountsByProvider: (more: CallOptions = {}) => stats<wire.ProviderStats[]>('accounts-by-provider', more),
      balances: (more: CallOptions = {}) => stats<wire.BalanceStats>('balances', more),
      topAssets: (more: CallOptions = {}) => stats<wire.AssetStats[]>('top-assets', more),
    },
  }
}

function createUsers({ get, post, remove, walk }: Calls) {
  const pathOf = (userId: string, more = ''): string => `${root}/users/${toSegment(userId)}${more}`

  /** The cursor travels in the body; `next` as a whole is one. */
  async function* search(
    names: wire.UserSearch,
    more: CallOptions = {},
  ): AsyncGenerator<wire.EnterpriseUser, void, undefined> {
    for (let cursor: string | undefined; cursor !== '';) {
      const body = { ...names, limit: 100, ...(cursor === undefined ? {} : { cursor }) }
      const { page, data } = await post<WirePage<wire.EnterpriseUser>>(`${root}/users/search`, body, more)
      yield* data
      cursor = page.next
    }
  }

  return {
    list: (more: CallOptions = {}) => walk<wire.EnterpriseUser>(`${root}/users`, {}, more),
    search,
    get: async (userId: string, more: CallOptions = {}): Promise<wire.EnterpriseUser> =>
      (await get<{ data: wire.EnterpriseUser }>(pathOf(userId), more)).data,
    assets: (userId: string, more: CallOptions = {}) => walk<AssetPosition>(pathOf(userId, '/assets'), {}, more),
    transactions: (userId: string, filters: TransactionFilters = {}, more: CallOptions = {}) =>
      walk<wire.EnterpriseTransaction>(pathOf(userId, '/transactions'), { ...filters }, more),
    /** Ends every consent of the user to the tenant's applications; needs enterprise:manage. */
    end: async (userId: string, more: CallOptions = {}): Promise<{ user_id: string; grants_ended: number }> =>
      (await remove<{ data: { user_id: string; grants_ended: number } }>(pathOf(userId), more)).data,
  }
}

/**
 * The tenant's own access token (RFC 6749 §4.4), requested when it is first needed and again when it expires, once for
 * all waiting calls. The client's secret is always at hand, so nothing has to be stored.
 */
interface TenantToken {
  accessToken: string
  expiresAtMs: number
}

export function createTenantTokenHolder(client: TokenClient, scope: string): Pick<TokenHolder, 'get'> {
  let token: TenantToken | undefined
  let asking: Promise<string> | undefined

  async function ask(): Promise<string> {
    const text = await postForm(client, '/oauth/token', { grant_type: 'client_credentials', scope })
    const body = JSON.parse(text) as { access_token: string; expires_in: number }
    token = { accessToken: body.access_token, expiresAtMs: Date.now() + body.expires_in * 1_000 }
    return token.accessToken
  }

  return {
    async get(refused) {
      if (token !== undefined && token.accessToken !== refused && token.expiresAtMs - marginMs > Date.now()) {
        return token.accessToken
      }
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
  }
}
