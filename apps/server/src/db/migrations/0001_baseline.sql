-- The whole schema. docs/storage.md lists for each table its writer, growth, retention and what is sealed.
--
-- Keys. A user's rows start with `user_key`, a random 64-bit number that stands for tenant and user: small in every
-- index, and the one column to distribute by. `connection_key` counts a user's connections. `tenant_key` appears only
-- where a page over all users of a tenant needs an index. Text ids (`usr_…`, `con_…`) are stored where they are
-- declared, and inside rendered texts.
--
-- Time. Statements receive the present as a parameter (db/clock.ts): a distributed database cannot run a function of ours
-- on every node. Times are cut to milliseconds, so that order and ranges use what is shown.
--
-- There are no triggers, and foreign keys only between tables that live on one node.

-- ---------------------------------------------------------------------------------------------------------- foundation

-- One row, written at first start. A sandbox holds invented accounts and published secrets and must never serve real
-- users; the other way round, a sandbox clock would expire real grants. Live mode is a third kind, with neither mark shared.
create table installation (
  id boolean primary key default true check (id),
  sandbox boolean not null,
  live boolean not null default false check (not (sandbox and live)),
  created_at timestamptz(3) not null
);

-- How far the sandbox's time is ahead of the machine's. It only grows: what has expired stays expired.
create table sandbox_clock (
  id boolean primary key default true check (id),
  offset_ms bigint not null default 0 check (offset_ms >= 0)
);
insert into sandbox_clock default values;

-- A worker that has been silent for 30 seconds is presumed dead, and its jobs are freed.
create table worker_heartbeats (
  worker_id text primary key,
  beat_at timestamptz not null
);

-- Jobs that were running when their worker died. Most did not cause it; one that is there each time waits longer and
-- longer, so that the jobs of others are done in between.
create table deadly_jobs (
  job_key text primary key,
  deaths integer not null,
  died_at timestamptz not null
);

-- ------------------------------------------------------------------------------------------------- tenants and clients

create table tenants (
  tenant_key integer generated always as identity primary key,
  id text not null unique,
  name text not null,
  created_at timestamptz(3) not null
);

create table clients (
  id text primary key,
  tenant_key integer not null references tenants,
  tenant_id text not null,
  name text not null,
  redirect_uris text[] not null,
  -- Pages that may show the widget in a frame.
  embed_origins text[] not null,
  scopes text[] not null,
  s256_only boolean not null,
  require_code_verifier boolean not null,
  -- A login token alone is not enough for a user's first consent: the person also proves an email address.
  confirm_first_consent boolean not null default false,
  confirm_every_consent boolean not null default false,
  logo_uri text,
  homepage_uri text,
  created_at timestamptz(3) not null,
  disabled_at timestamptz(3)
);
create index clients_tenant on clients (tenant_key, id);

-- A client has several secrets while a rotation overlaps, and none if it is public (RFC 6749 §2.1).
create table client_secrets (
  client_id text not null references clients,
  secret_hash bytea not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  primary key (client_id, secret_hash)
);

-- Public keys with which a client signs login tokens.
create table client_login_keys (
  client_id text not null references clients,
  key_id text not null,
  jwk jsonb not null,
  created_at timestamptz(3) not null,
  primary key (client_id, key_id)
);

create table spent_login_tokens (
  client_id text not null references clients,
  jti_hash bytea not null,
  expires_at timestamptz(3) not null,
  primary key (client_id, jti_hash)
);
create index spent_login_tokens_end on spent_login_tokens (expires_at);

-- The directory of users: who they are, and their key. A user is known by the tenant's own id or by email, never by
-- both; the two are never merged.
create table users (
  user_key bigint primary key,
  tenant_key integer not null references tenants,
  tenant_id text not null,
  id text not null unique,
  external_user_id text,
  email text,
  -- Of a user known by the tenant's own id: the address that the person proved at the first consent that asked for it.
  -- It finds no user; later first consents ask for the same one.
  confirmed_email text,
  created_at timestamptz(3) not null,
  unique (tenant_key, external_user_id),
  unique (tenant_key, email),
  check (num_nonnulls(external_user_id, email) = 1)
);
create index users_tenant on users (tenant_key, id collate "C");

-- ------------------------------------------------------------------------------------------------------ authorization
-- Secrets, codes and tokens are stored as SHA-256 only. A user's codes and tokens start with the user's key
-- (oauth/token-values.ts), so every look-up names it.

-- Codes that were not redeemed yet. A redeemed one leaves this table and is remembered by the family it started.
create table authorization_codes (
  user_key bigint not null,
  code_hash bytea not null,
  tenant_key integer not null,
  tenant_id text not null,
  user_id text not null,
  client_id text not null,
  redirect_uri text not null,
  code_challenge text not null,
  code_challenge_method text not null check (code_challenge_method in ('S256', 'plain')),
  scopes text[] not null,
  session_id text,
  consent jsonb not null,
  expires_at timestamptz(3) not null,
  primary key (user_key, code_hash)
);
create index authorization_codes_end on authorization_codes (expires_at);

-- One grant for each user and client. Scopes, consent and end are those of the newest consent; older ones are with the
-- token families that still live by them.
create table grants (
  user_key bigint not null,
  client_id text not null,
  id text not null,
  tenant_key integer not null,
  tenant_id text not null,
  user_id text not null,
  scopes text[] not null,
  consent jsonb not null,
  granted_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  -- Upkeep has looked at the end of this grant and destroyed what it left behind; a new consent resets it.
  lapse_seen boolean not null default false,
  primary key (user_key, client_id),
  unique (user_key, id)
);
create index grants_tenant on grants (tenant_key, user_key);
-- Grants that end by themselves: upkeep asks which users have to be counted again or are abandoned.
create index grants_end on grants (expires_at) where revoked_at is null;
-- Grants that ended, by time, until upkeep has looked at them: it never reads the grants of past years again.
create index grants_lapsed on grants (least(revoked_at, expires_at)) where not lapse_seen;

