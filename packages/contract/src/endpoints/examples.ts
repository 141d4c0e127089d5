/** One small portfolio, in both versions: the documents show it, and tests check it against the schemas. */

export const connectionId = 'con_01jq8n7x2zf4tb9v6h3m5kcdwe'
const time = '2026-03-02T10:11:12.345Z'

/** What a provider's page sent back. */
export const callback = { code: 'SplxlOBeZQQYbYS6WxSbIA', state: 'xnDVv2lXvXuyJHGhW1nPE4Ix7oxWwRMiGYnOlEE2XYw' }

export const thisYear = { start_time: '2026-01-01T00:00:00Z' }

export const errorsNone = { errors: [] }
export const pageLast = { next: '' }
export const pageMore = { next: '/accounts/v2/transactions?limit=30&cursor=mZ1wT0Jr8sVbW4Yc2kQ7dA' }

export const apiConnection = { type: 'api_key', api_key: 'the key', secret_key: 'the secret' }

const position = { asset_symbol: 'BTC', asset_holdings: 0.51, staked_holdings: 0, price_in_usd: 64000.5 }

export const positionV1 = { crypto_source_id: 'kraken', ...position, time_fetched: time }

export const positionV2 = {
  provider_id: 'kraken',
  connection_id: connectionId,
  asset_id: 'crypto:bitcoin',
  asset_name: 'Bitcoin',
  icon_url: '/icons/assets/crypto:bitcoin.svg',
  ...position,
  time_fetched: time,
  value_in_usd: '32640.255',
  spam: false,
  exact: { asset_holdings: '0.51', staked_holdings: '0', total_holdings: '0.51', price_in_usd: '64000.5' },
}
export const positionAtV2 = { ...positionV2, method: 'observed', grade: 'proved' }

const transactionMembers = {
  connection_id: connectionId,
  type: 'input_and_output',
  status: 'confirmed',
  timestamp: time,
  updated_at: '2026-03-02T10:12:00.000Z',
  categorization: { category: 'trade', method: 'venue', confidence: 1 },
  inputs: [
    {
      asset_symbol: 'BTC',
      asset_id: 'crypto:bitcoin',
      amount: '0.01',
      price_in_usd: '64000.5',
      value_in_usd: '640.005',
    },
  ],
  outputs: [{ asset_symbol: 'USD', asset_id: 'fiat:usd', amount: '640', price_in_usd: '1', value_in_usd: '640' }],
  fees: {
    total_in_usd: '1.02',
    items: [{ kind: 'trading', asset_symbol: 'USD', asset_id: 'fiat:usd', amount: '1.02', value_in_usd: '1.02' }],
  },
  network: null,
  hash: null,
  from_address: null,
  to_address: null,
  counterpart: null,
  spam: false,
  provider_reference: 'LGBRJU-5QKLX-SWVDGK',
  description: null,
  incomplete: [],
}

export const transactionId = 'txn_5f3c0e8a9b7d4c21a6e0f4b2d8c19e37'
export const removedTransactionId = 'txn_0b7d4c21a6e0f4b2d8c19e375f3c0e8a'
/** A statement in the form that a server signs; no server signed this one. */
export const changesCursor = 'Yq4v2J9m0c8Kp1Zt7sWxRVtdLFsiYyIsIjQyIl1d'
export const transactionV1 = { id: transactionId, crypto_source_id: 'kraken', ...transactionMembers }
export const transactionV2 = { id: transactionId, provider_id: 'kraken', ...transactionMembers }

const connected = {
  name: 'Kraken',
  display_label: 'Savings',
  connection_type: 'api_key',
  status: 'active',
  status_cause: null,
  status_message: null,
  added_at: '2026-03-01T08:00:00.000Z',
  last_synced_at: time,
  next_sync_at: '2026-03-02T11:11:12.345Z',
  history_from: '2019-06-11T00:00:00.000Z',
  transaction_count: 1240,
}
export const connectedV1 = { connection_id: connectionId, crypto_source_id: 'kraken', ...connected }
/** The account as a tenant sees it, without the verdict. */
export const accountV2 = { connection_id: connectionId, provider_id: 'kraken', ...connected }
export const connectedV2 = {
  ...accountV2,
  record_count: 2310,
  proof: { grade: 'proved', checked_at: time, proved_since: '2019-06-11T00:00:00.000Z' },
}

