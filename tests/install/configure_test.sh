#!/bin/bash
# cmake/configure.sh with a false cmake and pkg-config: when it configures, and with what. And a
# processor that CMake refuses.
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/cmake" "$work/bin"
cp "$source/cmake/configure.sh" "$work/cmake/"
fake() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
# shellcheck disable=SC2016  # for the fakes to expand
{
  fake cmake 'echo "cmake $*" >>"$CALLS"; seq 100; echo "-- No mpi (Debian: x): built without it"
    echo "-- Found y"; exit "${FAILS-0}"'
  fake pkg-config 'case " $FAKE_MPIS " in *" $2 "*) ;; *) exit 1 ;; esac'
}

export CALLS=$work/calls

# configure OPTION…: with the fakes, and all that it says.
configure() {
  : >"$CALLS"
  PATH=$work/bin:$PATH "$work/cmake/configure.sh" "$@" 2>&1
}

# check EXPECTED MPIS OPTION…: what configure.sh starts where pkg-config knows these MPIs.
check() {
  local expected=$1 mpis=$2 said lacks=
  shift 2
  said=$(FAKE_MPIS=$mpis configure "$@")
  [ -z "$expected" ] || lacks="tabane: No mpi (Debian: x): built without it"
  [ "$(cat "$CALLS")$said" = "$expected$lacks" ] || {
    printf 'configure.sh %s with "%s":\n%s\nexpected:\n%s\n' "$*" "$mpis" \
      "$(cat "$CALLS")$said" "$expected$lacks"
    exit 1
  }
}

plain="cmake --preset release -DTABANE_TESTS=OFF -DTABANE_BENCH=OFF"
with_tests="cmake --preset release -DTABANE_TESTS=ON -DTABANE_BENCH=OFF"
check "$plain" ""
mkdir -p "$work/build"
echo "build lib/libtabane_opencl.so" >"$work/build/build.ninja"
check "" ""
check "$plain" "ompi-c"
check "$plain" "mpich"
check "$with_tests" "" TABANE_TESTS
echo "TABANE_TESTS:BOOL=ON" >"$work/build/CMakeCache.txt"
check "" "" TABANE_TESTS
check "$with_tests" "mpich"
echo "build lib/libtabane_mpi_openmpi.so" >>"$work/build/build.ninja"
check "" "ompi-c"
check "$with_tests" "ompi-c mpich"
code=0
said=$(FAILS=3 FAKE_MPIS='' configure TABANE_BENCH) || code=$?
if [ $code -ne 1 ] || [ "$(wc -l <<<"$said")" -ne 21 ] ||
  [[ $said != *"-- Found y"*"all that it said is in build/configure.log" ]] ||
  [ "$(wc -l <"$work/build/configure.log")" -ne 102 ]; then
  echo "where cmake fails: exit $code: $said"
  exit 1
fi

# refused COMPILER OPTION: that CMake refuses the processor; without linking, which needs libraries.
refused() {
  if ! "$1" "$2" -S -o /dev/null -x c++ /dev/null 2>/dev/null; then
    echo "left out: there is no $1 $2"
    return
  fi
  said=$(cmake -S "$source" -B "$work/refused$2" -DCMAKE_CXX_COMPILER="$1" -DCMAKE_CXX_FLAGS="$2" \
    -DCMAKE_C_COMPILER="${1/%++/cc}" -DCMAKE_C_FLAGS="$2" \
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY 2>&1) && code=0 || code=$?
  if [ $code -eq 0 ] || [[ $said != *"tabane is for processors of 64 bits"* ]]; then
    echo "cmake for $1 $2: exit $code: $said"
    exit 1
  fi
}
refused g++ -m32
refused aarch64-linux-gnu-g++ -mbig-endian
echo "configure.sh: all cases passed"
