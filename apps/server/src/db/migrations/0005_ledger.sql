-- Raw records → transactions, and holdings. Writer: ledger/store.ts.

create table raw_records (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  stream text not null,
  -- The provider's own id of the record: reading a page twice changes nothing.
  source_key text not null,
  -- Records of one group become transactions together.
  group_key text not null,
  -- The group it was in before the provider, or a better reading, moved it; null when it never moved.
  left_group text,
  occurred_at timestamptz(3) not null,
  -- The record as the provider wrote it, digits untouched.
  body text not null,
  -- False until its group was derived, and again when the provider changed the record.
  derived boolean not null default false,
  primary key (tenant_id, user_id, connection_id, stream, source_key)
);

create index raw_records_group on raw_records (tenant_id, user_id, connection_id, group_key);
create index raw_records_underived on raw_records (tenant_id, user_id, connection_id, group_key) where not derived;

create table transactions (
  tenant_id text not null,
  user_id text not null,
  occurred_at timestamptz(3) not null,
  id text not null collate "C",
  connection_id text not null,
  provider_id text not null,
  group_key text not null,
  type text not null,
  category text not null,
  updated_at timestamptz(3) not null,
  -- The members after the head, rendered once; the head is written by the shape that serves it.
  document text not null,
  primary key (tenant_id, user_id, id)
);

-- The page: one range scan, newest first.
create index transactions_page on transactions (tenant_id, user_id, occurred_at desc, id desc);
create index transactions_group on transactions (tenant_id, user_id, connection_id, group_key);
create index transactions_updated on transactions (tenant_id, user_id, updated_at);

-- Filter by asset: a narrow table in page order, so that a rare asset is not searched for among all rows.
create table transaction_assets (
  tenant_id text not null,
  user_id text not null,
  asset_symbol text not null,
  occurred_at timestamptz(3) not null,
  id text not null collate "C",
  primary key (tenant_id, user_id, asset_symbol, occurred_at, id)
);
create index transaction_assets_of on transaction_assets (tenant_id, user_id, id);

-- Groups that could not be derived, and why: the rest of the history does not wait for them.
create table poison_groups (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  group_key text not null,
  reason text not null,
  seen_at timestamptz(3) not null,
  primary key (tenant_id, user_id, connection_id, group_key)
);

-- Ids that were served once and are gone, for those who keep a copy.
create table removed_transactions (
  tenant_id text not null,
  user_id text not null,
  id text not null,
  removed_at timestamptz(3) not null,
  primary key (tenant_id, user_id, id)
);

create table holdings (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  provider_id text not null,
  asset_id text not null,
  asset_symbol text not null collate "C",
  asset_name text not null,
  liquid numeric not null,
  staked numeric not null,
  spam boolean not null default false,
  fetched_at timestamptz(3) not null,
  primary key (tenant_id, user_id, connection_id, asset_id)
);
