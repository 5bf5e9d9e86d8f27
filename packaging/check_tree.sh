#!/bin/bash
# Fails if a program or library in a tree needs more of the host than README.md states: newer
# versions of symbols, or libraries that are not in the tree.
# usage: packaging/check_tree.sh TREE
set -euo pipefail
declare -A newest=([GLIBC]=2.34 [GLIBCXX]=3.4.29 [CXXABI]=1.3.13 [GCC]=11.1)  # as in GCC 11
host='lib(c|m|gcc_s|stdc\+\+)\.so|ld-linux-'
optional='lib(mpi|mpich|OpenCL)\.so'  # of modules that are loaded where these are
grep -q "glibc ${newest[GLIBC]}" "$(dirname "$0")/../README.md" ||
  { echo "README.md does not state glibc ${newest[GLIBC]}"; exit 1; }

failed=0 count=0
complain() { echo "$*"; failed=1; }
while read -r file; do
  head -c 4 "$file" | grep -q ELF || continue
  count=$((count + 1))
  while read -r symbols version; do
    [ "$(printf '%s\n' "${newest[$symbols]}" "$version" | sort -V | tail -1)" = \
      "${newest[$symbols]}" ] || complain "$file needs ${symbols}_$version"
  done < <(readelf -WV "$file" |
    grep -oE '\b((GLIBC|GLIBCXX|CXXABI|GCC)_[0-9][0-9.]*|GLIBC_ABI_\w+)' | sort -u | sed 's/_/ /')
  while read -r library; do
    [[ $library =~ ^($host) ]] || [ -e "$1/lib/tabane/$library" ] ||
      [[ $file =~ /libtabane_[^/]*$ && $library =~ ^$optional ]] ||
      complain "$file needs $library, which is not in the tree"
  done < <(readelf -Wd "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
done < <(find "$1" -type f)
[ "$count" -gt 0 ] || complain "$1 has neither programs nor libraries"
exit $failed
