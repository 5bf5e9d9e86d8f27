#!/bin/sh
# Installs the packages of sections of packages.txt, that of the root and those of folders below
# tabane/, that are missing; silent if none is.
# usage: cmake/setup.sh SECTION…
#
# study/FOLDER is the section [study] of tabane/studies/FOLDER alone, which need not have one.
# Exits 1 if packages are missing and cannot be installed, after naming them. What apt-get says is
# in build/setup.log. On a system without dpkg it names what is needed and exits 0: CMake then
# tells what it does not find.
set -eu

cd "$(dirname "$0")/.."

say() { printf 'tabane: %s\n' "$*" >&2; }

# Prints the package names of one section for an architecture; all lines if it is empty.
packages_of() {
  section=$1
  lists="packages.txt tabane/*/packages.txt tabane/*/*/packages.txt"
  case $1 in
    study/*)
      section=study lists=tabane/studies/${1#study/}/packages.txt
      [ -e "$lists" ] || return 0 ;;
  esac
  # shellcheck disable=SC2086  # patterns of names
  awk -v section="$section" -v arch="$2" '
    FNR == 1 { found = 0 }
    /^\[/ { found = ($0 ~ "^\\[" section "\\]"); known = known || found; next }
    !found || /^ *(#|$)/ { next }
    $2 ~ /^\[/ && arch != "" {
      # "[amd64]" or "[amd64 arm64]"
      only = $0; sub(/^[^[]*\[/, "", only); sub(/\].*/, "", only)
      if (index(" " only " ", " " arch " ") == 0) next
    }
    { print $1 }
    END { exit !known }' $lists
}

# Prints the wanted packages that are neither installed nor provided by an installed one.
missing_of() {
  dpkg-query -W -f '${db:Status-Status} ${Package}, ${Provides}\n' | awk -v wanted="$*" '
    $1 == "installed" {
      sub(/^installed /, "")
      count = split($0, names, /, */)
      for (i = 1; i <= count; ++i) { sub(/ .*/, "", names[i]); have[names[i]] = 1 }
    }
    END {
      count = split(wanted, names, " ")
      for (i = 1; i <= count; ++i) {
        if (!(names[i] in have)) { printf "%s%s", gap, names[i]; gap = " " }
      }
    }'
}

[ $# -gt 0 ] || { say "usage: cmake/setup.sh SECTION…"; exit 2; }

arch=
command -v dpkg >/dev/null 2>&1 && arch=$(dpkg --print-architecture)
wanted=
for section in "$@"; do
  names=$(packages_of "$section" "$arch") || {
    say "packages.txt has no section [$section]"
    exit 2
  }
  wanted="$wanted $names"
done

if [ -z "$arch" ]; then
  # shellcheck disable=SC2086  # names are separate words
  say "this is not a Debian system; tabane needs what Debian 12 calls" $wanted
  exit 0
fi

# shellcheck disable=SC2086  # names are separate words
missing=$(missing_of $wanted)
[ -n "$missing" ] || exit 0

# shellcheck disable=SC2086  # names are separate words
set -- $missing
log=build/setup.log

as_root=
if [ "$(id -u)" -ne 0 ]; then
  as_root=sudo
  if ! sudo -n true 2>/dev/null; then
    say "these packages are missing: $missing"
    if ! command -v sudo >/dev/null || [ ! -t 0 ] || ! sudo true; then  # asks for the password
      say "install them as root:"
      say "  apt-get update && apt-get install --no-install-recommends $missing"
      say "or, if you have them from elsewhere, leave this step out with: make SETUP=no …"
      exit 1
    fi
  fi
fi

apt_get() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

mkdir -p build
say "renewing the package lists; what apt-get says is in $log"
apt_get update >"$log" 2>&1 ||
  say "the package lists could not be renewed; trying with those that are here"
set -- install --no-install-recommends -y "$@"
size=$(apt_get "$@" --print-uris 2>/dev/null | awk '
  substr($0, 1, 1) == "\047" { ++files; bytes += $3 }
  END { if (files) printf " %d packages (about %.0f MB),", files, bytes / 1e6 }')
say "installing$size because these are missing: $missing"
apt_get "$@" >>"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  say "these packages could not be installed: $missing; all that apt-get said is in $log"
  exit 1
}
