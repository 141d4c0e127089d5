#!/bin/sh
# Asks every query of the dashboard and of the alerts of a real Prometheus that scrapes a sandbox under load:
# `deploy/check-dashboard.sh`. It needs `npm ci`, and prometheus (on Debian: `apt-get install prometheus`; PROMETHEUS names
# another place). It prints which queries have series, and fails if one has none that should.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/node_modules/.bin:$PATH
node --test test/operations/dashboard-queries.ts
