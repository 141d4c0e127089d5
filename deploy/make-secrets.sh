#!/bin/sh
# Makes the secrets of compose.yaml, once: `deploy/make-secrets.sh`. It refuses to replace any, because the keys may be
# the only ones that open what is stored. `ASSAY` is how `assay` is called; the default runs it in the image.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-docker run --rm ${ASSAY_IMAGE:-assay}}
if [ -e secrets ]; then
  echo "deploy/secrets exists, and is not replaced: its keys may be the only ones that open your data" >&2
  exit 1
fi
draft=$(mktemp -d ./secrets.XXXXXX)
trap 'rm -rf "$draft"' EXIT
keys=$($assay keys generate --name main)

random() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
put() { printf '%s\n' "$2" > "$draft/$1"; }
key() { printf '%s\n' "$keys" | sed -n "s/^$1=//p"; }

password=$(random)
# The superuser's, which only PostgreSQL itself has.
put postgres_password "$(random)"
put database_password "$password"
put database_url "postgres://assay:$password@postgres/assay"
put metrics_token "$(random)"
put server_keys "$(key ASSAY_SERVER_KEYS)"
put sealing_public_keys "$(key ASSAY_SEALING_PUBLIC_KEYS)"
put sealing_private_keys "$(key ASSAY_SEALING_PRIVATE_KEYS)"
for file in "$draft"/*; do
  [ "$(wc -c < "$file")" -gt 20 ] || { echo "$(basename "$file") could not be made" >&2; exit 1; }
done
# Containers read them as users of their own. On this machine only the owner of the folder can reach them.
chmod 0444 "$draft"/*
chmod 0700 "$draft"
mv "$draft" secrets
echo "Made deploy/secrets. Keep a copy of sealing_private_keys and server_keys where the backups of the database are not."
