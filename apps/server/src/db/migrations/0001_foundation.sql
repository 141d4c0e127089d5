-- What every other migration stands on: what this database is, its one clock, and who is at work.

-- One row, written at first start. A database used in sandbox mode holds invented accounts and published secrets, and
-- must never serve outside it; the other way round a sandbox clock would expire real grants.
create table installation (
  id boolean primary key default true check (id),
  sandbox boolean not null,
  created_at timestamptz not null default clock_timestamp()
);

-- How far the sandbox's time is ahead of the machine's. Never back: what has expired stays expired.
create table sandbox_clock (
  id boolean primary key default true check (id),
  offset_ms bigint not null default 0 check (offset_ms >= 0)
);

insert into sandbox_clock default values;

-- The only clock. Cut to milliseconds, so that order and ranges use what is shown. The offset counts in a sandbox only.
-- Stable, although the time passes while a statement runs: a volatile function could not be the bound of an index scan.
-- The body is bound when it is created (`return`, not text), so that no caller's search_path changes its meaning.
create function assay_now() returns timestamptz
language sql stable parallel safe
return date_trunc('milliseconds', clock_timestamp() + coalesce(
  (select clock.offset_ms * interval '1 millisecond'
     from sandbox_clock clock
     join installation on installation.sandbox),
  interval '0'));

-- A worker that has been silent for 30 seconds is dead, and its jobs are freed.
create table worker_heartbeats (
  worker_id text primary key,
  beat_at timestamptz not null
);
