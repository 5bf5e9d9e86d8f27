#!/bin/sh
# Makes build-aarch64/sysroot/: Debian 12's packages for aarch64 that tabane is built and tested
# with, extracted only. Leaves one that is there and newer than packages.txt as it is.
set -eu

cd "$(dirname "$0")/.."
sysroot=build-aarch64/sysroot
[ ! -d $sysroot ] || [ -n "$(find packages.txt -newer $sysroot)" ] || exit 0

# The libraries of [survey] and GoogleTest.
libraries=$(awk '
  /^\[/ { found = ($0 ~ /^\[survey\]/) }
  found && $1 ~ /-(dev|headers)$/ && $2 != "[amd64]" { printf "%s,", $1 }' packages.txt)
mkdir -p build-aarch64
rm -rf $sysroot.new  # of a run that was interrupted
mmdebstrap --arch=arm64 --variant=extract --include="${libraries}libgtest-dev,libstdc++-12-dev" \
  bookworm $sysroot.new >build-aarch64/sysroot.log 2>&1 || {
  cat build-aarch64/sysroot.log >&2
  rm -rf $sysroot.new
  exit 1
}
touch $sysroot.new  # the archive sets its time
rm -rf $sysroot
mv $sysroot.new $sysroot
