-- What a tenant's users have together, counted once and kept up to date. Writer: enterprise/statistics-store.ts, but for
-- statistic_changes, which the triggers below write in the very transaction that changes what is counted: no code path
-- can forget it.

-- oauth: what was granted, until when, and whether it still holds but for the time.
create view grant_terms as
  select grants.tenant_id, grants.user_id, grants.client_id, grants.scopes, grants.expires_at,
    grants.revoked_at is null and clients.disabled_at is null as in_force
  from grants
  join clients on clients.id = grants.client_id;

-- tenants
create view tenant_ids as
  select id as tenant_id from tenants;

-- Whom to count again. Append only: a row for each user that is updated in place would make writers wait for each other
-- and for the count, and `on conflict do nothing` against a row that is being deleted would lose the change. A queue in
-- the order of its numbers, hence the key; it is nearly always empty, so it is vacuumed early.
create table statistic_changes (
  tenant_id text not null,
  change bigint generated always as identity,
  user_id text,
  -- Whoever ever granted something to this client. Looked up when it is counted: a grant that commits in between has a
  -- row of its own.
  client_id text,
  primary key (tenant_id, change),
  check (num_nonnulls(user_id, client_id) = 1)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What a user counts for now, by measure: 'user', 'account_user' and 'position_user' (once, subject empty), 'provider'
-- (subject provider_id; amount: accounts), 'asset' (subject asset_id; label: its symbol; amount: positions).
create table user_statistics (
  tenant_id text not null,
  user_id text not null,
  measure text not null check (measure in ('user', 'account_user', 'position_user', 'provider', 'asset')),
  subject text not null,
  label text not null collate "C",
  amount bigint not null,
  quantity numeric not null,
  -- Of 'user': when the first of the grants ends by itself, and the user has to be counted again.
  recount_at timestamptz(3),
  primary key (tenant_id, user_id, measure, subject)
);

create index user_statistics_recount on user_statistics (tenant_id, recount_at) where recount_at is not null;

-- The sums of the above. Quantities, not money: prices are taken when they are read.
create table tenant_statistics (
  tenant_id text not null,
  measure text not null,
  subject text not null,
  label text not null collate "C",
  users bigint not null,
  amount bigint not null,
  quantity numeric not null,
  primary key (tenant_id, measure, subject, label)
);

create function note_statistic_changes() returns trigger language plpgsql as $$
begin
  insert into statistic_changes (tenant_id, user_id) select distinct tenant_id, user_id from changed;
  return null;
end $$;

create function note_connection_updates() returns trigger language plpgsql as $$
begin
  -- Every read of a provider writes its connection; what is counted of it seldom changes.
  insert into statistic_changes (tenant_id, user_id)
  select distinct tenant_id, user_id from before join changed using (tenant_id, user_id, id)
  where (before.session_id is null, before.status in ('pending', 'removed'), before.provider_id)
    is distinct from (changed.session_id is null, changed.status in ('pending', 'removed'), changed.provider_id);
  return null;
end $$;

create function note_client_change() returns trigger language plpgsql as $$
begin
  insert into statistic_changes (tenant_id, client_id) values (new.tenant_id, new.id);
  return null;
end $$;

create trigger statistics_insert after insert on grants referencing new table as changed
  for each statement execute function note_statistic_changes();
create trigger statistics_update after update on grants referencing new table as changed
  for each statement execute function note_statistic_changes();
create trigger statistics_delete after delete on grants referencing old table as changed
  for each statement execute function note_statistic_changes();

create trigger statistics_insert after insert on connections referencing new table as changed
  for each statement execute function note_statistic_changes();
create trigger statistics_update after update on connections referencing old table as before new table as changed
  for each statement execute function note_connection_updates();
create trigger statistics_delete after delete on connections referencing old table as changed
  for each statement execute function note_statistic_changes();

create trigger statistics_insert after insert on holdings referencing new table as changed
  for each statement execute function note_statistic_changes();
create trigger statistics_update after update on holdings referencing new table as changed
  for each statement execute function note_statistic_changes();
create trigger statistics_delete after delete on holdings referencing old table as changed
  for each statement execute function note_statistic_changes();

create trigger statistics_update after update of disabled_at on clients
  for each row when (old.disabled_at is distinct from new.disabled_at) execute function note_client_change();

-- Everybody who is there already.
insert into statistic_changes (tenant_id, user_id) select distinct tenant_id, user_id from grants;
