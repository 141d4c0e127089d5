-- Who integrates the service, whose data it is, and what was consented to. Writers: tenants/store.ts (the first four
-- tables), oauth/store.ts (the rest). Secrets, codes and tokens are here as SHA-256 only.

create table tenants (
  id text primary key,
  name text not null,
  created_at timestamptz(3) not null default assay_now()
);

create table clients (
  id text primary key,
  tenant_id text not null references tenants,
  name text not null,
  redirect_uris text[] not null,
  -- Pages that may show the widget in a frame.
  embed_origins text[] not null,
  scopes text[] not null,
  s256_only boolean not null,
  require_code_verifier boolean not null,
  logo_uri text,
  homepage_uri text,
  created_at timestamptz(3) not null default assay_now(),
  disabled_at timestamptz(3)
);

create index clients_tenant on clients (tenant_id, id);

-- Several for a client while a rotation overlaps; none for a public client (RFC 6749 §2.1).
create table client_secrets (
  client_id text not null references clients,
  secret_hash bytea not null,
  created_at timestamptz(3) not null default assay_now(),
  expires_at timestamptz(3),
  primary key (client_id, secret_hash)
);

-- Known by the tenant's own id or by e-mail, never both: the two are never merged.
create table users (
  tenant_id text not null references tenants,
  id text not null,
  external_user_id text,
  email text,
  created_at timestamptz(3) not null default assay_now(),
  primary key (tenant_id, id),
  unique (tenant_id, external_user_id),
  unique (tenant_id, email),
  check (num_nonnulls(external_user_id, email) = 1)
);

-- Codes not yet redeemed. A redeemed one leaves this table and is remembered by the family it made.
create table authorization_codes (
  code_hash bytea primary key,
  tenant_id text not null,
  user_id text not null,
  client_id text not null references clients,
  redirect_uri text not null,
  code_challenge text not null,
  code_challenge_method text not null check (code_challenge_method in ('S256', 'plain')),
  scopes text[] not null,
  session_id text,
  consent jsonb not null,
  expires_at timestamptz(3) not null,
  foreign key (tenant_id, user_id) references users
);

create index authorization_codes_user on authorization_codes (tenant_id, user_id, client_id);
create index authorization_codes_end on authorization_codes (expires_at);

-- One for each user and client. Scopes, consent and end are those of the newest consent.
create table grants (
  tenant_id text not null,
  user_id text not null,
  client_id text not null references clients,
  id text not null,
  scopes text[] not null,
  consent jsonb not null,
  granted_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  primary key (tenant_id, user_id, client_id),
  unique (tenant_id, user_id, id),
  foreign key (tenant_id, user_id) references users
);

-- What grew out of one redeemed code (RFC 9700 §4.14.2). The code and the spent refresh tokens are replayed or not for
-- as long as this row lives, and need no rows of their own: see oauth/token-values.ts for the handle.
create table token_families (
  tenant_id text not null,
  user_id text not null,
  client_id text not null,
  id uuid not null default gen_random_uuid(),
  code_hash bytea not null unique,
  scopes text[] not null,
  -- The part that all refresh tokens of the family share; null when it has none.
  refresh_handle_hash bytea unique,
  refresh_hash bytea,
  -- The last rotation: what is needed, besides the spent token itself, to give the same answer to an honest retry.
  spent_nonce bytea,
  spent_at timestamptz(3),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  revoked_for text check (revoked_for in ('request', 'grant_ended', 'code_replay', 'refresh_replay')),
  primary key (tenant_id, user_id, id),
  foreign key (tenant_id, user_id, client_id) references grants,
  check ((refresh_handle_hash is null) = (refresh_hash is null)),
  check ((revoked_at is null) = (revoked_for is null))
);

create index token_families_grant on token_families (tenant_id, user_id, client_id);
create index token_families_end on token_families (expires_at);
create index token_families_revoked on token_families (revoked_at) where revoked_at is not null;

-- Found by hash before the user is known, hence the key. No foreign key to the family: a token whose family is gone is
-- refused, and rows live fifteen minutes. User, grant and family are null for a client's own (client_credentials).
create table access_tokens (
  token_hash bytea primary key,
  tenant_id text not null,
  client_id text not null,
  user_id text,
  grant_id text,
  family_id uuid,
  scopes text[] not null,
  issued_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  check (num_nonnulls(user_id, grant_id, family_id) in (0, 3))
);

create index access_tokens_end on access_tokens (expires_at);

-- For other stores: what users allow at this moment. A disabled client is allowed nothing.
create view live_grants as
  select grants.tenant_id, grants.user_id, grants.client_id, grants.id as grant_id, grants.scopes, grants.expires_at
  from grants
  join clients on clients.id = grants.client_id
  where grants.revoked_at is null and grants.expires_at > assay_now() and clients.disabled_at is null;

-- For other stores: users who allow nobody anything any more, and since when.
create view lapsed_users as
  select g.tenant_id, g.user_id, max(least(g.expires_at, coalesce(g.revoked_at, g.expires_at))) as lapsed_at
  from grants g
  where not exists (select from live_grants l where l.tenant_id = g.tenant_id and l.user_id = g.user_id)
  group by g.tenant_id, g.user_id;
