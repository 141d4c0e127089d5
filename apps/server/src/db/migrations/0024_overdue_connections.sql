-- Connections that should have been read: for upkeep, which begins again what was lost. Writer: connections/store.ts.

create index connections_due on connections (coalesce(next_sync_at, added_at))
  where session_id is null and status in ('syncing', 'active', 'degraded');

create view overdue_connections as
  select c.tenant_id, c.user_id, c.id, c.key_lane from connections c
  where c.session_id is null and c.status in ('syncing', 'active', 'degraded')
    and coalesce(c.next_sync_at, c.added_at) < (select assay_now()) - interval '10 minutes'
    and exists (select from live_grants g where g.tenant_id = c.tenant_id and g.user_id = c.user_id);
