-- Reading again on request. Writer: sync/refresh-store.ts.

create table refreshes (
  tenant_id text not null,
  user_id text not null,
  id text not null,
  kind text not null check (kind in ('assets', 'transactions')),
  requested_at timestamptz(3) not null,
  primary key (tenant_id, user_id, id),
  foreign key (tenant_id, user_id) references users on delete cascade
);

create index refreshes_age on refreshes (requested_at);

-- What became of each connection that was asked for.
create table refresh_connections (
  tenant_id text not null,
  user_id text not null,
  refresh_id text not null,
  connection_id text not null,
  provider_id text not null,
  kind text not null,
  status text not null check (status in ('queued', 'running', 'succeeded', 'failed', 'cooling_down')),
  cause text,
  primary key (tenant_id, user_id, refresh_id, connection_id),
  foreign key (tenant_id, user_id, refresh_id) references refreshes on delete cascade
);

create index refresh_connections_of on refresh_connections (tenant_id, user_id, connection_id);

-- When a refresh of this connection and kind was last accepted.
create table refresh_cool_downs (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  kind text not null,
  accepted_at timestamptz(3) not null,
  primary key (tenant_id, user_id, connection_id, kind)
);

-- For sync: whose lane a refresh has to wait in.
create or replace view readable_connections as
  select tenant_id, user_id, id, provider_id, status, status_cause, status_message, key_lane
  from connections
  where session_id is null and status not in ('pending', 'removed');
