-- The role that API and worker connect as. The image makes POSTGRES_USER a superuser, which can run programs and read
-- files where PostgreSQL runs; this role can do what it likes in its own database, and nothing else. The image runs this
-- file once, with psql in POSTGRES_DB, when the volume is empty.
\set password `cat /run/secrets/database_password`
create role assay login password :'password';
alter database assay owner to assay;
