-- A user's link to one account at one provider. Writer: connections/store.ts.

create table connections (
  tenant_id text not null,
  user_id text not null,
  id text not null,
  provider_id text not null,
  connection_type text not null check (connection_type in ('api_key', 'wallet', 'oauth2')),
  display_label text,
  status text not null check (status in ('pending', 'syncing', 'active', 'degraded', 'needs_reauth', 'removed')),
  status_cause text,
  status_message text,
  -- The provider's account, hashed; null until the credentials were verified.
  account_fingerprint text,
  -- A compact JWE (see connections/seal.ts); null once destroyed.
  sealed_credentials text,
  -- Which API key this is, hashed with a server key: one lane and one row of nonces for each key, whoever uses it.
  key_lane text not null,
  -- Made in a connect session and visible only there until its code is redeemed; null when settled.
  session_id text,
  -- What verification answered, until the process that asked has read it.
  verdict jsonb,
  created_at timestamptz(3) not null default assay_now(),
  added_at timestamptz(3),
  last_synced_at timestamptz(3),
  next_sync_at timestamptz(3),
  history_from timestamptz(3),
  transaction_count bigint not null default 0,
  primary key (tenant_id, user_id, id)
);

-- One connection for each account: connecting it again finds the first.
create unique index connections_account on connections (tenant_id, user_id, provider_id, account_fingerprint)
  where account_fingerprint is not null and status <> 'removed';

create index connections_session on connections (session_id) where session_id is not null;

-- The last nonce handed out for a key (Kraken and others refuse one that does not grow).
create table key_nonces (
  key_lane text primary key,
  high_water bigint not null
);

-- For the ledger's pages: rows of these connections are not shown yet.
create view provisional_connections as
  select tenant_id, user_id, id from connections where session_id is not null;

-- For the ledger's pages: what a holding or transaction needs to know of its connection.
create view readable_connections as
  select tenant_id, user_id, id, provider_id, status, status_cause, status_message
  from connections
  where session_id is null and status not in ('pending', 'removed');