-- Everything that grew out of one redeemed code (RFC 9700 §4.14.2). A spent code or refresh token is recognised by this
-- row for as long as it lives, without rows of its own: oauth/token-values.ts explains the handle.
create table token_families (
  user_key bigint not null,
  id uuid not null default gen_random_uuid(),
  client_id text not null,
  grant_id text not null,
  tenant_key integer not null,
  tenant_id text not null,
  user_id text not null,
  code_hash bytea not null,
  -- Those of the code: whoever presents it again proves with the verifier that it is theirs, or with the client's secret.
  code_challenge text not null,
  code_challenge_method text not null check (code_challenge_method in ('S256', 'plain')),
  scopes text[] not null,
  -- What the person agreed to for these scopes. A later consent replaces the grant's, and this family keeps its rights.
  consent jsonb not null,
  -- The part that all refresh tokens of the family share; null when it has none.
  refresh_handle_hash bytea,
  refresh_hash bytea,
  -- The last rotation: what is needed, besides the spent token itself, to repeat the answer for an honest retry.
  spent_nonce bytea,
  spent_at timestamptz(3),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revoked_for text check (revoked_for in ('request', 'grant_ended', 'superseded', 'code_replay', 'refresh_replay')),
  primary key (user_key, id),
  unique (user_key, code_hash),
  unique (user_key, refresh_handle_hash),
  check ((refresh_handle_hash is null) = (refresh_hash is null)),
  check ((revoked_at is null) = (revoked_for is null))
);
create index token_families_end on token_families (expires_at);
create index token_families_live on token_families (user_key, client_id) where revoked_at is null;
create index token_families_revoked on token_families (revoked_at) where revoked_at is not null;

-- A token whose family is missing or revoked is refused, so ending a family ends its tokens. Rows live 15 minutes.
create table access_tokens (
  user_key bigint not null,
  token_hash bytea not null,
  family_id uuid not null,
  grant_id text not null,
  client_id text not null,
  tenant_key integer not null,
  tenant_id text not null,
  user_id text not null,
  scopes text[] not null,
  issued_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (user_key, token_hash)
);
create index access_tokens_end on access_tokens (expires_at);

