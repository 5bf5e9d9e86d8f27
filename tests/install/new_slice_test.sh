#!/bin/bash
# A study and a tool from the template: they touch no file outside their folders, build, run, and
# are known to the help, the man page and the completions.
# usage: new_slice_test.sh TABANE
set -eu
build=$(dirname "$1") source=$(realpath "$(dirname "$0")/../..")
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cxx=$(cached CMAKE_CXX_COMPILER)
[ -z "$(cached TABANE_SANITIZE)" ] || { echo "skipped: the libraries are sanitized"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

mkdir "$work/source"
cp -r "$source"/{.clang-format,CMake*,LICENSE,README.md,GLOSSARY.md} \
  "$source"/{bench,cmake,docs,python,tabane} "$work/source"
cp -r "$work/source" "$work/before"
cd "$work/source"
cmake/new_slice.sh study dummy-study
cmake/new_slice.sh tool dummy-tool
cmake/new_slice.sh tool dummy-tool 2>/dev/null && fail "a folder was made twice"
changed=$(diff -rq "$work/before" . || true)
[ "$(grep -c . <<<"$changed")" = 2 ] || fail "other files changed: $changed"
python3 cmake/check_layers.py tabane/studies/dummy_study/*.* tabane/tools/dummy_tool/*.*

cmake -S . -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DTABANE_TESTS=OFF >/dev/null
modules=$work/build/modules/program
ninja -C "$work/build" modules/program/verb_lists.cc >"$work/log" || { cat "$work/log"; exit 1; }

# Its lists of verbs, and the new modules, with the libraries of the build that is tested.
mkdir -p "$work/bin" "$work/lib/tabane"
compile=("$cxx" -std=c++20 -O0 -fPIC -DFMT_SHARED -I.)
held=()
for library in core simd team comm device lab program tools/{time,tune}; do
  held+=("$build/modules/$library/libtabane_${library#*/}.a")
done
"${compile[@]}" -rdynamic -o "$work/bin/tabane" \
  tabane/program/{main,documents,highway}.cc "$modules"/{verb_lists,build}.cc \
  "$build"/modules/tools/{compare,report,study,survey,time,tune}/CMakeFiles/*_verb.dir/verb*.o \
  -Wl,--whole-archive "${held[@]}" -Wl,--no-whole-archive -lhwloc -lfmt -ldl
ln -s "$build"/lib/tabane_*.so "$work/lib/tabane"
for slice in tools/dummy_tool studies/dummy_study; do
  id=${slice#*/}
  "${compile[@]}" -shared -o "$work/lib/tabane/tabane_$id.so" "$modules/build.cc" \
    tabane/$slice/{verb,"$id"}.cc -lfmt
done

tabane=$work/bin/tabane
[ "$("$tabane" dummy-tool -n 4)" = 10 ] || fail "the tool does not run"
"$tabane" study dummy-study --quick -q --json=- | grep -q clock || fail "the study does not run"
"$tabane" --help | grep -q '^  dummy-tool' || fail "--help does not know the tool"
"$tabane" study --help | grep -q '^  dummy-study' || fail "--help does not know the study"
"$tabane" generate-docs docs/tabane.1.in "$work/documents"
sed -n '/^\.SH MEASURE/,/^\.SH TUNE/p' "$work/documents/tabane.1" | grep -qx '\.SS dummy-tool' ||
  fail "the man page does not show the tool in its group"
for name in dummy-tool dummy-study; do
  grep -q "${name/-/\\\\-}\|$name" "$work/documents/tabane.1" ||
    fail "the man page does not know $name"
  for completion in tabane _tabane tabane.fish; do
    grep -q "$name" "$work/documents/$completion" || fail "$completion does not know $name"
  done
done
for readme in tabane/studies/dummy_study/README.md tabane/tools/dummy_tool/README.md; do
  grep -q "$readme" "$work/build/cmake_install.cmake" || fail "$readme is not installed"
done
