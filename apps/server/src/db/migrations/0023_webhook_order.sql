-- Messages leave in the order in which they were written, one at a time for each tenant. Writer: webhooks/store.ts.

alter table webhooks
  -- Attempts in a row that failed, whichever message they carried.
  add column failures integer not null default 0,
  -- Until then nothing is sent.
  add column paused_until timestamptz(3);

alter table webhook_messages
  add column seq bigint generated always as identity,
  -- What it speaks of: messages about one connection do not overtake each other.
  add column connection_id text,
  -- Not to be sent before; while it is being sent, when it may be taken for lost.
  add column due_at timestamptz(3) not null default assay_now();

update webhook_messages set connection_id = body::json -> 'data' ->> 'connection_id' where ended_at is null;

create index webhook_messages_waiting on webhook_messages (tenant_id, seq) where ended_at is null;
create index webhook_messages_of_connection on webhook_messages (tenant_id, connection_id, seq) where ended_at is null;
