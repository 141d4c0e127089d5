-- Own transfers, ids that were retired, and prices still to come. Writers: ledger/transfers-store.ts for legs and
-- matches, ledger/store.ts for revisions, ledger/awaited-store.ts for awaited prices.

-- How often the transaction of a provider's key got a new id, because its time was corrected after it was confirmed.
-- Keys that never did are not here. Without it, deriving again would bring retired ids back.
create table transaction_revisions (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  natural_key text not null,
  revision integer not null,
  primary key (tenant_id, user_id, connection_id, natural_key)
);

-- What left or reached a connection, of one asset: one side of what may be an own transfer.
create table transfer_legs (
  tenant_id text not null,
  user_id text not null,
  -- The transaction's.
  id text not null collate "C",
  connection_id text not null,
  direction text not null check (direction in ('out', 'in')),
  asset_id text not null,
  amount numeric not null,
  -- What was paid beside it in the same asset.
  fee numeric not null,
  -- Both in the one way core's matcher writes them.
  hash text,
  to_address text,
  occurred_at timestamptz(3) not null,
  -- What the transaction is called while it has no counterpart.
  category text not null,
  method text not null,
  confidence double precision not null,
  -- Something near it changed: it is to be judged again.
  due boolean not null default true,
  primary key (tenant_id, user_id, id)
);

create index transfer_legs_near on transfer_legs (tenant_id, user_id, asset_id, occurred_at);
create index transfer_legs_hash on transfer_legs (tenant_id, user_id, hash) where hash is not null;
create index transfer_legs_connection on transfer_legs (tenant_id, user_id, connection_id);
create index transfer_legs_due on transfer_legs (tenant_id, user_id, occurred_at, id) where due;

-- Each side at most once.
create table transfer_matches (
  tenant_id text not null,
  user_id text not null,
  outgoing_id text not null collate "C",
  incoming_id text not null collate "C",
  confidence double precision not null,
  primary key (tenant_id, user_id, outgoing_id),
  unique (tenant_id, user_id, incoming_id)
);

-- Transactions written without a price that may still come, or with one that is not the last word.
create table awaited_prices (
  tenant_id text not null,
  user_id text not null,
  -- The transaction's.
  id text not null collate "C",
  connection_id text not null,
  asset_id text not null,
  day date not null,
  -- A provisional price is in the text.
  priced boolean not null,
  primary key (tenant_id, user_id, id, asset_id)
);

create index awaited_prices_day on awaited_prices (asset_id, day);

-- Histories that were read before all this: the next run derives them again, which gives the same texts and fills the
-- tables above.
update raw_records r set derived = false
from transactions t
where t.tenant_id = r.tenant_id and t.user_id = r.user_id and t.connection_id = r.connection_id
  and t.group_key = r.group_key
  and (t.type in ('send', 'receive') or t.document like '%_in_usd":null%');
