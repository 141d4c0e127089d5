/**
 * Where each table lies on a Citus cluster, and why. A user's rows are on one shard, found by `user_key`; small tables
 * that statements over user tables read are on every node; everything else stays on the coordinator.
 *
 * Two facts decide. Citus checks uniqueness inside a shard only, so that every unique key of a distributed table has to
 * contain `user_key`. And a transaction over several nodes becomes visible on one after the other, so that what has to
 * be added up exactly is kept on one node. A test holds this list against the schema.
 */
export type TablePlace = 'distributed' | 'reference' | 'coordinator'

export interface Placement {
  place: TablePlace
  why: string
}

const users = {
  codes: 'codes and tokens start with the user’s key, so that every look-up knows the shard',
  consent: 'what one user agreed to, and what was read of it',
  connections: 'one user’s links to providers, in one transaction with what is read through them',
  reading: 'how far one user’s accounts have been read, committed with the pages',
  ledger: 'one user’s records and what derives from them: nearly all of the space',
  notices: 'written in the transaction that changes the user; one job takes those of a tenant from all shards',
}

const everywhere = {
  tenancy: 'small; every statement that checks a token or a grant reads it on the user’s node',
  market: 'small; joined with holdings and postings on every node',
}

const coordinator = {
  foundation: 'one row, or one for each process',
  beforeUser: 'found by a secret, before the user is known',
  fleet: 'counted once for the whole fleet',
  tenantSums: 'added up in one transaction with the other sums of the tenant, which must never be seen half done',
  chain: 'one chain for each tenant, in order',
  prices: 'read and written by the one job that fetches prices',
  messages: 'delivered in order, tenant by tenant',
}

function place(where: TablePlace, why: string, names: string): [string, Placement][] {
  return names
    .trim()
    .split(/\s+/)
    .map((name) => [name, { place: where, why }])
}

export const layout: ReadonlyMap<string, Placement> = new Map([
  ...place('distributed', users.codes, 'authorization_codes token_families access_tokens'),
  ...place('distributed', users.consent, 'grants grant_accesses claim_subjects claims'),
  ...place('distributed', users.connections, 'user_ledgers connections key_checks pending_announcements'),
  ...place(
    'distributed',
    users.reading,
    `partition_cursors stream_bookmarks covered_windows connector_states sync_failures refreshes refresh_connections
     refresh_cool_downs`,
  ),
  ...place(
    'distributed',
    users.ledger,
    `raw_records group_aliases due_groups poison_groups transactions postings daily_changes removed_transactions
     transaction_versions replay_findings transaction_revisions transfer_legs transfer_matches awaited_prices holdings
     observed_balances observed_values due_proofs proofs running_balances`,
  ),
  ...place('distributed', users.notices, 'user_notices'),
  ...place('reference', everywhere.tenancy, 'tenants clients client_secrets users webhooks'),
  ...place('reference', everywhere.market, 'assets current_prices daily_prices'),
  ...place(
    'coordinator',
    coordinator.foundation,
    'schema_migrations installation sandbox_clock worker_heartbeats deadly_jobs',
  ),
  ...place(
    'coordinator',
    coordinator.beforeUser,
    `client_tokens client_login_keys spent_login_tokens connect_sessions sign_in_codes sign_in_events provider_states
     manage_sessions sandbox_mailbox`,
  ),
  ...place('coordinator', coordinator.fleet, 'budgets circuits key_nonces claim_keys tenant_fingerprint_keys'),
  ...place(
    'coordinator',
    coordinator.tenantSums,
    'feed_users tenant_changes tenant_feeds user_statistics tenant_statistics',
  ),
  ...place('coordinator', coordinator.chain, 'audit_entries audit_heads'),
  ...place('coordinator', coordinator.prices, 'daily_price_reads price_corrections'),
  ...place('coordinator', coordinator.messages, 'webhook_messages'),
])
