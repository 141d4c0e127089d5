#!/bin/sh
# Starts compose.yaml as a whole and does with it what docs/guides/production.md and operate.md say, as far as no
# provider is called: `deploy/try-compose.sh [image]`. It works in a copy, under another project name and with secrets of
# its own, and removes everything at the end.
#
# It needs Docker with `docker compose`, curl, the image (default `assay`; see deploy/build-image.sh), ports 80 and 443,
# and no installation that runs on this machine, because both would use the same subnet. With STAND_INS=1 it uses the
# images of deploy/make-stand-ins.sh for everything but Assay, where no registry of images can be reached.
set -eu
cd "$(dirname "$0")"
image=${1:-assay}
# The proxy signs a certificate for a name in localhost by itself (RFC 6761).
domain=assay.localhost
work=$(mktemp -d)
cp -r . "$work/deploy"
rm -rf "$work/deploy/secrets"
cd "$work/deploy"
unset ASSAY_DOMAIN COMPOSE_FILE COMPOSE_PROFILES
export COMPOSE_PROJECT_NAME=assay-try ASSAY_IMAGE="$image"

say() { printf '%s\n' "$*"; }
fail() { say "FAILED: $*" >&2; docker compose logs --tail 20 >&2; exit 1; }
finish() {
  docker compose --profile metrics down --volumes --timeout 20 >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Compose tells its progress on standard error, which is worth reading only when something fails.
quietly() { "$@" 2> "$work/errors" || { cat "$work/errors" >&2; fail "$*"; }; }
up() { quietly docker compose up --detach --wait --wait-timeout 240; }
assay() { docker compose --progress quiet run --rm --no-TTY worker "$@"; }
inside() { docker compose exec --no-TTY "$@"; }
member() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -1; }
call() { # path, then options of curl
  path=$1
  shift
  curl --silent --show-error --fail-with-body --max-time 30 --cacert "$work/root.crt" \
    --resolve "$domain:443:127.0.0.1" "$@" "https://$domain$path"
}
status() { # path
  curl --silent --max-time 30 --cacert "$work/root.crt" --resolve "$domain:443:127.0.0.1" --output /dev/null \
    --write-out '%{http_code}' "https://$domain$1"
}
post() { # path, body, secret of the session
  call "$1" --header 'Content-Type: application/json' ${3:+--header "Authorization: Bearer $3"} --data "$2"
}
in_node() { docker run --rm --interactive --network none --entrypoint node "$image" --input-type=module - "$@"; }
until_answers() { # how many seconds
  for _ in $(seq "$1"); do
    [ "$(status /accounts/v2/providers)" != 401 ] || return 0
    sleep 1
  done
  fail "https://$domain does not answer"
}

say '1. Secrets and settings'
ASSAY_IMAGE=$image ./make-secrets.sh >/dev/null
say "ASSAY_DOMAIN=$domain" > .env
if [ -n "${STAND_INS:-}" ]; then
  # Compose reads this file beside compose.yaml by itself.
  for service in proxy postgres prometheus; do
    say "  $service: { image: 'localhost/assay-stand-in:$service' }"
  done | { say 'services:'; cat; } > compose.override.yaml
fi

say '2. Everything starts and is healthy'
up
docker compose ps --format 'table {{.Service}}\t{{.Status}}' || docker compose ps
# The proxy makes its own authority in its first second.
for _ in $(seq 30); do
  inside proxy cat /data/caddy/pki/authorities/local/root.crt > "$work/root.crt" 2>/dev/null && break
  sleep 1
done
until_answers 30

say '3. TLS, and what the proxy keeps inside'
call /connect --location | grep -q '<html' || fail 'the widget is not served'
for path in /metrics /metrics/fleet /readyz; do
  [ "$(status "$path")" = 404 ] || fail "$path is open to the world"
done
redirected=$(curl --silent --output /dev/null --write-out '%{http_code} %{redirect_url}' \
  --resolve "$domain:80:127.0.0.1" "http://$domain/")
[ "$redirected" = "308 https://$domain/" ] || fail "http answers $redirected"

