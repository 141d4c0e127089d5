/**
 * The platform API for one user. Lists are async iterables that fetch page after page as they are read; decimals are
 * text; refusals are thrown as ProblemError. Members have the names of the wire, so that the API's documents apply.
 */
import { createCalls, toQuery, toSegment, type CallOptions, type Calls, type WirePage } from './calling/calls.ts'
import { createFeed, type ChangesOptions, type Copy } from './changes.ts'
import { createTokenHolder, revokeToken, type TokenClient, type Tokens, type TokenStore } from './tokens.ts'
import type * as wire from './types.ts'

export interface ClientOptions extends TokenStore {
  /** The URL of the API, such as https://api.example. */
  baseUrl: string
  /** The URL of the authorization server; baseUrl by default. */
  authUrl?: string | undefined
  clientId: string
  /** Backends only. */
  clientSecret?: string | undefined
  tokens: Tokens
  fetch?: typeof globalThis.fetch | undefined
  /** Tries after the first; default 3. */
  retriesMax?: number | undefined
  /** The longest wait between two tries; default 30 s. A longer Retry-After is thrown as an error. */
  waitMaxMs?: number | undefined
}

export type Client = ReturnType<typeof createClient>

type WireTransactions = WirePage<wire.Transaction> & { removed?: wire.RemovedTransaction[] }

const exportPath = '/accounts/v2/transactions/export'

export function createClient(options: ClientOptions) {
  const auth = toTokenClient(options)
  const holder = createTokenHolder(auth, options.tokens, options)
  const calls = createCalls(options.baseUrl.replace(/\/+$/, ''), auth, holder)
  const { get, walk } = calls
  const feed = createFeed<wire.TransactionChange>(calls, '/accounts/v2/transactions/changes')

  return {
    /** The current tokens. */
    tokens: (): Tokens => holder.current(),
    /** Ends this session at the service. */
    revoke: (): Promise<void> => revokeToken(auth, holder.current().refreshToken ?? holder.current().accessToken),

    transactions: (filters: wire.TransactionListFilters = {}, more: CallOptions = {}) =>
      walk<wire.Transaction>('/accounts/v2/transactions', { ...filters }, more),
    /** One page, for a list that a person scrolls through. Its `next` is the `cursor` of the following page. */
    transactionsPage: async (
      { limit, ...filters }: wire.TransactionListFilters & wire.PageOptions = {},
      more: CallOptions = {},
    ): Promise<wire.TransactionsPage> => {
      const query = toQuery({ ...filters, limit: limit === undefined ? undefined : String(limit) })
      const { page, data, errors, removed } = await get<WireTransactions>(`/accounts/v2/transactions${query}`, more)
      return { data, errors, next: page.next === '' ? undefined : page.next, removed: removed ?? [] }
    },
    /** What changed since the cursor of an earlier reading, oldest first; everything without one. */
    changes: (options: ChangesOptions = {}, more: CallOptions = {}) => feed.changes(options, more),
    /** One page of them, with its cursor. */
    changesPage: (options: ChangesOptions = {}, more: CallOptions = {}) => feed.page(options, more),
    /** Brings a copy of all transactions up to date; returns how many changes that took. */
    syncCopy: (copy: Copy<wire.TransactionChange>, more: CallOptions = {}): Promise<number> =>
      feed.syncCopy(copy, more),
    transaction: async (id: string, more: CallOptions = {}): Promise<wire.Transaction> =>
      (await get<{ data: wire.Transaction }>(`/accounts/v2/transactions/${toSegment(id)}`, more)).data,
    /** The same as the service knew it at an earlier moment. */
    transactionKnownAt: async (
      id: string,
      knownAt: string | Date,
      more: CallOptions = {},
    ): Promise<wire.Transaction> => {
      const path = `/accounts/v2/transactions/${toSegment(id)}${toQuery({ known_at: knownAt })}`
      return (await get<{ data: wire.Transaction }>(path, more)).data
    },
    /** Records, rule, prices, match and former versions of one transaction. */
    explain: async (id: string, more: CallOptions = {}): Promise<wire.TransactionExplanation> =>
      (await get<{ data: wire.TransactionExplanation }>(`/accounts/v2/transactions/${toSegment(id)}/explain`, more))
        .data,
    /** All matching transactions in one response, which is faster than pages. Read it to its end. */
    exportTransactions: (filters: wire.TransactionFilters = {}, more: CallOptions = {}) =>
      calls.lines<wire.Transaction>(`${exportPath}${toQuery({ format: 'ndjson', ...filters })}`, more),
    /** The same as a table, in bytes to be saved. A stream that fails halfway was cut off. */
    exportCsv: (filters: wire.TransactionFilters = {}, more: CallOptions = {}): Promise<ReadableStream<Uint8Array>> =>
      calls.stream(`${exportPath}${toQuery({ format: 'csv', ...filters })}`, more),
    refreshTransactions: (connectionIds?: readonly string[], more: CallOptions = {}): Promise<wire.Refresh> =>
      refresh(calls, '/accounts/v2/transactions/refresh', connectionIds, more),

    ...createAssets(calls),
    refresh: async (refreshId: string, more: CallOptions = {}): Promise<wire.Refresh> =>
      (await get<{ data: wire.Refresh }>(`/accounts/v2/refreshes/${toSegment(refreshId)}`, more)).data,

    /** A signed yes or no about what the user holds; `verifyClaim` verifies the statement. */
    claim: (request: wire.ClaimRequest, more: CallOptions = {}): Promise<wire.Claim> => makeClaim(calls, request, more),

    providers: createProviders(calls),
  }
}

