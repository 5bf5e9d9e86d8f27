#!/bin/bash
# cmake/setup.sh with a false dpkg, id and apt-get: what it finds missing, and what it does then.
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/cmake" "$work/bin" "$work/tabane/library" "$work/tabane/tools/slice" \
  "$work/tabane/studies/one" "$work/tabane/studies/other"
cp "$source/cmake/setup.sh" "$work/cmake/"
cat >"$work/packages.txt" <<'LIST'
# a comment
[survey] words after the section
alpha      why
beta       [amd64] why [really]
gamma      [arm64 riscv64] why

[test]
delta      why
LIST
printf '[bench]\nepsilon    why\n' >"$work/tabane/library/packages.txt"
printf 'nothing    of no section\n[bench]\nzeta       why\n' \
  >"$work/tabane/tools/slice/packages.txt"
for study in one other; do
  printf '[bench]\nfor_bench  why\n[study]\nfor_%s  why\n' $study \
    >"$work/tabane/studies/$study/packages.txt"
done
fake() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
# shellcheck disable=SC2016  # for the fake to expand
fake apt-get 'case $* in
  *--print-uris) printf "%b\n" "Reading…" "\047http://a/b.deb\047 b.deb 1400000 SHA256:1" \
      "\047http://a/c.deb\047 c.deb 1200000 SHA256:2"; exit ;;
  esac
  echo "apt-get $*" >>"$APT_LOG"; seq 100; echo "E: why" >&2; [ ! -e "$APT_LOG.fails" ]'
# shellcheck disable=SC2016
fake sudo '[ "$1" != -n ] || shift; [ -e "$APT_LOG.sudo" ] && exec "$@"'
export APT_LOG=$work/apt.log
for program in sh awk dirname env mkdir seq tail true; do
  ln -s "$(type -P $program)" "$work/bin/$program"
done

# check NAME EXIT_CODE PATTERN SECTION…: runs setup.sh; PATTERN must match its messages.
check() {
  local name=$1 code=$2 pattern=$3 got=0
  shift 3
  : >"$APT_LOG"
  PATH=$work/bin sh "$work/cmake/setup.sh" "$@" >"$work/said" 2>&1 </dev/null || got=$?
  [ "$got" -eq "$code" ] || { echo "$name: exit $got, expected $code"; cat "$work/said"; exit 1; }
  [[ "$(cat "$work/said")" =~ $pattern ]] || { echo "$name: said"; cat "$work/said"; exit 1; }
}
wrong_calls() { echo "$1"; cat "$APT_LOG"; exit 1; }
apt_was_called_with() { grep -q -- "$1" "$APT_LOG" || wrong_calls "no apt-get $1:"; }
apt_was_not_called() { [ ! -s "$APT_LOG" ] || wrong_calls "apt-get was called:"; }

fake id 'echo 1000'
check "without dpkg: names all, goes on" 0 'not a Debian.* alpha beta gamma$' survey
check "a section of several files" 0 'Debian 12 calls epsilon for_bench for_bench zeta$' bench
check "all studies" 0 'Debian 12 calls for_one for_other$' study
check "one study" 0 'Debian 12 calls for_other$' study/other
check "a study that needs nothing" 0 'Debian 12 calls$' study/no_list

fake dpkg 'echo amd64'
fake dpkg-query 'echo "installed alpha, "; echo "installed beta2, old, beta (= 2), older"'
check "all there or provided: silent" 0 '^$' survey
apt_was_not_called

fake dpkg-query 'echo "installed alpha, "; echo "config-files beta, "'
check "user: names what is missing" 1 \
  'missing: beta delta'$'\n''.*apt-get install.* beta delta' survey test
apt_was_not_called

touch "$APT_LOG.sudo"
check "user with sudo: installs" 0 ': beta$' survey
apt_was_called_with 'install --no-install-recommends -y beta$'

fake id 'echo 0'
quiet='^tabane: renewing[^'$'\n'']*'$'\n''tabane: installing 2 packages \(about 3 MB\), .*: beta$'
check "root: installs what is missing" 0 "$quiet" survey
apt_was_called_with 'update$'
apt_was_called_with 'install --no-install-recommends -y beta$'

touch "$APT_LOG.fails"
check "apt-get fails" 1 \
  ': beta'$'\n''82'$'\n''.*'$'\n''E: why'$'\n''.* not be installed: beta; .* in build/setup.log$' \
  survey

fake dpkg 'echo arm64'
check "another architecture" 1 'could not be installed: gamma' survey
check "unknown section" 2 'no section \[surve\]' surve

# make study names the studies that there are.
for name in nothing "" "ap1000 ha8000"; do
  if said=$(make -s -C "$source" study NAME="$name" 2>&1); then
    echo "make study NAME='$name' did not fail: $said"
    exit 1
  fi
  [[ $said == *"'$name' is no study; use NAME= and one of"*" process-thread"* ]] ||
    { echo "make study NAME='$name' said: $said"; exit 1; }
done
echo "setup.sh: all cases passed"