say '4. What a container may do'
for service in api worker proxy postgres; do
  rights=$(inside "$service" grep -E '^(Uid|CapEff|NoNewPrivs):' /proc/1/status | tr -s '\t\n' '  ')
  say "   $service: $rights"
  case $rights in *'NoNewPrivs: 1'*) ;; *) fail "$service can gain rights" ;; esac
  ! inside "$service" touch /written 2>/dev/null || fail "$service can write to its image"
done
for service in api worker; do
  inside "$service" grep -q '^CapEff:.0*$' /proc/1/status || fail "$service has rights"
  [ "$(inside "$service" id -u)" = 65532 ] || fail "$service does not run as 65532"
done
inside postgres sh -c 'grep -q "^Uid:[[:space:]]$(id -u postgres)[[:space:]]" /proc/1/status' ||
  fail 'PostgreSQL runs as another user than its own'
# A default route is the way out.
has_way_out() { inside "$1" grep -q '^[a-z0-9]*[[:space:]]00000000' /proc/net/route; }
! has_way_out api || fail 'the API has a way out'
! has_way_out postgres || fail 'PostgreSQL has a way out'
has_way_out worker || fail 'the worker has no way out'

say '   and what the service may do in PostgreSQL'
as_service() { inside postgres psql "$(cat secrets/database_url)" --no-psqlrc --tuples-only --no-align --command "$1"; }
rights=$(as_service 'select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
  from pg_roles where rolname = current_user')
[ "$rights" = f ] || fail 'the service has more rights in PostgreSQL than its database'
refused=$(as_service "copy (select 1) to program 'cat'" 2>&1 || true)
case $refused in *pg_execute_server_program*) ;; *) fail "PostgreSQL runs a program for the service: $refused" ;; esac

say '5. The doctor, a tenant and its application'
assay doctor --production || fail 'assay doctor'
tenant=$(assay tenant create 'Example Ltd' --json | member tenant_id)
client=$(assay client create "$tenant" Northwind --redirect-uri https://app.example/callback --strict --json)
id=$(say "$client" | member client_id)
secret=$(say "$client" | member client_secret)

say '   the same with mail'
say 'smtps://user:password@mail.example:465' > secrets/smtp_url
chmod 0444 secrets/smtp_url
say 'ASSAY_MAIL_FROM="Assay <connect@example.com>"' >> .env
files=compose.yaml:compose.mail.yaml
[ ! -e compose.override.yaml ] || files=$files:compose.override.yaml
say "COMPOSE_FILE=$files" >> .env
up
case $(assay doctor --production) in *'✓ mail: set'*) ;; *) fail 'the doctor does not see the mail server' ;; esac

say '6. A user authorizes the application'
in_node > "$work/key.json" <<'NODE'
import { generateKeyPairSync } from 'node:crypto'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
console.log(JSON.stringify({ ...publicKey.export({ format: 'jwk' }), alg: 'ES256' }))
console.log(JSON.stringify(privateKey.export({ format: 'jwk' })))
NODE
head -1 "$work/key.json" > "$work/public-key.jwk"
chmod 0444 "$work/public-key.jwk"
kid=$(docker compose --progress quiet run --rm --no-TTY --volume "$work/public-key.jwk:/public-key.jwk:ro" worker \
  client add-login-key "$id" /public-key.jwk --json | member key_id)
