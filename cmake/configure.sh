#!/bin/sh
# Configures build/ with the named options on, unless it is already and no MPI is new; silent then.
# Of what cmake says, which is in build/configure.log, it shows what is missing, or the end of a
# failure.
# usage: cmake/configure.sh [OPTION…]
#
# A new build/ leaves out tests and comparisons, so that it needs no more than [survey]. An option
# that is on stays on.
set -eu
cd "$(dirname "$0")/.."

set_in_cache() { grep -q "^$1:BOOL=ON" build/CMakeCache.txt 2>/dev/null; }

needed=no
[ -f build/build.ninja ] || needed=yes
for option in "$@"; do
  set_in_cache "$option" || needed=yes
done
# An MPI that was installed since then.
for mpi in openmpi:ompi-c mpich:mpich; do
  grep -qs "libtabane_mpi_${mpi%:*}" build/build.ninja || ! pkg-config --exists "${mpi#*:}" ||
    needed=yes
done
[ "$needed" = yes ] || exit 0

flags=
for option in TABANE_TESTS TABANE_BENCH; do
  value=OFF
  case " $* " in *" $option "*) value=ON ;; esac
  set_in_cache "$option" && [ -f build/build.ninja ] && value=ON
  flags="$flags -D$option=$value"
done
mkdir -p build
log=build/configure.log
# shellcheck disable=SC2086  # flags are separate words
cmake --preset release $flags >$log 2>&1 || {
  tail -n 20 $log >&2
  echo "tabane: cmake failed; all that it said is in $log" >&2
  exit 1
}
sed -n 's/^-- \(No .* built without\)/tabane: \1/p' $log >&2
