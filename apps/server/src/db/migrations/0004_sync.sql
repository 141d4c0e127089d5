-- Where reading stands and what has been read. Writer: sync/store.ts.

-- One row for each stream of a connection: the window being read and the place in it. It moves in the same transaction
-- as the rows it speaks of.
create table stream_bookmarks (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  stream text not null,
  window_start timestamptz(3) not null,
  window_end timestamptz(3) not null,
  -- The provider's own place inside the window; null at its beginning.
  position text,
  primary key (tenant_id, user_id, connection_id, stream)
);

-- Windows that were read to their end. Half open: [window_start, window_end).
create table covered_windows (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  stream text not null,
  window_start timestamptz(3) not null,
  window_end timestamptz(3) not null,
  primary key (tenant_id, user_id, connection_id, stream, window_start)
);

-- How often in a row reading failed; gone once a page was read.
create table sync_failures (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  failures integer not null,
  primary key (tenant_id, user_id, connection_id)
);

-- A token bucket for each key or egress address, shared by the whole fleet.
create table budgets (
  bucket text primary key,
  tokens double precision not null,
  -- Which of the provider's tiers we believe in; the next one after each limit error.
  tier smallint not null default 0,
  refilled_at timestamptz(3) not null,
  -- The provider told us to stay away until then.
  blocked_until timestamptz(3)
);
