-- connections: also whose rules read it, for the ledger's replay.
create or replace view existing_connections as
  select tenant_id, user_id, id, provider_id from connections where status <> 'removed';
