-- A sign-in at a provider, begun by a session or by an application. Writer: connect/store.ts.

alter table provider_states
  add column display_label text,
  -- The connection whose sign-in this renews.
  add column repair_of text,
  -- Begun by an application: where the person is sent with a handle in place of the provider's own code.
  add column redirect_uri text,
  add column handle_hash bytea unique,
  -- The provider's code, until the application comes with the handle.
  add column sealed_code text,
  add check ((redirect_uri is null) = (grant_id is null)),
  add check ((handle_hash is null) = (sealed_code is null));
