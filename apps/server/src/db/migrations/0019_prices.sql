-- How each price came about, which prices were provisional, and what is wanted but not read. Writer: prices/store.ts.

-- method: `market_chart` (the source's own price of that day), `cross_rate` (a currency, by two prices of one coin),
-- `correction` (the operator's word). known_at: when we asked for it; before the day was over and settled at the source
-- the price is provisional, and the only kind that a source may replace.
alter table daily_prices
  add column method text not null default 'market_chart',
  add column known_at timestamptz(3) not null default assay_now();
update daily_prices p set known_at = r.read_at from daily_price_reads r where r.asset_id = p.asset_id;
alter table daily_prices alter column known_at drop default;

-- Days whose price an operator has corrected, until the transactions of that day are priced anew.
create table price_corrections (
  asset_id text not null,
  day date not null,
  primary key (asset_id, day)
);

-- One row for each asset that is priced by the day: what is wanted of it, what was read, and when to try again.
alter table daily_price_reads
  alter column first_day drop not null,
  alter column last_day drop not null,
  alter column read_at drop not null,
  add column wanted_from date,
  add column wanted_to date,
  add column failures integer not null default 0,
  add column retry_at timestamptz(3);
update daily_price_reads set wanted_from = first_day, wanted_to = last_day;
alter table daily_price_reads
  alter column wanted_from set not null,
  alter column wanted_to set not null,
  add check ((first_day is null) = (last_day is null) and (first_day is null) = (read_at is null));

-- method: `simple_price`, `cross_rate`, or `definition` (a dollar is one). No price: the source was asked and has none.
alter table current_prices
  alter column price_in_usd drop not null,
  add column method text not null default 'simple_price';
update current_prices set method = source where source = 'definition';
