-- The connect flow, its sign-in, and what users can see of their consents. Writers: connect/store.ts, and for sign-in
-- connect/sign-in-store.ts, for the last part connect/manage-store.ts. Secrets and states are here as SHA-256 only.

-- One run of the connect flow: the checked authorization request, how it is shown, and how far it has come.
create table connect_sessions (
  id text primary key,
  secret_hash bytea not null unique,
  tenant_id text not null references tenants,
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
  user_id text,
  signed_in_by text check (signed_in_by in ('email_code', 'login_token', 'sandbox')),
  -- What the person agreed to, as it was shown; goes with the code into the grant.
  consent jsonb,
  outcome text check (outcome in ('finished', 'declined')),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  foreign key (tenant_id, user_id) references users on delete cascade,
  check ((user_id is null) = (signed_in_by is null)),
  check ((outcome is null) = (ended_at is null))
);

create index connect_sessions_user on connect_sessions (tenant_id, user_id, client_id) where user_id is not null;
create index connect_sessions_end on connect_sessions (expires_at);

-- For connections: whose provisional connections still have somebody who may settle them. A finished session waits for
-- its code, which lives a minute; the second minute is for a redemption that is under way.
create view live_connect_sessions as
  select id from connect_sessions
  where (outcome is null and expires_at > assay_now())
     or (outcome = 'finished' and ended_at > assay_now() - interval '2 minutes');

-- The code on its way to a mailbox, for a connect or manage session. The code itself is derived from a server key and
-- the nonce, so that neither this table nor the queue tells it.
create table sign_in_codes (
  session_id text primary key,
  tenant_id text not null,
  client_id text not null references clients,
  email text not null,
  nonce bytea not null,
  tries_left integer not null,
  sent_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);

create index sign_in_codes_end on sign_in_codes (expires_at);

-- What counts against an address: codes sent, and wrong tries. The address is hashed with a server key.
create table sign_in_events (
  address_hash bytea not null,
  kind text not null check (kind in ('code', 'wrong_try')),
  at timestamptz(3) not null
);

create index sign_in_events_address on sign_in_events (address_hash, kind, at);
create index sign_in_events_at on sign_in_events (at);

-- Public keys with which a client signs login tokens, and the tokens that were used.
create table client_login_keys (
  client_id text not null references clients,
  key_id text not null,
  jwk jsonb not null,
  created_at timestamptz(3) not null default assay_now(),
  primary key (client_id, key_id)
);

create table spent_login_tokens (
  client_id text not null references clients,
  jti_hash bytea not null,
  expires_at timestamptz(3) not null,
  primary key (client_id, jti_hash)
);

create index spent_login_tokens_end on spent_login_tokens (expires_at);

-- The `state` of a sign-in at a provider: 256 bits, spent once, bound to what began it and to the provider.
create table provider_states (
  state_hash bytea primary key,
  provider_id text not null,
  tenant_id text not null,
  user_id text not null,
  session_id text references connect_sessions on delete cascade,
  grant_id text,
  expires_at timestamptz(3) not null,
  foreign key (tenant_id, user_id) references users on delete cascade,
  check (num_nonnulls(session_id, grant_id) = 1)
);

create index provider_states_end on provider_states (expires_at);

-- The user's own page: signed in for a quarter of an hour of silence, an hour at most.
create table manage_sessions (
  id text primary key,
  secret_hash bytea not null unique,
  tenant_id text not null references tenants,
  client_id text not null references clients,
  user_id text,
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  foreign key (tenant_id, user_id) references users on delete cascade
);

create index manage_sessions_end on manage_sessions (expires_at);

-- Who read what and when: one row for each grant, endpoint and hour. Written in batches, some seconds late.
create table grant_accesses (
  tenant_id text not null,
  user_id text not null,
  grant_id text not null,
  hour timestamptz(3) not null,
  endpoint text not null,
  count bigint not null,
  primary key (tenant_id, user_id, grant_id, hour, endpoint)
);

create index grant_accesses_hour on grant_accesses (hour);

-- Sandbox mode only: what would have been mailed.
create table sandbox_mailbox (
  id bigint generated always as identity primary key,
  -- Which session asked; a tester with two windows sees the right code in each.
  session_id text not null,
  recipient text not null,
  subject text not null,
  text text not null,
  sent_at timestamptz(3) not null
);

create index sandbox_mailbox_session on sandbox_mailbox (session_id, id);

-- A repair is verified as a pending connection of its own; when the account is the same, its credentials take the
-- place of the old ones. They are sealed for the connection they repair.
alter table connections add column repair_of text;

-- For connect: also in which session.
create or replace view provisional_connections as
  select tenant_id, user_id, id, session_id from connections where session_id is not null;

-- For the ledger's writes: a row here, locked, is a connection that is not being removed.
create view existing_connections as
  select tenant_id, user_id, id from connections where status <> 'removed';

-- For connect's progress, declared by the ledger.
create view connection_records as
  select tenant_id, user_id, connection_id, count(*) as records
  from raw_records
  group by tenant_id, user_id, connection_id;

create view connection_transactions as
  select tenant_id, user_id, connection_id, count(*) as transactions, min(occurred_at) as history_from
  from transactions
  group by tenant_id, user_id, connection_id;

create view connection_values as
  select h.tenant_id, h.user_id, h.connection_id, h.asset_symbol, (h.liquid + h.staked) * p.price_in_usd as value_in_usd
  from holdings h
  left join current_prices p on p.asset_id = h.asset_id
  where not h.spam;
