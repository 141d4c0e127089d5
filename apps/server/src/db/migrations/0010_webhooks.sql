-- What a tenant is told. Writer: webhooks/store.ts.

create table webhooks (
  tenant_id text primary key,
  url text not null,
  -- The signing secret, sealed (sealing.ts).
  sealed_secret text not null,
  created_at timestamptz(3) not null default assay_now()
);

-- Written in the transaction that changes what it speaks of; kept for a while after it was delivered or given up.
create table webhook_messages (
  tenant_id text not null,
  id text not null,
  body text not null,
  created_at timestamptz(3) not null default assay_now(),
  attempts integer not null default 0,
  ended_at timestamptz(3),
  outcome text,
  primary key (tenant_id, id)
);
create index webhook_messages_ended on webhook_messages (ended_at) where ended_at is not null;