function createAssets(calls: Calls) {
  return {
    assets: (filters: wire.AssetFilters = {}, more: CallOptions = {}) =>
      calls.walk<wire.AssetPosition>('/accounts/v2/assets', { ...filters }, more),
    /** One page, with `errors`: which connections' positions are stale or still being read. */
    assetsPage: async (
      { limit, ...filters }: wire.AssetFilters & wire.PageOptions = {},
      more: CallOptions = {},
    ): Promise<wire.AssetsPage> => {
      const query = toQuery({ ...filters, limit: limit === undefined ? undefined : String(limit) })
      const { page, data, errors } = await calls.get<WirePage<wire.AssetPosition>>(`/accounts/v2/assets${query}`, more)
      return { data, errors, next: page.next === '' ? undefined : page.next }
    },
    /** v1: one row for each crypto source and asset, all of them. */
    assetsV1: (filters: wire.AssetFiltersV1 = {}, more: CallOptions = {}): Promise<wire.AssetPositionV1[]> =>
      calls.get(`/platform/v1/assets${toQuery({ ...filters })}`, more),
    /** What holdings were worth, day by day, oldest first; the last thirty days unless said. */
    assetHistory: async (
      range: { start_time?: string | Date; end_time?: string | Date } = {},
      more: CallOptions = {},
    ): Promise<wire.AssetHistoryPoint[]> =>
      (await calls.get<{ data: wire.AssetHistoryPoint[] }>(`/accounts/v2/assets/history${toQuery({ ...range })}`, more))
        .data,
    refreshAssets: (connectionIds?: readonly string[], more: CallOptions = {}): Promise<wire.Refresh> =>
      refresh(calls, '/accounts/v2/assets/refresh', connectionIds, more),
  }
}

async function refresh(
  calls: Calls,
  path: string,
  connectionIds: readonly string[] | undefined,
  more: CallOptions,
): Promise<wire.Refresh> {
  const body = connectionIds === undefined ? undefined : { connection_ids: connectionIds }
  return (await calls.post<{ data: wire.Refresh }>(path, body, more)).data
}

async function makeClaim({ post }: Calls, request: wire.ClaimRequest, more: CallOptions): Promise<wire.Claim> {
  type Answer = { data: Omit<wire.Claim, 'errors'>; errors: wire.ErrorItem[] }
  const { data, errors } = await post<Answer>('/accounts/v2/claims', request, more)
  return { ...data, errors }
}

function createProviders({ get, post, remove, walk }: Calls) {
  const path = '/accounts/v2/providers'
  type Answer = { data: Omit<wire.AddedProvider, 'errors'>; errors: wire.ErrorItem[] }
  const toAdded = ({ data, errors }: Answer): wire.AddedProvider => ({ ...data, errors })
  return {
    list: (more: CallOptions = {}) => walk<wire.ConnectedProvider>(path, {}, more),
    catalog: (filters: { search?: string; kind?: 'exchange' | 'wallet' } = {}, more: CallOptions = {}) =>
      walk<wire.Provider>(`${path}/catalog`, { ...filters }, more),
    /** With OAuth2 the answer has a `redirect_url` to send the user to; `complete` ends what begins there. */
    add: async (provider: wire.NewProvider, more: CallOptions = {}): Promise<wire.AddedProvider> =>
      toAdded(await post<Answer>(path, provider, more)),
    /** What the provider's page sent back to your redirect URI. */
    complete: async (
      providerId: string,
      answer: { code: string; state: string },
      more: CallOptions = {},
    ): Promise<wire.AddedProvider> =>
      toAdded(await post<Answer>(`/accounts/v2/oauth/callback/${toSegment(providerId)}`, answer, more)),
    async remove(
      which: { connection_id: string } | { provider_id: string },
      more: CallOptions = {},
    ): Promise<wire.RemovedProviders> {
      return (await remove<{ data: wire.RemovedProviders }>(`${path}${toQuery({ ...which })}`, more)).data
    },
    /** Whether the balances add up, in one answer; `proof` walks the assets. */
    async proofSummary(connectionId: string, more: CallOptions = {}): Promise<wire.ProofSummary> {
      const of = `${path}/${toSegment(connectionId)}/proof${toQuery({ limit: '1' })}`
      return (await get<{ summary: wire.ProofSummary }>(of, more)).summary
    },
    proof: (connectionId: string, more: CallOptions = {}) =>
      walk<wire.AssetProof>(`${path}/${toSegment(connectionId)}/proof`, {}, more),
    async coverage(connectionId: string, more: CallOptions = {}): Promise<wire.StreamCoverage[]> {
      const of = `${path}/${toSegment(connectionId)}/coverage`
      return (await get<{ data: { streams: wire.StreamCoverage[] } }>(of, more)).data.streams
    },
  }
}

/** For the calls before there is a client: `exchangeCode(toTokenClient({…}), …)`. */
export function toTokenClient(options: Omit<ClientOptions, 'tokens' | keyof TokenStore>): TokenClient {
  return {
    authUrl: (options.authUrl ?? options.baseUrl).replace(/\/+$/, ''),
    clientId: options.clientId,
    clientSecret: options.clientSecret,
    // A browser's own fetch refuses to be called as a method of another object.
    fetch: options.fetch ?? ((...given) => globalThis.fetch(...given)),
    retriesMax: options.retriesMax ?? 3,
    waitMaxMs: options.waitMaxMs ?? 30_000,
  }
}
