#!/bin/sh
# Checks the alert rules, their tests and the scrape configuration: `deploy/check-alerts.sh`. It needs promtool, which
# comes with Prometheus (on Debian: `apt-get install prometheus`).
set -eu
cd "$(dirname "$0")"
promtool=${PROMTOOL:-promtool}
"$promtool" check rules alerts.yaml
"$promtool" test rules alerts.test.yaml
# The file with the token exists in the container only.
"$promtool" check config --syntax-only prometheus.yaml