export const assetProof = {
  asset_id: 'crypto:btc',
  asset_symbol: 'BTC',
  grade: 'explained',
  opening: '0',
  posted: '0.51',
  computed: '0.51',
  observed: '0.5',
  observed_at: time,
  difference: '-0.01',
  causes: [
    {
      cause: 'pending',
      amount: '-0.01',
      start_time: '2026-03-02T09:00:00.000Z',
      end_time: time,
      message: 'The difference is what transactions that are not final yet have moved.',
    },
  ],
  first_bad: { start_time: '2026-03-02T09:00:00.000Z', end_time: time },
}
export const explanation = {
  id: transactionId,
  rule: 'venue: trade',
  connector: { provider_id: 'kraken', version: 1 },
  records: [
    {
      stream: 'ledger',
      partition: '',
      key: 'LGBRJU-SQZ4L-5HLS3C',
      occurred_at: time,
      fetched_at: time,
      body: '{"refid":"TGBRJU","type":"trade","asset":"XXBT","amount":"0.01","fee":"0","balance":"0.51"}',
    },
  ],
  prices: [{ asset_id: 'crypto:btc', price_in_usd: '64000.5', method: 'execution', source: 'kraken', at: time }],
  match: null,
  versions: [{ known_from: time, known_to: null, reason: 'current' }],
}
export const proofSummary = {
  grade: 'explained',
  checked_at: time,
  proved_since: '2019-06-11T00:00:00.000Z',
  assets_by_grade: { proved: 11, explained: 1, unprovable: 0, open: 0 },
}

const added = {
  added: true,
  redirect_url: null,
  connection_id: connectionId,
  status: 'syncing',
}
export const addedV1 = { crypto_source_id: 'kraken', ...added, errors: [] }
export const addedV2 = { provider_id: 'kraken', display_label: 'Savings', ...added }

export const removed = { removed: true, connection_ids: [connectionId], data_destroyed: true }

export const catalogued = {
  provider_id: 'kraken',
  name: 'Kraken',
  aliases: ['Kraken Pro'],
  kind: 'exchange',
  connection_types: ['api_key'],
  permission_check: 'full',
  credential_fields: [
    {
      name: 'api_key',
      label: 'API key',
      secret: false,
      required: true,
      hint: '56 characters',
      shape: { pattern: '[A-Za-z0-9+/]{56}', alphabet: 'A-Za-z0-9+/=', length_min: 56, length_max: 56 },
    },
    {
      name: 'secret_key',
      label: 'Private key',
      secret: true,
      required: true,
      hint: '88 characters, ending in ==',
      shape: { pattern: '[A-Za-z0-9+/]{86}==', alphabet: 'A-Za-z0-9+/=', length_min: 88, length_max: 88 },
    },
  ],
  required_permissions: ['Funds permissions - Query', 'Data - Query ledger entries'],
  guide: {
    page: 'https://www.kraken.com/u/security/api',
    menu: ['Settings', 'API', 'Create API key'],
    leave_empty: ['Withdraw', 'Create & modify orders'],
    shown_once: 'Private key',
  },
  wallet_apps: [],
  networks: [],
  features: { holdings: true, staking: true, transactions: true },
  known_limits: ['Kraken Futures is another account with keys of its own and is not read.'],
  status: 'available',
  website: 'https://www.kraken.com',
  icon_url: '/icons/providers/kraken.svg',
  brand: { color: '#7132f5', short_name: 'Kr' },
  popularity_rank: 3,
}

export const coverage = {
  stream: 'ledger',
  windows: [{ start_time: '2026-01-01T00:00:00.000Z', end_time: time }],
  holes: [
    {
      start_time: '2009-01-01T00:00:00.000Z',
      end_time: '2026-01-01T00:00:00.000Z',
      cause: 'sync_in_progress',
      message: 'This part of the history is still being read.',
    },
  ],
  provider_limit: null,
  remedy: null,
  partitions: { count: 1, incomplete: 1 },
}

export const refreshId = 'rfr_01jq8n9c4mf5dbr3e8w6x2vtya'

const refreshed = { refresh_id: refreshId, status: 'queued', requested_at: time }
const queued = { connection_id: connectionId, status: 'queued', cause: null }
export const refreshedV1 = { ...refreshed, connections: [{ ...queued, crypto_source_id: 'kraken' }] }
export const refreshedV2 = { ...refreshed, connections: [{ ...queued, provider_id: 'kraken' }] }

/** Cut short: a statement has some hundred characters more. */
export const claimStatement = 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImFzc2F5LWNsYWltK2p3dCJ9.eyJob2xkcyI6dHJ1ZX0.c2lnbmF0dXJl'

// The same small portfolio as a tenant sees it.
const userId = 'usr_01jq8n5v8qe3xr7t2m9k4hzwpc'

export const enterpriseUser = {
  user_id: userId,
  external_user_id: '4711',
  email: null,
  granted_at: '2026-03-01T08:00:00.000Z',
  grant_expires_at: '2027-03-01T08:00:00.000Z',
  scopes: ['assets:read', 'providers:read', 'transactions:read'],
  connection_count: 1,
}
export const account = { user_id: userId, ...accountV2 }
export const transactionOfUser = { ...transactionV2, user_id: userId }
