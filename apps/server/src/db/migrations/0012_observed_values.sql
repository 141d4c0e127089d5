-- What a connection was worth on a day, as it was seen: the last reading of the day stands. Writer: ledger/history-store.ts.
-- By connection, so that its removal takes its part of the past with it.
create table observed_values (
  tenant_id text not null,
  user_id text not null,
  connection_id text not null,
  day date not null,
  value_in_usd numeric not null,
  -- Positions without a price, which are not in the value.
  unpriced integer not null,
  primary key (tenant_id, user_id, connection_id, day)
);