-- A tenant's own access (client_credentials). These tokens have no user.
create table client_tokens (
  token_hash bytea primary key,
  client_id text not null,
  tenant_key integer not null,
  tenant_id text not null,
  scopes text[] not null,
  issued_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index client_tokens_end on client_tokens (expires_at);

-- ------------------------------------------------------------------------------------------------------- connect flow

-- One run of the connect flow: the checked authorization request, how it is shown, and how far it has come.
create table connect_sessions (
  id text primary key,
  secret_hash bytea not null unique,
  tenant_key integer not null references tenants,
  tenant_id text not null,
  client_id text not null references clients,
  redirect_uri text not null,
  state text not null,
  code_challenge text not null,
  code_challenge_method text not null,
  scopes text[] not null,
  display text not null check (display in ('page', 'popup', 'iframe')),
  web_message_origin text,
  lang text,
  theme text,
  provider_id text,
  connection_id text,
  user_key bigint references users on delete cascade,
  user_id text,
  signed_in_by text check (signed_in_by in ('email_code', 'login_token', 'sandbox')),
  -- The user that a login token named, until the person has proved an email address (clients.confirm_first_consent).
  claimed_user_key bigint references users on delete cascade,
  claimed_user_id text,
  -- The key of the login token that named the user: an open session ends when this key is taken away.
  login_key_id text,
  -- What the person agreed to, as it was shown; it goes with the code into the grant.
  consent jsonb,
  outcome text check (outcome in ('finished', 'declined')),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  check (num_nonnulls(user_key, user_id, signed_in_by) in (0, 3)),
  foreign key (client_id, login_key_id) references client_login_keys on delete cascade,
  check ((outcome is null) = (ended_at is null))
);
create index connect_sessions_user on connect_sessions (user_key, client_id) where user_key is not null;
create index connect_sessions_login_key on connect_sessions (client_id, login_key_id) where login_key_id is not null;
create index connect_sessions_end on connect_sessions (expires_at);

-- The code on its way to a mailbox, for a connect or manage session. The code itself is derived from a server key and
-- the nonce, so neither this table nor the queue reveals it.
create table sign_in_codes (
  session_id text primary key,
  tenant_id text not null,
  client_id text not null references clients,
  purpose text not null check (purpose in ('connect', 'manage')),
  email text not null,
  nonce bytea not null,
  -- Names the server key that the code is derived from: a guess is compared with one code, also during a rotation.
  key_id bytea not null,
  tries_left integer not null,
  sent_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index sign_in_codes_end on sign_in_codes (expires_at);

-- Codes sent and wrong tries, by what they count against: a session, a network, a tenant, an address, or an address in a
-- network. Each is hashed with a server key.
create table sign_in_events (
  subject_hash bytea not null,
  kind text not null check (kind in ('code', 'wrong_try', 'signed_in')),
  at timestamptz(3) not null
);
create index sign_in_events_subject on sign_in_events (subject_hash, kind, at);
create index sign_in_events_at on sign_in_events (kind, at);

-- The `state` of a sign-in at a provider: 256 bits, spent once, bound to the session that began it and to the provider.
create table provider_states (
  state_hash bytea primary key,
  provider_id text not null,
  user_key bigint not null references users on delete cascade,
  session_id text references connect_sessions on delete cascade,
  grant_id text,
  -- Names the server key that the verifier is derived from: the sign-in may come back after a rotation.
  key_id bytea not null,
  display_label text,
  -- The connection whose sign-in this renews.
  repair_of text,
  -- Set when an application began: where the person is sent with a handle in place of the provider's own code.
  redirect_uri text,
  handle_hash bytea unique,
  -- The provider's code, until the application comes with the handle.
  sealed_code text,
  expires_at timestamptz(3) not null,
  check (num_nonnulls(session_id, grant_id) = 1),
  check ((redirect_uri is null) = (grant_id is null)),
  check ((handle_hash is null) = (sealed_code is null))
);
create index provider_states_end on provider_states (expires_at);

-- A user's own page: it ends after a quarter of an hour of silence, and after an hour at most.
create table manage_sessions (
  id text primary key,
  secret_hash bytea not null unique,
  tenant_key integer not null references tenants,
  tenant_id text not null,
  client_id text not null references clients,
  user_key bigint references users on delete cascade,
  user_id text,
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index manage_sessions_end on manage_sessions (expires_at);

-- Who read what and when: one row for each grant, endpoint and hour. Written in batches, some seconds late. What a tenant
-- read by its own access has the id of the client in the place of a grant.
create table grant_accesses (
  user_key bigint not null,
  grant_id text not null,
  hour timestamptz(3) not null,
  endpoint text not null,
  count bigint not null,
  last_at timestamptz(3) not null,
  primary key (user_key, grant_id, hour, endpoint)
);
create index grant_accesses_hour on grant_accesses (hour);

-- Public halves of the keys that sign claims. A statement is valid for a month, so its key stays as long after its last
-- use, also when the server key that it was derived from is gone.
create table claim_keys (
  kid text primary key,
  public_jwk jsonb not null,
  used_at timestamptz(3) not null
);

-- What a user is called in the claims of one grant: random, so that two verifiers cannot compare.
create table claim_subjects (
  user_key bigint not null references users on delete cascade,
  grant_id text not null,
  subject text not null,
  primary key (user_key, grant_id)
);

-- What an application learned by claims. Three different ones a day are the limit, and the user's own page lists them.
create table claims (
  user_key bigint not null references users on delete cascade,
  grant_id text not null,
  -- `jti` of the statement.
  id text not null,
  claim text not null check (claim in ('value_at_least', 'holds_at_least')),
  asset_id text collate "C",
  amount numeric not null,
  -- The moment as it was asked for; null for the present.
  asked_for timestamptz(3),
  as_of timestamptz(3) not null,
  -- Null when the data was too weak for an answer. The question counts all the same.
  holds boolean,
  grade text not null,
  audience text not null,
  made_at timestamptz(3) not null,
  primary key (user_key, grant_id, id)
);

-- Sandbox mode only: the mails that would have been sent. `session_id` shows a tester with two windows the right code.
create table sandbox_mailbox (
  id bigint generated always as identity primary key,
  session_id text not null,
  recipient text not null,
  subject text not null,
  text text not null,
  sent_at timestamptz(3) not null
);
create index sandbox_mailbox_session on sandbox_mailbox (session_id, id);

-- -------------------------------------------------------------------------------------------------------- connections

-- One row for each user who ever had a connection, made with the first. Everything that writes a user's transactions
-- updates it, and so waits for others that do the same: its lock puts the commits of one user in order.
create table user_ledgers (
  user_key bigint primary key,
  connection_keys integer not null default 0,
  -- The number of the newest change: the time in milliseconds times 2^20, or the one before plus one if that is larger.
  -- So numbers grow with every commit, and a moment is a range of numbers (ledger/changes-store.ts).
  change_seq bigint not null default 0,
  -- When an application last read this user's data, within some minutes: it decides how often connections are read.
  read_at timestamptz(3)
);

-- A user's link to one account at one provider.
create table connections (
  user_key bigint not null,
  connection_key integer not null,
  id text not null collate "C",
  tenant_key integer not null,
  tenant_id text not null,
  user_id text not null,
  provider_id text not null,
  connection_type text not null check (connection_type in ('api_key', 'wallet', 'oauth2')),
  display_label text,
  status text not null check (status in ('pending', 'syncing', 'active', 'degraded', 'needs_reauth', 'removed')),
  status_cause text,
  status_message text,
  -- The provider's account, hashed with a key of the tenant; null until the credentials were verified.
  account_fingerprint text,
  -- What it is the hash of: the account's own number, or only the key, where the provider does not tell the number.
  fingerprint_of text check (fingerprint_of in ('account', 'key')),
  -- A compact JWE (connections/credentials/seal.ts); null once destroyed, and for a wallet that is known by its address.
  sealed_credentials text,
  -- A wallet's address in clear, because transactions show it anyway; and the networks that the person chose.
  address text,
  networks text[],
  -- Which API key this is, hashed with a server key: one lane and one series of nonces for each key.
  key_lane text not null,
  -- Until when the provider said that the key is valid. A provider that no longer knows a key rarely says why; this
  -- tells an expired key from a deleted one.
  key_expires_at timestamptz(3),
  -- When the key's rights were last read: once a day is enough.
  rights_checked_at timestamptz(3),
  -- Made in a connect session and visible only there until its code is redeemed; null once settled.
  session_id text,
  -- The connection whose place these credentials are to take.
  repair_of text,
  -- The verdict of the verification, until the process that asked has read it.
  verdict jsonb,
  created_at timestamptz(3) not null,
  added_at timestamptz(3),
  -- When applications began to see it, and at which number of the user's changes; null while they do not.
  shown_at timestamptz(3),
  shown_seq bigint,
  -- At which number a removed connection that was shown disappeared; null for one that was never shown.
  hidden_seq bigint,
  last_synced_at timestamptz(3),
  -- When the next job reads it. Null while it is not read: without a live grant, or until its owner acts.
  next_sync_at timestamptz(3),
  -- When balances were last read; holdings themselves are written only when they change.
  balances_at timestamptz(3),
  -- The last attempt to read the balances failed. Reading the history alone does not take that report back.
  balances_failed boolean not null default false,
  -- The newest reading that is never judged: it lacks a part, or may contain borrowed coins.
  balances_doubted_at timestamptz(3),
  -- The newest reading whose balances may still have what open contracts have lost.
  losses_open_at timestamptz(3),
  -- When balances were first read: an asset that was not there then held nothing.
  balances_since timestamptz(3),
  -- The verdict on the balances (proof/): the worst grade of its assets, when it was reached, which reading of the
  -- balances it judged, and since when everything adds up. `complete_since` is the same time where no difference can
  -- mean that a record is missing. `unproved_at` is the reading to judge next, once the history has been read up to it;
  -- `proof_walked_at` is how far running balances were checked.
  proof_grade text check (proof_grade in ('proved', 'explained', 'unprovable', 'open')),
  proof_checked_at timestamptz(3),
  proof_balances_at timestamptz(3),
  proved_since timestamptz(3),
  complete_since timestamptz(3),
  unproved_at timestamptz(3),
  proof_walked_at timestamptz(3),
  history_from timestamptz(3),
  record_count bigint not null default 0,
  transaction_count bigint not null default 0,
  -- `transaction_count` when a run last ended: another number at the end of the next run is news for webhooks.
  synced_count bigint not null default 0,
  primary key (user_key, connection_key),
  unique (user_key, id)
);
-- One connection for each account: connecting it again finds the first.
create unique index connections_account on connections (user_key, provider_id, account_fingerprint)
  where account_fingerprint is not null and status <> 'removed';
create index connections_session on connections (session_id) where session_id is not null;
create index connections_pending on connections (created_at) where status = 'pending';
create index connections_removed on connections (user_key, connection_key) where status = 'removed';
create index connections_due on connections (next_sync_at)
  where session_id is null and status in ('syncing', 'active', 'degraded');
-- What is wrong with the connections of the thirty users of a tenant's page: nearly always nothing.
create index connections_unsettled on connections (user_key)
  where session_id is null and status in ('syncing', 'degraded', 'needs_reauth');
-- A tenant's list of connections, and whose a connection is.
create index connections_tenant on connections (tenant_key, added_at, id);
create index connections_by_id on connections (tenant_key, id);

-- Accounts are hashed with a key of their tenant's own, so that a dump does not tell that two tenants know one account. Only
-- workers can open it, and a rotation of any other key leaves the hashes as they are.
create table tenant_fingerprint_keys (
  tenant_key integer primary key,
  sealed_key text not null
);

-- Checks for which a provider was called, by user: who asks for many that are refused, or that leave no further
-- connection, has to wait. Kept for an hour; then what is kept of the key goes too, unless the user reads with it. A
-- row does not name the connection, which is gone.
create table key_checks (
  -- 0 when the user was deleted since.
  user_key bigint not null,
  key_lane text not null,
  refused boolean not null,
  at timestamptz(3) not null
);
create index key_checks_user on key_checks (user_key, at);
create index key_checks_at on key_checks (at);

-- The last nonce handed out for a key (Kraken and others refuse one that does not grow).
create table key_nonces (
  key_lane text primary key,
  high_water bigint not null
);

-- ------------------------------------------------------------------------------------------------------------ reading

-- The lists of an account that are read, of one kind (`stream`) each: symbols, wallets, addresses. A stream that has only
-- one list needs a row only for its cursor and its records; its partition is ''.
create table partition_cursors (
  user_key bigint not null,
  connection_key integer not null,
  stream text not null,
  partition text not null,
  -- The provider's lasting position (an id to read from, a block height), kept after a window closes.
  cursor text,
  -- When the connector first named the list; null once it no longer does. What was read of it stays.
  listed_at timestamptz(3),
  -- Since when the provider no longer knows the list; null while it does.
  gone_at timestamptz(3),
  -- How many records of it are kept; a large one counts as several. To count them would take minutes at the limit.
  record_count bigint not null default 0,
  primary key (user_key, connection_key, stream, partition)
);

-- Windows that are being read, and the place in each. A bookmark moves in the same transaction as the rows. Edges are
-- epoch milliseconds or block heights: the stream says which. Half open: [window_start, window_end).
create table stream_bookmarks (
  user_key bigint not null,
  connection_key integer not null,
  stream text not null,
  partition text not null,
  window_start bigint not null,
  window_end bigint not null,
  -- The provider's own place inside the window.
  position text not null,
  -- How many records were shown on the way there since the last new one; an empty page counts for a fraction. Pages
  -- that repeat show more than the user has.
  shown_again double precision not null,
  primary key (user_key, connection_key, stream, partition, window_start)
);

-- Windows that were read to their end. Windows that touch are one row.
create table covered_windows (
  user_key bigint not null,
  connection_key integer not null,
  stream text not null,
  partition text not null,
  window_start bigint not null,
  window_end bigint not null,
  -- The times of its edges, for windows in blocks.
  start_at timestamptz(3),
  end_at timestamptz(3),
  primary key (user_key, connection_key, stream, partition, window_start)
);

-- What a connector keeps for itself (JSON, at most 1 MiB, never a secret), committed together with a page.
create table connector_states (
  user_key bigint not null,
  connection_key integer not null,
  state text not null,
  -- Another number with every change: a worker that was overtaken does not overwrite a newer state.
  version bigint not null,
  primary key (user_key, connection_key)
);

-- How often in a row reading failed; deleted once a run ends well.
create table sync_failures (
  user_key bigint not null,
  connection_key integer not null,
  failures integer not null,
  primary key (user_key, connection_key)
);

-- A token bucket for each key or egress address, shared by the whole fleet.
create table budgets (
  bucket text primary key,
  tokens double precision not null,
  -- Which of the provider's tiers we believed in at `blocked_until`: the next one after each limit error. Every hour
  -- since then counts as one tier back.
  tier smallint not null default 0,
  refilled_at timestamptz(3) not null,
  -- The provider told us to stay away until then. Stays after that time; null before the first limit error.
  blocked_until timestamptz(3),
  -- In a bucket that all users share: whose key was refused last, and when. One user's key does not slow the others.
  limited_user bigint,
  limited_at timestamptz(3)
);

-- A provider that does not answer, or a part of one that has hosts of its own (`evm/base node`): one row for the whole
-- fleet while it fails.
create table circuits (
  provider_id text primary key,
  -- In a row, over all its connections; any answer ends the row.
  failures integer not null,
  -- The keys of the users whose connections met failures, no more than it takes to open: one user's accounts must not
  -- speak for the others.
  failing_users bigint[] not null,
  failing_since timestamptz(3) not null,
  -- Null until enough has failed. From then on only one job asks, at `probe_at`.
  opened_at timestamptz(3),
  probes integer not null default 0,
  probe_at timestamptz(3)
);

-- Reading again on request.
create table refreshes (
  user_key bigint not null,
  id text not null,
  kind text not null check (kind in ('assets', 'transactions')),
  requested_at timestamptz(3) not null,
  primary key (user_key, id)
);
create index refreshes_age on refreshes (requested_at);

-- The state of each connection that a refresh asked for.
create table refresh_connections (
  user_key bigint not null,
  refresh_id text not null,
  connection_key integer not null,
  connection_id text not null,
  provider_id text not null,
  kind text not null,
  status text not null check (status in ('queued', 'running', 'succeeded', 'failed', 'cooling_down')),
  cause text,
  primary key (user_key, refresh_id, connection_key),
  foreign key (user_key, refresh_id) references refreshes on delete cascade
);
create index refresh_connections_of on refresh_connections (user_key, connection_key);

-- When a refresh of this connection and kind was last accepted.
create table refresh_cool_downs (
  user_key bigint not null,
  connection_key integer not null,
  kind text not null,
  accepted_at timestamptz(3) not null,
  primary key (user_key, connection_key, kind)
);

-- ------------------------------------------------------------------------------------------------------ asset registry

-- Every asset that was ever seen. Known ones come from core's registry, with its data; one that only its provider knows
-- is added when it is first met. Small, and the same on every node.
create table assets (
  asset_key integer generated always as identity primary key,
  id text not null unique collate "C",
  kind text not null check (kind in ('crypto', 'fiat', 'share', 'nft')),
  symbol text not null collate "C",
  name text not null,
  coingecko_id text
);
create index assets_symbol on assets (symbol);

-- ------------------------------------------------------------------------------------------------------------- ledger

create type transaction_type as enum
  ('input_only', 'send', 'receive', 'output_only', 'input_and_output', 'uncategorized');
create type transaction_category as enum
  ('trade', 'buy', 'sell', 'convert', 'deposit', 'withdrawal', 'transfer', 'staking_reward', 'staking_lock',
   'staking_unlock', 'interest', 'airdrop', 'mining', 'fork', 'gift', 'payment', 'fee', 'other');

-- The provider's own records, digits untouched. Everything served is derived from them.
create table raw_records (
  user_key bigint not null,
  connection_key integer not null,
  pending boolean not null,
  occurred_at timestamptz(3) not null,
  fetched_at timestamptz(3) not null,
  stream text not null,
  -- The list it was read from; '' for a stream that has only one.
  partition text not null,
  -- The provider's own id of the record: reading a page twice changes nothing.
  source_key text not null,
  -- Its group: records that their link keys lead to one another share it. Deriving splits a group into stories by time.
  group_key text not null,
  body text not null,
  -- Why it could not be parsed.
  unreadable text,
  -- The first complete read that did not show it; null while every read does.
  missing_since timestamptz(3),
  -- The provider no longer has it: it stays here and is left out when deriving.
  retired_at timestamptz(3),
  primary key (user_key, connection_key, stream, partition, source_key)
);
create index raw_records_group on raw_records (user_key, connection_key, group_key);
-- A complete read of a window asks which of the window's records it did not show. Newest first, because a first read
-- arrives in that order: rows that are always added at the same end of a range leave its pages full, and not half full.
create index raw_records_time on raw_records (user_key, connection_key, occurred_at desc);
-- The few that may still change: the next read of their list begins at the oldest.
create index raw_records_pending on raw_records (user_key, connection_key, stream, partition, occurred_at)
  where pending and retired_at is null;
-- The few that were corrected: a proof looks for them in the time in which a difference may have appeared, which can be
-- the whole history.
create index raw_records_corrected on raw_records (user_key, connection_key, occurred_at)
  where retired_at is not null or missing_since is not null;
-- As with transactions: 5,000 rows of a user, by the plans.
alter table raw_records alter column user_key set (n_distinct = -0.0002);
alter table raw_records alter column user_key set statistics 1;

-- Records with several link keys: the group that a key leads to. A key that is not here leads to the group of its own
-- name, so connections whose records have one link key each have no rows.
create table group_aliases (
  user_key bigint not null,
  connection_key integer not null,
  link_key text not null,
  group_key text not null,
  primary key (user_key, connection_key, link_key)
);
create index group_aliases_group on group_aliases (user_key, connection_key, group_key);
-- As with transactions: 5,000 rows of a user, by the plans.
alter table group_aliases alter column user_key set (n_distinct = -0.0002);
alter table group_aliases alter column user_key set statistics 1;

-- Groups to be derived: new or changed since they last were. Small, and empty when a run has ended.
create table due_groups (
  user_key bigint not null,
  connection_key integer not null,
  group_key text not null,
  -- The list of one of its records: the only one, where groups do not cross lists.
  stream text not null,
  partition text not null,
  -- The newest record's time: groups are derived in the order of pages, so that a page's rows are neighbours on disk.
  occurred_at timestamptz(3) not null,
  -- The time of the oldest record that is new: while a history is read, groups are derived that are newer than the rest.
  oldest_at timestamptz(3) not null,
  -- A random number, another one with every change: a group that changes while it is derived keeps its row.
  mark bigint not null,
  primary key (user_key, connection_key, group_key)
);
create index due_groups_newest on due_groups (user_key, connection_key, occurred_at, group_key);

-- Groups that could not be derived, and why. The rest of the history does not wait for them.
create table poison_groups (
  user_key bigint not null,
  connection_key integer not null,
  group_key text not null,
  reason text not null,
  seen_at timestamptz(3) not null,
  primary key (user_key, connection_key, group_key)
);

create table transactions (
  user_key bigint not null,
  -- `txn_` and these 32 hexadecimal digits are the id on the wire.
  id uuid not null,
  occurred_at timestamptz(3) not null,
  change_seq bigint not null,
  updated_at timestamptz(3) not null,
  connection_key integer not null,
  tenant_key integer not null,
  type transaction_type not null,
  category transaction_category not null,
  pending boolean not null,
  -- Which of its postings lie in staking, a bit for each ordinal: what postings say and the document does not, so that
  -- a transaction derived again is known to be unchanged without reading them.
  staked_legs integer not null,
  provider_id text not null,
  group_key text not null,
  -- The members after the head, rendered once. The head (ids, `updated_at`) is written by the statement that serves it.
  document text not null,
  primary key (user_key, id)
);
-- The page: one range scan, newest first.
create index transactions_page on transactions (user_key, occurred_at desc, id desc);
create index transactions_group on transactions (user_key, connection_key, group_key);
-- The change feed, and `updated_since`: of each connection what changed after a number. By connection, because a shown
-- connection and a provisional one have numbers in between each other, and only one of them is read.
create index transactions_change on transactions (user_key, connection_key, change_seq);
-- Filters that hit few rows. A kind is what rows of one connection share of what can be filtered by; a user has some tens
-- of kinds, and within each the rows are in page order. portfolio/pages-query-store.ts says how they are used.
create index transactions_kind on transactions
  (user_key, connection_key, category, type, occurred_at desc, id desc);
-- The few that are pending have no postings, so a filter by asset looks at them one by one.
create index transactions_pending on transactions (user_key, occurred_at desc, id desc) where pending;
-- The same two over all users of a tenant, where a kind belongs to a provider.
create index transactions_tenant_page on transactions (tenant_key, occurred_at desc, id desc);
create index transactions_tenant_kind on transactions
  (tenant_key, provider_id, category, type, occurred_at desc, id desc);
-- A category nearly always implies its type, and a connection its provider. Taken for independent, a kind of ten thousand
-- rows was planned as some hundred, and read whole for the first thirty.
create statistics transactions_kinds (dependencies) on connection_key, provider_id, category, type from transactions;
-- Plans are made for any user, so by the average. Where most users have a few rows and one has a hundred thousand, plans
-- for a few rows read all of his for each page. So every user is planned as one of 5,000 rows (a share of the table).
alter table transactions alter column user_key set (n_distinct = -0.0002);
-- And not by a list of the largest users: where it has all that the statistics know, one who came since is planned as
-- having no rows, so any index that begins with the user looks as good, and was read whole for each kind or position.
alter table transactions alter column user_key set statistics 1;

-- What each transaction moves, asset by asset. The change of a balance is the sum of `amount`: inputs are positive,
-- outputs and fees negative. A pending transaction has none.
create table postings (
  user_key bigint not null,
  occurred_at timestamptz(3) not null,
  transaction_id uuid not null,
  asset_key integer not null,
  connection_key integer not null,
  -- Its place in the transaction: inputs, then outputs, then fees.
  ordinal smallint not null,
  staked boolean not null,
  side "char" not null check (side in ('i', 'o', 'f')),
  -- Whether the transaction is spam: then daily_changes leaves it out.
  spam boolean not null,
  amount numeric not null
);
-- An asset's postings, newest first, for lists that are filtered by it. There is no unique key: postings are only written
-- with their transaction, which has one, and an index that tells two postings of one transaction apart is a fifth of
-- everything that is stored of a trade.
create index postings_asset on postings (user_key, asset_key, occurred_at desc, transaction_id desc);
create index postings_transaction on postings (user_key, transaction_id);
-- The few that daily_changes leaves out: a proof adds them, because the balance does.
create index postings_spam on postings (user_key, connection_key, asset_key, occurred_at) where spam;
-- Those in staking: a position at an earlier moment is told apart by them, because daily_changes sums up both places.
create index postings_staked on postings (user_key, connection_key, asset_key, occurred_at) where staked;
-- As with transactions: 10,000 rows of a user, by the plans.
alter table postings alter column user_key set (n_distinct = -0.0001);
alter table postings alter column user_key set statistics 1;

-- The sum of a day's postings, kept with them, so that a year of values costs a year of days. Spam is left out.
create table daily_changes (
  user_key bigint not null,
  connection_key integer not null,
  asset_key integer not null,
  day date not null,
  amount numeric not null,
  primary key (user_key, connection_key, asset_key, day)
);

-- Ids that were served once and are gone, for 90 days.
create table removed_transactions (
  user_key bigint not null,
  id uuid not null,
  tenant_key integer not null,
  connection_key integer not null,
  -- The place in the feed. Transactions that disappear with their connection share its number and keep their own order.
  change_seq bigint not null,
  former_seq bigint not null default 0,
  removed_at timestamptz(3) not null,
  primary key (user_key, id)
);
create index removed_transactions_change on removed_transactions (user_key, change_seq, former_seq);
create index removed_transactions_tenant on removed_transactions (tenant_key, removed_at, id);
create index removed_transactions_end on removed_transactions (removed_at);

-- Former texts of transactions: what was known from when to when, and why it is not any more. A row is written only when
-- something changes, by the statement that changes it; reading transactions never comes here.
create table transaction_versions (
  user_key bigint not null,
  connection_key integer not null,
  id uuid not null,
  known_from timestamptz(3) not null,
  known_to timestamptz(3) not null,
  -- `derived`: from other records or by other rules; `priced`, `matched`; `removed`: its records no longer make it.
  reason text not null check (reason in ('derived', 'priced', 'matched', 'removed')),
  occurred_at timestamptz(3) not null,
  document text not null,
  primary key (user_key, connection_key, id, known_from, known_to)
);
create index transaction_versions_end on transaction_versions (known_to);
-- What was known at a moment, in the order of pages.
create index transaction_versions_page on transaction_versions (user_key, occurred_at desc, id desc);

-- What a replay that only looked would change, until it is applied or discarded: one row for each transaction, of the last
-- replay of its connection.
create table replay_findings (
  user_key bigint not null,
  connection_key integer not null,
  -- Of the transaction that would be added, changed or removed.
  id uuid not null,
  replay_id uuid not null,
  found_at timestamptz(3) not null,
  group_key text not null,
  change text not null check (change in ('added', 'changed', 'removed')),
  -- Documents; null where there is none.
  before text,
  after text,
  reason text not null,
  primary key (user_key, connection_key, id)
);

-- How often the transaction of a provider's key got a new id because its time was corrected after it was confirmed.
-- Keys that never did are not here. Without it, deriving again would bring retired ids back.
create table transaction_revisions (
  user_key bigint not null,
  connection_key integer not null,
  natural_key text not null,
  revision integer not null,
  primary key (user_key, connection_key, natural_key)
);

-- What left or reached a connection, of one asset: one side of what may be an own transfer.
create table transfer_legs (
  user_key bigint not null,
  transaction_id uuid not null,
  connection_key integer not null,
  direction text not null check (direction in ('out', 'in')),
  asset_key integer not null,
  amount numeric not null,
  -- What was paid beside it in the same asset.
  fee numeric not null,
  -- Both as core's matcher writes them.
  hash text,
  to_address text,
  occurred_at timestamptz(3) not null,
  -- What the transaction is called while it has no counterpart.
  category text not null,
  method text not null,
  confidence double precision not null,
  -- Something near it changed: it is to be judged again.
  due boolean not null default true,
  primary key (user_key, transaction_id)
);
create index transfer_legs_near on transfer_legs (user_key, asset_key, occurred_at);
create index transfer_legs_hash on transfer_legs (user_key, hash) where hash is not null;
create index transfer_legs_connection on transfer_legs (user_key, connection_key);
create index transfer_legs_due on transfer_legs (user_key, occurred_at, transaction_id) where due;
-- As with transactions: 5,000 rows of a user, by the plans.
alter table transfer_legs alter column user_key set (n_distinct = -0.0002);
alter table transfer_legs alter column user_key set statistics 1;

-- Each side is matched at most once.
create table transfer_matches (
  user_key bigint not null,
  outgoing_id uuid not null,
  incoming_id uuid not null,
  confidence double precision not null,
  primary key (user_key, outgoing_id),
  unique (user_key, incoming_id)
);

-- Transactions written without a price that may still come, or with a provisional one.
create table awaited_prices (
  user_key bigint not null,
  transaction_id uuid not null,
  connection_key integer not null,
  asset_key integer not null,
  day date not null,
  -- A provisional price is in the text.
  priced boolean not null,
  primary key (user_key, transaction_id, asset_key)
);
create index awaited_prices_day on awaited_prices (asset_key, day);

-- What each connection holds. A row is written only when it changes; `connections.balances_at` says when it was read.
create table holdings (
  user_key bigint not null,
  connection_key integer not null,
  asset_key integer not null,
  liquid numeric not null,
  staked numeric not null,
  spam boolean not null default false,
  changed_at timestamptz(3) not null,
  primary key (user_key, connection_key, asset_key)
);

-- What a provider said that a connection holds, one row for each change: it was first read at `observed_at` and last read
-- at `seen_until`. The newest row has no end: `connections.balances_at` is its end. Zeros say that the asset is gone.
-- Rows of a balance that changes often are thinned out (ledger/balances-store.ts).
create table observed_balances (
  user_key bigint not null,
  connection_key integer not null,
  asset_key integer not null,
  observed_at timestamptz(3) not null,
  seen_until timestamptz(3),
  liquid numeric not null,
  staked numeric not null,
  primary key (user_key, connection_key, asset_key, observed_at)
);

-- Assets whose postings or balances changed since they were last judged. Small, and empty between runs that find nothing.
create table due_proofs (
  user_key bigint not null,
  connection_key integer not null,
  asset_key integer not null,
  -- The earliest moment that changed: running balances are checked again from the start when it was checked before.
  since timestamptz(3) not null,
  -- Counts the changes: an asset that changes while it is judged stays due.
  marks bigint not null default 1,
  primary key (user_key, connection_key, asset_key)
);

-- The newest verdict on each asset: opening + posted = observed, or the difference and its causes. Written only when it
-- changes. The moment that it is about is `connections.proof_balances_at`.
create table proofs (
  user_key bigint not null,
  connection_key integer not null,
  asset_key integer not null,
  grade text not null check (grade in ('proved', 'explained', 'unprovable', 'open')),
  spam boolean not null,
  -- It does not add up, and it is an unknown token that strangers sent: it does not count for the connection's grade.
  uninvited boolean not null,
  opening numeric not null,
  posted numeric not null,
  -- Null when there is no observation that can be judged.
  observed numeric,
  difference numeric,
  -- The difference before records close to the reading were left out or added; null where that was not needed.
  in_flight numeric,
  causes jsonb not null,
  first_bad_start timestamptz(3),
  first_bad_end timestamptz(3),
  -- When this verdict was reached.
  changed_at timestamptz(3) not null,
  primary key (user_key, connection_key, asset_key)
);

-- Where a provider's records carry a running balance: what each of its wallets came to at `connections.proof_walked_at`,
-- and the first place where a record does not follow from the one before.
create table running_balances (
  user_key bigint not null,
  connection_key integer not null,
  wallet text not null,
  asset_id text not null,
  last_at timestamptz(3) not null,
  balance numeric not null,
  break_start timestamptz(3),
  break_end timestamptz(3),
  -- What the record at the break has too much or too little.
  break_amount numeric,
  primary key (user_key, connection_key, wallet)
);

-- What a connection was worth on a day, as it was observed: the last reading of the day stands. By connection, so that
-- its removal takes its part of the past with it.
create table observed_values (
  user_key bigint not null,
  connection_key integer not null,
  day date not null,
  value_in_usd numeric not null,
  -- Positions without a price, which are not in the value.
  unpriced integer not null,
  primary key (user_key, connection_key, day)
);

-- ------------------------------------------------------------------------------------------------------------- prices
-- The same for all tenants, and small: one row for each asset and day. Asset ids have the collation of `assets.id`: with
-- another one a join by id cannot use these keys (a year of values then took 158,000 index searches instead of 8,000).

-- method: `market_chart` (the source's own price of that day), `cross_rate` (a currency, by two prices of one coin),
-- `correction` (set by the operator). Until a day has settled at the source its price is provisional; only such a
-- price may be replaced by a source. `known_at` is when we asked.
create table daily_prices (
  asset_id text not null collate "C",
  day date not null,
  price_in_usd numeric not null,
  source text not null,
  method text not null,
  known_at timestamptz(3) not null,
  primary key (asset_id, day)
);

-- One row for each asset that is priced by the day: what is wanted of it, which unbroken run of days the source answered,
-- and when to try again. Days before the run that the source refused (they may need a paid plan) are asked for again at
-- `older_retry_at`; they do not count as read. `none_since`: since then all answers were without any price.
create table daily_price_reads (
  asset_id text primary key collate "C",
  wanted_from date not null,
  wanted_to date not null,
  first_day date,
  last_day date,
  read_at timestamptz(3),
  failures integer not null default 0,
  retry_at timestamptz(3),
  older_retry_at timestamptz(3),
  none_since timestamptz(3),
  check (num_nonnulls(first_day, last_day, read_at) in (0, 3))
);

-- Days whose price an operator has corrected, until the transactions of that day are priced again.
create table price_corrections (
  asset_id text not null collate "C",
  day date not null,
  primary key (asset_id, day)
);

-- method: `simple_price`, `cross_rate`, or `definition` (a dollar is one). No price: the source was asked and has none.
create table current_prices (
  asset_id text primary key collate "C",
  price_in_usd numeric,
  source text not null,
  method text not null,
  fetched_at timestamptz(3) not null
);

-- ----------------------------------------------------------------------------------- what a tenant sees of its users

-- Users to be looked at again, for the tenant's feed and statistics: stores write a row in the transaction that changes
-- a user's grants, connections, holdings or transactions. Append only, so that writers never wait for each other; one
-- job per tenant takes the rows.
create table user_notices (
  user_key bigint not null,
  notice bigint generated always as identity,
  tenant_key integer not null,
  primary key (user_key, notice)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index user_notices_tenant on user_notices (tenant_key, notice);

-- Users whose transactions a live grant covers, and how far the tenant's feed has numbered each of them.
create table feed_users (
  tenant_key integer not null,
  user_key bigint not null,
  user_id text not null,
  -- The user's change number up to which the feed has announced changes.
  numbered_seq bigint not null,
  -- When the first of the grants ends by itself, and the user has to be looked at again.
  look_again_at timestamptz(3),
  primary key (tenant_key, user_key)
);
create index feed_users_again on feed_users (tenant_key, look_again_at) where look_again_at is not null;

-- The tenant's feed. A row announces that a user's changes after `from_seq` up to `to_seq` are there, or that the user
-- left (`removed`); the changes themselves are read from the user's own rows.
create table tenant_changes (
  tenant_key integer not null,
  seq bigint not null,
  user_key bigint not null,
  user_id text not null,
  removed boolean not null,
  from_seq bigint not null,
  to_seq bigint not null,
  numbered_at timestamptz(3) not null,
  primary key (tenant_key, seq)
);
create index tenant_changes_end on tenant_changes (numbered_at);
-- When a user leaves, the announcements before that are deleted.
create index tenant_changes_user on tenant_changes (tenant_key, user_key);

create table tenant_feeds (
  tenant_key integer primary key,
  seq bigint not null,
  -- The oldest number from which a reader can go on; older cursors have expired.
  first_seq bigint not null
);

-- What a user counts for now, by measure: 'user', 'account_user' and 'position_user' (once, subject empty), 'provider'
-- (subject provider_id; amount: accounts), 'asset' (subject asset_id; label: its symbol; amount: positions).
create table user_statistics (
  tenant_key integer not null,
  user_key bigint not null,
  measure text not null check (measure in ('user', 'account_user', 'position_user', 'provider', 'asset')),
  subject text not null,
  label text not null collate "C",
  amount bigint not null,
  quantity numeric not null,
  -- Of 'user': when the first of the grants ends by itself, and the user has to be counted again.
  recount_at timestamptz(3),
  primary key (user_key, measure, subject)
);
create index user_statistics_sum on user_statistics (tenant_key, measure, subject);
create index user_statistics_recount on user_statistics (tenant_key, recount_at) where recount_at is not null;

-- The sums of the above. Quantities, not money: prices are applied when they are read.
create table tenant_statistics (
  tenant_key integer not null,
  measure text not null,
  subject text not null,
  label text not null collate "C",
  users bigint not null,
  amount bigint not null,
  quantity numeric not null,
  primary key (tenant_key, measure, subject, label)
);

-- ----------------------------------------------------------------------------------------------------------- webhooks

create table webhooks (
  tenant_id text primary key,
  url text not null,
  -- The signing secret, sealed (sealing.ts).
  sealed_secret text not null,
  created_at timestamptz(3) not null,
  -- Attempts in a row that failed, whichever message they carried.
  failures integer not null default 0,
  -- Nothing is sent before then.
  paused_until timestamptz(3),
  -- The receiver is back, or has a new address: messages that were put aside are taken back, some at a time.
  recovering boolean not null default false
);

-- Written in the transaction that changes what it announces, and delivered in that order, one at a time for a tenant.
create table webhook_messages (
  tenant_id text not null,
  id text not null,
  seq bigint generated always as identity,
  -- Messages about one connection do not overtake each other.
  connection_id text not null,
  body text not null,
  created_at timestamptz(3) not null,
  -- When an operator asked for it again. Attempts and the age at which it is given up then count from here.
  resent_at timestamptz(3),
  attempts integer not null default 0,
  -- Put aside until `due_at`: it failed, waits behind one that failed, or is being sent and presumed lost by then.
  aside boolean not null default false,
  due_at timestamptz(3) not null,
  -- What the last attempt that failed met, for the operator who looks while the message waits.
  last_failure text,
  ended_at timestamptz(3),
  outcome text,
  primary key (tenant_id, id)
);
create index webhook_messages_next on webhook_messages (tenant_id, seq) where ended_at is null and not aside;
create index webhook_messages_aside on webhook_messages (tenant_id, due_at) where ended_at is null and aside;
create index webhook_messages_of_connection on webhook_messages (tenant_id, connection_id, seq) where ended_at is null;
create index webhook_messages_ended on webhook_messages (ended_at) where ended_at is not null;

-- What changed in a connection's transactions since the last `transactions.changed` message, which is sent at most once
-- a minute. A row lives for a minute after the last message.
create table pending_announcements (
  user_key bigint not null,
  connection_key integer not null,
  added bigint not null,
  changed bigint not null,
  removed bigint not null,
  -- When the next message may be written, or the row deleted if nothing has changed by then.
  due_at timestamptz(3) not null,
  primary key (user_key, connection_key)
);
create index pending_announcements_due on pending_announcements (due_at);

-- ---------------------------------------------------------------------------------------------------------- audit log

-- Who changed what: ids and names of fields, never values. Appended in the transaction of the change (audit.ts); a job
-- gives each entry its place in the chain of its tenant, and the hash over it and everything before (audit-log).
create table audit_entries (
  entry bigint generated always as identity primary key,
  -- Empty for what concerns the whole installation.
  tenant_id text not null,
  at timestamptz(3) not null,
  actor text not null check (actor in ('operator', 'tenant', 'application', 'user', 'service')),
  action text not null,
  subject text not null,
  fields text[] not null,
  user_id text,
  client_id text,
  provider_id text,
  position bigint,
  hash bytea,
  check ((position is null) = (hash is null))
);
create unique index audit_entries_chain on audit_entries (tenant_id, position) where position is not null;
create index audit_entries_unchained on audit_entries (tenant_id, entry) where position is null;
create index audit_entries_user on audit_entries (tenant_id, user_id, entry) where user_id is not null;

create table audit_heads (
  tenant_id text primary key,
  position bigint not null,
  hash bytea not null,
  logged_on date
);

-- -------------------------------------------------------------------------------------------------------------- views
-- What other rooms read of a table, declared by its owner. docs/storage.md names the tables that are read directly.

-- connections: what is shown to applications. `hidden` ones are a session's, or are being destroyed.
create view readable_connections as
  select user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, status, status_cause, status_message,
    key_lane, connection_type, display_label, account_fingerprint, fingerprint_of, added_at, shown_at, shown_seq,
    last_synced_at, next_sync_at, balances_at, balances_since, balances_doubted_at, losses_open_at, history_from,
    transaction_count, proof_grade, proof_checked_at, proof_balances_at, proved_since, complete_since
  from connections
  where session_id is null and status not in ('pending', 'removed');
create view provisional_connections as
  select user_key, connection_key, id, session_id from connections where session_id is not null;
-- For connect's progress: also of those that are not shown.
create view connection_counts as
  select user_key, connection_key, record_count, transaction_count, history_from, balances_at from connections;
create view removed_connections as
  select user_key, connection_key, tenant_key, hidden_seq from connections where status = 'removed';
-- A row here, locked, is a connection that is not being removed.
create view existing_connections as
  select user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id from connections where status <> 'removed';

-- For the proof of a connection, shown or not.
create view connection_proofs as
  select user_key, connection_key, session_id is null as settled, history_from, balances_at, balances_since, unproved_at,
    proof_grade, proof_balances_at, proof_walked_at
  from connections where status <> 'removed';

-- proof: connections whose verdict may be another one after the next run. Sync asks, because most runs change nothing.
-- Three lists and no condition over them: a user's key has to reach each table.
create view undecided_proofs as
  select user_key, connection_key from connections where proof_grade is null
  union all
  select user_key, connection_key from due_proofs
  union all
  select user_key, connection_key from proofs where grade <> 'proved' and not uninvited;

-- proof: how well each asset is proved, for positions at a moment; and why not, for the page that a person connects on.
create view asset_grades as
  select user_key, connection_key, asset_key, grade, spam, uninvited, causes, opening,
    -- What the judged reading found beyond what the records come to.
    greatest(coalesce(in_flight, difference), 0) as excess
  from proofs;

create view due_verdicts as
  select user_key, connection_key, asset_key, since from due_proofs;

-- ledger: records that may still change, for planning what to read again.
create view pending_records as
  select user_key, connection_key, stream, partition, occurred_at from raw_records where pending and retired_at is null;

-- sync: what the connector knows of the account, for deriving.
create view account_states as
  select user_key, connection_key, state from connector_states;

-- The number of each user's newest change, for the tenant's feed.
create view user_changes as
  select user_key, change_seq from user_ledgers;

-- oauth: what was granted, until when, and whether it still holds but for the time.
create view grant_terms as
  select grants.user_key, grants.tenant_key, grants.client_id, grants.id as grant_id, grants.scopes, grants.granted_at,
    grants.expires_at, grants.revoked_at, grants.revoked_at is null and clients.disabled_at is null as in_force
  from grants
  join clients on clients.id = grants.client_id;
-- The scopes of tokens, which may be more than those of the newest consent.
create view family_terms as
  select token_families.user_key, token_families.scopes, token_families.expires_at,
    token_families.revoked_at is null and clients.disabled_at is null as in_force
  from token_families
  join clients on clients.id = token_families.client_id;

-- tenants
create view tenant_users as
  select user_key, tenant_key, tenant_id, id, external_user_id, email from users;
create view tenant_keys as
  select tenant_key, id as tenant_id from tenants;

-- webhooks: tenants that hear of changes, so their connections are read more often.
create view webhook_tenants as
  select tenant_id from webhooks;

-- connect: sessions whose provisional connections may still be settled are read by connections (`connect_sessions` with
-- the present as a parameter, so this view only names the columns).
create view connect_session_ends as
  select id, outcome, expires_at, ended_at from connect_sessions;

-- prices, for values over time: what an asset cost at the end of the day before `next_day`. A day's price is its first.
create view closing_prices as
  select asset_id, day as next_day, price_in_usd from daily_prices;

-- ledger, for connect's progress.
create view connection_values as
  select h.user_key, h.connection_key, a.symbol as asset_symbol, (h.liquid + h.staked) * p.price_in_usd as value_in_usd
  from holdings h
  join assets a on a.asset_key = h.asset_key
  left join current_prices p on p.asset_id = a.id
  where not h.spam;
