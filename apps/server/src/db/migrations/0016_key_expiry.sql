-- connections: until when the provider said that a key is valid. A provider that no longer knows a key rarely says why;
-- this tells a key that has run out from one that was deleted.
alter table connections add column key_expires_at timestamptz(3);