in_node "$id" "$kid" "https://$domain" "$(tail -1 "$work/key.json")" > "$work/login" <<'NODE'
import { createHash, createPrivateKey, randomBytes, randomUUID, sign } from 'node:crypto'
const [, , iss, kid, aud, jwk] = process.argv
const verifier = randomBytes(32).toString('base64url')
const code_challenge = createHash('sha256').update(verifier).digest('base64url')
const iat = Math.floor(Date.now() / 1_000)
const claims = { iss, sub: 'ann-17', aud, jti: randomUUID(), code_challenge, iat, exp: iat + 60 }
const write = (part) => Buffer.from(JSON.stringify(part)).toString('base64url')
const text = `${write({ alg: 'ES256', kid })}.${write(claims)}`
const key = createPrivateKey({ key: JSON.parse(jwk), format: 'jwk' })
const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
console.log(verifier)
console.log(`client_id=${iss}&code_challenge=${code_challenge}&code_challenge_method=S256&state=${randomUUID()}&login_token=${text}.${signature}`)
NODE
begun=$(post /connect/v1/session "{\"query\":\"$(tail -1 "$work/login")\"}")
session=$(say "$begun" | member session_secret)
[ -n "$session" ] || fail "no session: $begun"
post /connect/v1/session/consent '{}' "$session" >/dev/null
# Lines arrive as they happen, although the answer never ends: the proxy does not hold them back.
events=$(call /connect/v1/session/events --header "Authorization: Bearer $session" --max-time 5 2>/dev/null || true)
[ -n "$events" ] || fail 'the proxy holds events back'
code=$(post /connect/v1/session/finish '{}' "$session" | sed -n 's/.*[?&]code=\([^&"]*\).*/\1/p')
token=$(call /oauth/token --user "$id:$secret" --data-urlencode "code=$code" \
  --data "grant_type=authorization_code&code_verifier=$(head -1 "$work/login")" \
  --data-urlencode redirect_uri=https://app.example/callback | member access_token)
reads() { call /accounts/v2/providers --header "Authorization: Bearer $token" >/dev/null || fail "$1"; }
reads 'the application cannot read'

say '7. Metrics of every process, and a second worker'
say 'COMPOSE_PROFILES=metrics' >> .env
quietly docker compose up --detach --wait --scale worker=2
targets() {
  inside api node --eval "fetch('http://prometheus:9090/api/v1/targets').then(async (r) => {
    for (const { scrapePool, health, lastError } of (await r.json()).data.activeTargets)
      console.log(scrapePool, health, lastError) }, (error) => console.log(String(error)))"
}
for _ in $(seq 60); do
  [ "$(targets | grep -c ' up ')" != 4 ] || break
  sleep 2
done
targets
[ "$(targets | grep -c ' up ')" = 4 ] || fail 'Prometheus does not see one API, two workers and the fleet'

say '8. Each container starts again, one after another'
for service in proxy postgres worker api; do
  quietly docker compose restart --timeout 40 "$service"
  until_answers 60
  up
  reads "after a restart of $service"
done

say '9. A backup, and what it brings back'
inside postgres pg_dump --username assay --format custom assay > assay.dump
late=$(assay tenant create 'Created after the backup' --json | member tenant_id)
quietly docker compose stop api worker
inside postgres pg_restore --username assay --dbname assay --clean --if-exists --no-owner < assay.dump
up
reads 'after a restore'
tenants=$(assay tenant list)
case $tenants in *"$late"*) fail 'the restore kept what came after the backup' ;; esac
case $tenants in *"$tenant"*) ;; *) fail 'the restore lost a tenant' ;; esac

say '10. An upgrade with a migration'
docker build --quiet --tag "$image-next" - >/dev/null <<DOCKERFILE
FROM $image
USER root
RUN echo 'create table try_compose (id int);' > /assay/apps/server/src/db/migrations/9999_try_compose.sql
USER 65532:65532
DOCKERFILE
export ASSAY_IMAGE="$image-next"
pending=$(assay migrate --check || true)
case $pending in *9999_try_compose.sql*) ;; *) fail "migrate --check says: $pending" ;; esac
quietly docker compose up --detach --wait --no-deps api
reads 'after the upgrade of the API'
up
assay doctor --production >/dev/null || fail 'the doctor after the upgrade'
say "   $(assay migrate --check)"
# The version before refuses a database that is ahead of it.
! ASSAY_IMAGE=$image assay migrate >/dev/null 2>&1 || fail 'the old version takes the new schema'

say '11. All of it stops in order, and keeps its data'
worker=$(docker compose ps --quiet worker | head -1)
api=$(docker compose ps --quiet api)
quietly docker compose stop
for container in $worker $api; do
  [ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fail 'a process did not stop in order'
done
quietly docker compose down
up
until_answers 30
reads 'after down and up'
say 'ok'
