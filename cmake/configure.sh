#!/bin/sh
# Configures build/ with the named options on, unless it is already and no MPI is new; silent then.
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
# shellcheck disable=SC2086  # flags are separate words
exec cmake --preset release $flags
