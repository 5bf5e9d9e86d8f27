#!/bin/bash
# Tries packages in fresh systems that have nothing beyond what their distribution calls minimal:
# the tarball as a user without rights, and the Debian packages in Debian 12.
# usage: packaging/try.sh [PACKAGES [SUITE…]]
#
# PACKAGES is build-package/packages, the suites are bookworm, trixie and jammy (Ubuntu 22.04), by
# default. Needs root, mmdebstrap, and their mirrors.
# shellcheck disable=SC2016  # for mmdebstrap to expand
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath "${1:-build-package/packages}")
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- bookworm trixie jammy
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
[[ $packages$here != *[[:space:]]* ]] ||
  { echo "$packages, $here: the paths must have no blanks" >&2; exit 2; }
chmod 755 "$here"  # apt reads keys as another user

cat >"$here/tarball" <<'TRY'
set -eu
cd "$HOME"
for program in c++ gnuplot; do
  if command -v $program; then exit 1; fi
done
start=$(date +%s)
tar xf /try/tabane-*.tar.gz
./tabane/bin/tabane survey --quick -o report 2>&1 | while IFS= read -r line; do
  case $line in *clock.core_rate*) [ -e first ] || date +%s >first ;; esac
  echo "$line"
done >said
grep -q '</html>' report/report.html || { cat said; exit 1; }
echo "from tar to the first figure: $(($(cat first) - start)) s, to the report: $((
  $(date +%s) - start)) s; $(grep -m1 clock.core_rate said)"
export PATH=$HOME/tabane/bin:$PATH LD_BIND_NOW=1  # all symbols, not only those that are used
tabane linpack -n 100 --ranks 2 -q
tabane matmul -n 20 -q
for verb in scg slalom mine simulate epub; do tabane $verb --help >help; done
for study in ha8000 pc-cluster process-thread ap1000 ap1000-applications aes-folder; do
  tabane study $study --help >help
done
tabane keygen key 2>note
echo text >plain
tabane encrypt -q --key-file key plain sealed
tabane decrypt -q --key-file key sealed back
cmp plain back
TRY
cat >"$here/deb" <<'TRY'
set -eu
cd /try
apt-get install -qy --no-install-recommends ./tabane_*.deb ./libtabane-dev_*.deb \
  ./tabane-doc_*.deb g++ pkg-config >log 2>&1 || { cat log; exit 1; }
tabane --version
tabane linpack -n 100 --ranks 2 -q
tabane survey --quick -o /tmp/report >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }
grep -q '</html>' /tmp/report/report.html
c++ -std=c++20 hello_limits.cc $(pkg-config --cflags --libs tabane) -o /tmp/hello
/tmp/hello | grep '^ratio'
apt-get install -qy --no-install-recommends ./tabane-openmpi_*.deb openmpi-bin >log 2>&1 ||
  { cat log; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --oversubscribe -n 4 tabane linpack -n 100 -q
apt-get purge -qy tabane libtabane-dev tabane-doc >log 2>&1 || { cat log; exit 1; }
if find /usr -name '*tabane*' | grep .; then exit 1; fi
TRY

for suite in "$@"; do
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  case $suite in
    jammy | noble)  # Debian 13 has Ubuntu's keys
      mmdebstrap --quiet --variant=extract --include=ubuntu-archive-keyring trixie \
        "$here/$suite"
      keys=$here/$suite/usr/share/keyrings/ubuntu-archive-keyring.gpg ;;
  esac
  hooks=(
    --customize-hook='mkdir "$1/try"'
    --customize-hook="copy-in $here/tarball $here/deb examples/hello_limits.cc /try"
    --customize-hook="copy-in $(echo "$packages"/*.tar.gz "$packages"/*.deb) /try"
    --customize-hook='chroot "$1" useradd -m guest'
    --customize-hook='chroot "$1" setpriv --reuid=guest --regid=guest --clear-groups \
      env HOME=/home/guest sh /try/tarball'
  )
  [ "$suite" != bookworm ] || hooks+=(--customize-hook='chroot "$1" sh /try/deb')
  echo "== $suite"
  mmdebstrap --quiet --variant=minbase --include=apt --keyring="$keys" "${hooks[@]}" \
    "$suite" /dev/null
done
echo "all tried"
