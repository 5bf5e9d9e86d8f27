#!/bin/bash
# What packages and documents are made with: which trees check_tree.sh refuses, which version the
# recipes name, and what headers and Doxygen's complaints become.
# usage: packaging_test.sh TABANE
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
cxx=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$(dirname "$1")/CMakeCache.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME PATTERN: what check_tree.sh says of $work/tree; it refuses it unless that is nothing.
check() {
  local said code=0
  said=$("${checker:-$source/packaging/check_tree.sh}" "$work/tree" 2>&1) || code=$?
  [[ $said =~ $2 && $code = $([ -z "$said" ]; echo $?) ]] ||
    { echo "$1: exit $code, said '$said'"; exit 1; }
}
mkdir -p "$work/tree/bin" "$work/tree/lib/tabane"
check "nothing in it" 'neither programs nor libraries'
echo 'int main() {}' | "$cxx" -x c++ - -o "$work/tree/bin/plain"
check "what each host has" '^$'
for version in 2.34 2.35 ABI_DT_RELR; do
  echo "GLIBC_$version { global: *; };" >"$work/versions"
  echo 'extern "C" void f() {}' | "$cxx" -shared -fPIC -x c++ - -o "$work/libf.so" \
    -Wl,-soname,libf.so -Wl,--version-script="$work/versions"
  echo 'extern "C" void f(); int main() { f(); }' |
    "$cxx" -x c++ - -x none "$work/libf.so" -o "$work/tree/bin/asks"
  [ $version != 2.34 ] || check "one that is not there" '^[^ ]*/asks needs libf.so, which[^/]*$'
  cp "$work/libf.so" "$work/tree/lib/tabane/libf.so"
  [ $version != 2.34 ] || check "a library of the tree" '^$'
  [ $version = 2.34 ] || check "a newer symbol" "/asks needs GLIBC_$version"
done
rm "$work/tree/bin/asks" "$work/tree/lib/tabane/libf.so"
mkdir "$work/elsewhere"
echo 'glibc 2.17' >"$work/README.md"
cp "$source/packaging/check_tree.sh" "$work/elsewhere"
checker=$work/elsewhere/check_tree.sh check "another minimum in README.md" 'does not state glibc'

version=$(sed -n 's/^ *VERSION //p' "$source/CMakeLists.txt")
has() { grep -qxF "$2" "$source/$1" || { echo "$1 does not say $2"; exit 1; }; }
has CITATION.cff "version: $version"
has packaging/package.py "    version(\"$version\")"
has "packaging/tabane-$version-GCC-13.3.0.eb" "version = '$version'"
if grep -rohE 'tabane[@-][0-9]+(\.[0-9]+)+' "$source/packaging" | grep -vxF -e "tabane@$version" \
  -e "tabane-$version"; then
  echo "a recipe says that, not version $version"
  exit 1
fi
for recipe in package.py "tabane-$version-GCC-13.3.0.eb"; do
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$source/packaging/$recipe"
done

PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$source/docs/site python3 - <<'TEST'
from headers import as_doxygen
from make import undocumented

header = """// The file.
#pragma once
struct A {
  int a = 0;  // one
};
struct B { int b; };
// Both.
//   code
void f(int);
void g(A a = {});

void h() {
  // no documentation
}
""".split("\n")
made = list(as_doxygen("x.h", header))
assert made == """/// @file
/// The file.
#pragma once
/// See its members, and x.h.
struct A {
  int a = 0;  ///< one
};
struct B { int b; };
///@{
/// Both.
///      code
void f(int);
void g(A a = {});
///@}

void h() {
  // no documentation
}
""".split("\n"), "\n".join(made)

said = """x.h:1: warning: Compound a::B is not documented.
x.h:2: warning: Member f(int x) (function) of namespace a is not documented.
x.h:3: warning: Member f(int x) (function) of class a::B is not documented.
x.h:4: warning: unbalanced grouping commands""".split("\n")
assert list(undocumented(said, [])) == [said[0], said[1], said[3]]
assert list(undocumented(said[:3], ["a::B", "a::f"])) == []
assert [text.split()[0] for text in undocumented([], ["a::B"])] == ["a::B"]
TEST
echo "packaging: all cases passed"
