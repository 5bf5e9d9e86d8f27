#!/bin/bash
# Follows the first stage of the Dockerfile in a fresh Debian 12 and compares the packages that it
# makes there with those here, byte for byte. Both have the sources of the last commit, but
# another path, user environment, time zone, language and number of compilers.
# usage: packaging/reproduce.sh [PACKAGES]     build-package/packages by default
#
# Needs root and mmdebstrap. It compiles all of tabane once.
# shellcheck disable=SC2016  # for mmdebstrap to expand
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath "${1:-build-package/packages}")
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
mkdir "$here/tabane"
git archive HEAD | tar x -C "$here/tabane"

# Debian as here, with its updates: the tarball has libraries of it.
sources=(/etc/apt/sources.list.d/debian.sources)
[ -e "${sources[0]}" ] || sources=(/etc/apt/sources.list)
include=$(sed -n 's/^RUN apt-get update && apt-get install -y --no-install-recommends //p' \
  packaging/Dockerfile)
{
  echo "set -e; export TZ=Pacific/Kiritimati LANG=C JOBS=3"
  echo "export SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)"
  sed -n 's/^RUN make/make/p' packaging/Dockerfile
} >"$here/steps"
mmdebstrap --quiet --variant=minbase --include="${include// /,}" \
  --customize-hook="copy-in $here/tabane $here/steps /" \
  --customize-hook='chroot "$1" sh /steps >&2' \
  --customize-hook="copy-out /tabane/build-package/packages/SHA256SUMS $here" \
  bookworm /dev/null "${sources[@]}"
diff "$packages/SHA256SUMS" "$here/SHA256SUMS"
echo "all packages are the same"
