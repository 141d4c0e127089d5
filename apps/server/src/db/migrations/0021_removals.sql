-- Removing a connection with a long history takes longer than one statement may: its row stays, hidden and without its
-- key, until everything that was read through it is destroyed. Writer: connections/store.ts.

-- Of a removed one: whether applications have seen its transactions, whose ids are then remembered as removed.
alter table connections
  add column was_served boolean check (was_served is null or status = 'removed');

create index connections_removed on connections (tenant_id, user_id, id) where status = 'removed';

-- For whoever reads: what belongs to these connections is not shown, because it is still a session's or is being destroyed.
create view hidden_connections as
  select tenant_id, user_id, id from connections where session_id is not null or status = 'removed';

create or replace view settled_transactions as
  select t.tenant_id, t.user_id, t.id, t.connection_id, t.provider_id, t.occurred_at, t.updated_at, t.type, t.category,
    t.document
  from transactions t
  where not exists (select from hidden_connections c
    where c.tenant_id = t.tenant_id and c.user_id = t.user_id and c.id = t.connection_id offset 0);

create or replace view settled_holdings as
  select h.tenant_id, h.user_id, h.connection_id, h.provider_id, h.asset_id, h.asset_symbol, h.asset_name, h.liquid,
    h.staked, h.spam, h.fetched_at
  from holdings h
  where not exists (select from hidden_connections c
    where c.tenant_id = h.tenant_id and c.user_id = h.user_id and c.id = h.connection_id);
