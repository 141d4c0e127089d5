-- sync: a provider that does not answer. There is a row while it fails, one for the whole fleet, and none while it
-- answers. Writer: sync/circuit-store.ts.
create table circuits (
  provider_id text primary key,
  -- In a row, over all its connections; any answer ends the row.
  failures integer not null,
  -- Keyed hashes of the API keys that met them, distinct, and no more than it takes to open: a key that is broken by
  -- itself must not speak for the others.
  failing_keys text[] not null,
  failing_since timestamptz(3) not null,
  -- Null until enough has failed. From then on nobody asks but one job at `probe_at`.
  opened_at timestamptz(3),
  probes integer not null default 0,
  probe_at timestamptz(3)
);
