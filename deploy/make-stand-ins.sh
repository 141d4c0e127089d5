#!/bin/sh
# Makes images that stand in for the proxy, PostgreSQL and Prometheus of compose.yaml, for deploy/try-compose.sh on a
# machine that reaches no registry of images: `deploy/make-stand-ins.sh`. It needs root, mmdebstrap and Docker. They are
# Debian's packages with what compose.yaml relies on in the originals: paths, users, commands, the stop signal, and a
# PostgreSQL that begins as root and runs the SQL files of /docker-entrypoint-initdb.d on its first start. They are not
# for production.
set -eu
suite=${SUITE:-trixie}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mmdebstrap --variant=minbase --include=ca-certificates,caddy,postgresql,prometheus "$suite" "$work/debian.tar"
docker import "$work/debian.tar" localhost/assay-stand-in:debian >/dev/null

cat > "$work/docker-entrypoint.sh" <<'ENTRYPOINT'
#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown postgres "$PGDATA" /var/run/postgresql
  chmod 0700 "$PGDATA"
  chmod 3775 /var/run/postgresql
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth-local trust --auth-host scram-sha-256
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  # As in the original, this first server listens on its socket alone.
  pg_ctl --wait --options "-c listen_addresses=''" start
  createdb --username "$POSTGRES_USER" --maintenance-db postgres "$POSTGRES_DB"
  for file in /docker-entrypoint-initdb.d/*.sql; do
    psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --no-psqlrc --set ON_ERROR_STOP=1 --file "$file"
  done
  pg_ctl --wait --mode fast stop
fi
exec "$@"
ENTRYPOINT
chmod 0755 "$work/docker-entrypoint.sh"

mkdir "$work/context"
mv "$work/docker-entrypoint.sh" "$work/context"
make() { # name; the rest of the Dockerfile comes from standard input
  { echo FROM localhost/assay-stand-in:debian; cat; } > "$work/context/Dockerfile"
  docker build --quiet --tag "localhost/assay-stand-in:$1" "$work/context"
}
make proxy <<'DOCKERFILE'
RUN install --directory --mode 1777 /config/caddy /data/caddy /srv
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
WORKDIR /srv
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
DOCKERFILE
make postgres <<'DOCKERFILE'
RUN rm -rf /var/lib/postgresql/* && chown postgres:postgres /var/lib/postgresql && \
    ln -sf /usr/lib/postgresql/*/bin/* /usr/local/bin/
COPY docker-entrypoint.sh /usr/local/bin/
ENV PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres", "-c", "listen_addresses=*"]
DOCKERFILE
make prometheus <<'DOCKERFILE'
RUN install --directory --owner nobody --group nogroup /prometheus
USER nobody
VOLUME /prometheus
WORKDIR /prometheus
ENTRYPOINT ["/usr/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
DOCKERFILE
