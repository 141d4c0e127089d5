-- What a tenant sees of its users: views by the owners of the tables, and the indexes of its pages. Reader: enterprise/.

-- oauth: also since when.
create or replace view live_grants as
  select grants.tenant_id, grants.user_id, grants.client_id, grants.id as grant_id, grants.scopes, grants.expires_at,
    grants.granted_at
  from grants
  join clients on clients.id = grants.client_id
  where grants.revoked_at is null and grants.expires_at > assay_now() and clients.disabled_at is null;

-- tenants
create view tenant_users as
  select tenant_id, id, external_user_id, email from users;

-- connections: also what a list of them shows.
create or replace view readable_connections as
  select tenant_id, user_id, id, provider_id, status, status_cause, status_message, key_lane,
    connection_type, display_label, added_at, last_synced_at, next_sync_at, history_from, transaction_count
  from connections
  where session_id is null and status not in ('pending', 'removed');

create index connections_tenant on connections (tenant_id, added_at, id);

-- ledger: what belongs to settled connections. `offset 0` keeps the first one's condition a look-up for each row: as a
-- join it could lead PostgreSQL away from the index that has the page in order.
create view settled_transactions as
  select t.tenant_id, t.user_id, t.id, t.connection_id, t.provider_id, t.occurred_at, t.updated_at, t.type, t.category,
    t.document
  from transactions t
  where not exists (select from provisional_connections c
    where c.tenant_id = t.tenant_id and c.user_id = t.user_id and c.id = t.connection_id offset 0);

create view settled_holdings as
  select h.tenant_id, h.user_id, h.connection_id, h.provider_id, h.asset_id, h.asset_symbol, h.asset_name, h.liquid,
    h.staked, h.spam, h.fetched_at
  from holdings h
  where not exists (select from provisional_connections c
    where c.tenant_id = h.tenant_id and c.user_id = h.user_id and c.id = h.connection_id);

-- A tenant's page over all its users, newest first, and the same for one asset.
create index transactions_tenant_page on transactions (tenant_id, occurred_at desc, id desc);
create index transaction_assets_tenant on transaction_assets (tenant_id, asset_symbol, occurred_at desc, id desc);
create index removed_transactions_tenant on removed_transactions (tenant_id, removed_at);
