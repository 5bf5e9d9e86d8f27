#!/bin/bash
# Checks layout, layers, headers, scripts and the man page of what git knows and of new files.
# Runs all checks, names those that fail, and exits 1 if one did.
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8

if [ -e .git ] && command -v git >/dev/null; then
  mapfile -t all < <(git -c safe.directory='*' ls-files -co --exclude-standard | sort -u)
else
  mapfile -t all < <(find . \( -path './build*' -o -path ./tabane-report \) -prune -o \
    -type f -print | sed 's,^\./,,' | sort)
fi
files=()
for file in "${all[@]}"; do [ -f "$file" ] && files+=("$file"); done

# Prints the files whose path matches an extended regular expression.
matching() { printf '%s\n' "${files[@]}" | grep -E "$1"; }
mapfile -t sources < <(matching '\.(h|cc)$')
no_header='-inl\.h$|/bench_truth/'  # of programs with OpenMP
pkg-config --exists ompi-c || no_header+='|^tabane/comm/transport/mpi/'
mapfile -t headers < <(matching '^tabane/.*\.h$' | grep -vE -- "$no_header")
mapfile -t scripts < <(matching '(\.sh|\.bash|^\.ci/run)$')
mapfile -t texts < <(
  matching '(\.(h|cc|cmake|in|py|sh|bash|fish|txt|json|md|cff|1)|Makefile|_tabane|/run)$')
mapfile -t narrow < <(printf '%s\n' "${texts[@]}" | grep -vE '\.(md|json|fish)$|_tabane$')

layout() {
  printf '%s\0' "${sources[@]}" |
    xargs -0 -n 50 -P "$(cmake/jobs.sh)" clang-format --dry-run -Werror
}
layers() {
  python3 cmake/check_layers.py --self-test && python3 cmake/check_layers.py "${sources[@]}"
}
sizes() {
  python3 cmake/check_sizes.py --self-test && python3 cmake/check_sizes.py "${sources[@]}"
}
spaces() { ! grep -nE '[[:blank:]]+$' "${texts[@]}"; }
columns() { ! grep -nE '^.{101,}' "${narrow[@]}"; }
shell() { shellcheck "${scripts[@]}"; }
man_page() {
  local complaints
  complaints=$(sed '/^@/d' docs/tabane.1.in | groff -mandoc -Tutf8 -ww -z 2>&1)
  [ -z "$complaints" ] || { echo "$complaints"; return 1; }
}

# Of an MPI, if there is one; its headers are not ours to check.
mpi_flags() { pkg-config --cflags ompi-c 2>/dev/null | sed 's/-I/-isystem /g'; }

# Compiles each header as if alone: it includes what it uses.
headers_alone() {
  local flags
  flags="$(pkg-config --cflags hwloc libhwy) $(mpi_flags)"
  # shellcheck disable=SC2016  # expanded by the inner shell
  python3 cmake/header_chains.py "${headers[@]}" | xargs -P "$(cmake/jobs.sh)" -I '{}' sh -c '
    printf "#include \"%s\"\n" $2 |
      $1 -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror -I. $0 -x c++ - ||
      { echo "one of these does not compile alone with $1: $2"; exit 1; }' "$flags" "$1" '{}'
}

failed=()
check() {
  local name=$1
  shift
  if "$@"; then echo "lint: $name: ok"; else echo "lint: $name: FAILED"; failed+=("$name"); fi
}
# Like check, where the program is installed.
check_with() {
  local program=$1
  shift
  if command -v "$program" >/dev/null; then
    check "$@"
  else
    echo "lint: $1: left out, no $program"
  fi
}

check_with clang-format "layout" layout
check_with python3 "layers" layers
check_with python3 "sizes" sizes
check "trailing blanks" spaces
check "at most 100 columns" columns
check_with shellcheck "shell scripts" shell
check_with groff "man page" man_page
check_with g++ "headers alone, g++" headers_alone g++
check_with clang++ "headers alone, clang++" headers_alone clang++

[ ${#failed[@]} -eq 0 ] || { echo "lint: failed: ${failed[*]}"; exit 1; }
