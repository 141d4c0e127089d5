#!/bin/sh
# Builds the image without a daemon: `deploy/build-image.sh [tag]`. It needs buildah, and root or a user namespace.
#
# With ASSAY_IMAGE_BASE=debian the base image is made here, from Debian's packages and the Node of the lockfile, for
# machines that reach no registry of images. That needs mmdebstrap and a tree in which `npm ci` has run.
set -eu
cd "$(dirname "$0")/.."
tag=${1:-assay}
base=$(sed -n 's/^ARG NODE_IMAGE=//p' deploy/Dockerfile)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot

if [ "${ASSAY_IMAGE_BASE:-}" = debian ]; then
  base=localhost/assay-node:24
fi
if [ "$base" = localhost/assay-node:24 ] && ! buildah inspect --type image "$base" >/dev/null 2>&1; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mmdebstrap --variant=minbase --include=ca-certificates bookworm "$work/debian.tar"
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$work/debian.tar" /
  buildah copy --quiet "$container" node_modules/node-linux-*/bin/node /usr/local/bin/node
  npm_home=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  buildah copy --quiet "$container" "$npm_home" /usr/local/lib/node_modules/npm
  # This machine may trust more authorities than Debian does, such as that of a proxy which the packages come through.
  buildah copy --quiet "$container" /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
  buildah run "$container" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  buildah config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$container"
  buildah commit --quiet --rm "$container" "$base"
fi

# A name with localhost is an image of this machine, which no registry has.
case $base in localhost/*) pull=--pull-never ;; *) pull=--pull ;; esac

# The health check is part of the docker format only.
buildah bud "$pull" --format docker --file deploy/Dockerfile --ignorefile deploy/Dockerfile.dockerignore \
  --build-arg NODE_IMAGE="$base" --tag "$tag" .
