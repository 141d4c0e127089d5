-- The price ledger. Writer: prices/store.ts. The same for all tenants: small enough to lie on every node.

create table daily_prices (
  asset_id text not null,
  day date not null,
  price_in_usd numeric not null,
  source text not null,
  primary key (asset_id, day)
);

-- Which days a source was asked about, so that a day without a price is not asked for again and again.
create table daily_price_reads (
  asset_id text primary key,
  first_day date not null,
  last_day date not null,
  read_at timestamptz(3) not null
);

create table current_prices (
  asset_id text primary key,
  price_in_usd numeric not null,
  source text not null,
  fetched_at timestamptz(3) not null
);
