#!/bin/bash
# cmake/announce.sh with a small build of empty files: what it says before, between and after.
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/cmake" "$work/build"
cp "$source/cmake/announce.sh" "$work/cmake/"
cd "$work/build"
cat >build.ninja <<'NINJA'
rule configure
  command = touch build.ninja
  generator = 1
rule compile
  command = touch $out
  description = Building CXX object $out
rule link
  command = touch $out
  description = Linking CXX executable $out
build build.ninja: configure list
build a.o: compile
build b.o: compile
build c.o: compile
build few: link a.o
build all: phony few b.o c.o
default all
NINJA
touch list

# check EXPECTED ARGUMENT…: what announce.sh says.
check() {
  local expected=$1 said
  shift
  said=$("$work/cmake/announce.sh" "$@" 2>&1)
  [ "$said" = "$expected" ] || { echo "$*: said '$said', expected '$expected'"; exit 1; }
}
# took SECONDS: each of two files took that long.
took() {
  printf '# ninja log v5\n0\t%d000\t1\ta.o\tx\n0\t%d000\t1\tx.gch\tx\n' "$1" "$1" >.ninja_log
}

check "tabane: compiling 3 files, about 9 seconds on 2 cores at 6 s each" 2
check "tabane: compiling 1 file, about 6 seconds on 1 core at 6 s each; then it measures" \
  1 few "it measures"
check "tabane: compiling 2 files, about 12 seconds on 1 core at 6 s each" 1 "few b.o"
took 120
check "tabane: compiling 3 files, about 3 minutes on 2 cores" 2 ""
took 2
check "tabane: compiling 3 files, about 6 seconds on 1 core" 1
ninja >/dev/null
check "" 2
check "tabane: it measures" 2 few "it measures"
echo "announce.sh: all cases passed"
