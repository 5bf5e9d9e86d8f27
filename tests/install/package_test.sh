#!/bin/bash
# Installs tabane into a temporary folder, moves it, and uses it there with CMake and pkg-config.
# usage: package_test.sh TABANE
set -euo pipefail
build=$(dirname "$1") examples=$(realpath "$(dirname "$0")/../../examples")
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cmake=$(cached CMAKE_COMMAND) compiler=$(cached CMAKE_CXX_COMPILER)
libdir=$(cached CMAKE_INSTALL_LIBDIR)
# A sanitized library asks its users for the sanitizer.
[ -z "$(cached TABANE_SANITIZE)" ] || { echo "skipped: the libraries are sanitized"; exit 77; }
unset DESTDIR CMAKE_PREFIX_PATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/moved prefix"

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"
mv "$work/prefix" "$prefix"

require() { [ -s "$prefix/$1" ] || { echo "not installed: $1"; exit 1; }; }
require bin/tabane
require include/tabane/core/measurement.h
require include/tabane/simd/reduction.h
require include/tabane/team/team.h
require include/tabane/comm/comm.h
require share/man/man1/tabane.1
require share/man/man1/tabane-time.1
require share/doc/tabane/tabane/tools/encrypt/sealed-format.md
require share/doc/tabane/tabane/tools/encrypt/security-model.md
require share/bash-completion/completions/tabane
require share/zsh/site-functions/_tabane
require share/fish/vendor_completions.d/tabane.fish
if grep -rIlF "$work/prefix" "$prefix"; then
  echo "these files name the prefix and cannot be moved"
  exit 1
fi
"$prefix/bin/tabane" --version >/dev/null
# A verb in a module, with the OpenBLAS that it was linked with: another one has threads of its own.
"$prefix/bin/tabane" linpack -n 50 --ranks 2 --quiet

# The example must see the installed headers and not those of the source tree.
cp -r "$examples" "$work/examples"

echo "== headers"
(cd "$prefix/include" && find tabane -name '*.h') | sed 's/.*/#include "&"/' |
  "$compiler" -std=c++20 -fsyntax-only -I"$prefix/include" -x c++ -

echo "== CMake"
"$cmake" -S "$work/examples" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix"
"$cmake" --build "$work/build"
"$work/build/hello_limits"
"$work/build/team_three_lines"
"$work/build/comm_halo_exchange" 6

echo "== MPI"
export TABANE_MPI_MODULE=$prefix/$libdir/tabane
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# run_under NAME MPIRUN OPTION…: the halo exchange, on four ranks of this MPI if it is there.
run_under() {
  local name=$1
  shift
  if [ -e "$TABANE_MPI_MODULE/libtabane_mpi_$name.so" ] && command -v "$1" >/dev/null; then
    "$@" -n 4 "$work/build/comm_halo_exchange" | tee "$work/said"
    grep -q '^2 x 2 ranks' "$work/said" || { echo "mpirun started no grid of 2 x 2"; exit 1; }
  else
    echo "skipped: no $name"
  fi
}
run_under openmpi mpirun.openmpi --oversubscribe
run_under mpich mpirun.mpich

# The installed program finds its module by itself, wherever it was installed.
unset TABANE_MPI_MODULE
mkdir "$work/in"
echo text >"$work/in/file"
"$prefix/bin/tabane" keygen "$work/key"
# encrypt_under NAME MPIRUN OPTION…: on two ranks of this MPI if it is there.
encrypt_under() {
  local name=$1
  shift
  [ -e "$prefix/$libdir/tabane/libtabane_mpi_$name.so" ] && command -v "$1" >/dev/null || return 0
  "$@" -n 2 "$prefix/bin/tabane" encrypt --quiet --key-file "$work/key" "$work/in" "$work/$name"
  "$prefix/bin/tabane" decrypt --quiet --key-file "$work/key" "$work/$name" "$work/$name.back"
  cmp "$work/in/file" "$work/$name.back/file"
}
encrypt_under openmpi mpirun.openmpi --oversubscribe
encrypt_under mpich mpirun.mpich

echo "== pkg-config"
# A prefix with a blank needs more care than a command line allows.
mv "$prefix" "$work/plain"
export PKG_CONFIG_PATH=$work/plain/$libdir/pkgconfig
pkg-config --modversion tabane
# shellcheck disable=SC2046  # flags are separate words
"$compiler" -std=c++20 -O2 "$work/examples/hello_limits.cc" $(pkg-config --cflags --libs tabane) \
  -o "$work/hello_limits"
"$work/hello_limits" | grep '^ratio'
