-- Filters that hit few of many transactions (ledger/pages-query-store.ts says how they are used). Writers stay as they are.

-- A kind is what rows of one connection share of what can be filtered by; there are some tens of kinds for a user. Within
-- a kind rows are in the order of the page, so any mixture of connections, providers, categories and types is a few range
-- scans. One index for all four filters and their pairs, because each costs every insert: the three of this file together
-- add 36 % to the log of an insert (100,000 transactions: 222 MB before, 303 MB after) and 61 MB to 191 MB of table and
-- indexes. Against that, three hits among 1,000,000 rows took a walk over all of them.
create index transactions_kind on transactions
  (tenant_id, user_id, connection_id, category, type, occurred_at desc, id desc);

-- The same over all users of a tenant, where a kind is of a provider.
create index transactions_tenant_kind on transactions
  (tenant_id, provider_id, category, type, occurred_at desc, id desc);

-- A category says nearly always which type it is, and a connection its provider. Taken for independent, a kind of ten
-- thousand rows was thought to have some hundred, and read whole for the first thirty.
create statistics transactions_kinds (dependencies) on connection_id, provider_id, category, type from transactions;

create index transactions_tenant_updated on transactions (tenant_id, updated_at);

-- Whose connection it is, for a tenant's filter by connection.
create index connections_by_id on connections (tenant_id, id);
