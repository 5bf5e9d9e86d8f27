#!/bin/bash
# Makes packages in a build of its own, with paths of this machine in none of them:
# Debian packages, and a tarball that runs where it was unpacked, with its libraries.
# usage: packaging/make.sh [BUILD]
#
# BUILD is build-package by default; the packages are in BUILD/packages. Equal sources give equal
# bytes: the time that packages name is SOURCE_DATE_EPOCH, by default that of the last commit, or,
# without git, of the last change to CHANGELOG.md.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build-package}")
[[ $build != *[[:space:]]* ]] || { echo "$build: the path must have no blanks" >&2; exit 2; }
packages=$build/packages
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
  stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8
umask 022

# build OPTION…: all of tabane, linked as the options say.
build() {
  cmake --preset release -B "$build" -DTABANE_TESTS=OFF -DTABANE_BENCH=OFF -DTABANE_PACKAGE=ON \
    -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib "$@" >/dev/null
  cmake --build "$build" --parallel "${JOBS:-$(cmake/jobs.sh)}"
}

rm -rf "$packages"
build -DCMAKE_EXE_LINKER_FLAGS= -DCMAKE_MODULE_LINKER_FLAGS= -DCMAKE_INSTALL_RPATH= \
  -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON
cpack --config "$build/CPackConfig.cmake" -B "$packages"
rm -r "$packages/_CPack_Packages"

# The tarball. A library of the host finds what it needs here, too: hence the program's old tags.
g++ -O2 -fPIC -c packaging/old_symbols.cc -o "$build/old_symbols.o"
flags="$build/old_symbols.o -Wl,--wrap=hypot"
flags+=" -Wl,--wrap=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
# shellcheck disable=SC2016  # for the dynamic linker to expand
build -DCMAKE_EXE_LINKER_FLAGS="$flags -Wl,--disable-new-dtags" \
  -DCMAKE_MODULE_LINKER_FLAGS="$flags" -DCMAKE_INSTALL_RPATH='$ORIGIN/../lib/tabane;$ORIGIN' \
  -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=OFF
tree=$packages/tabane
for component in program openmpi mpich doc; do
  cmake --install "$build" --prefix "$tree" --component $component --strip >/dev/null
done

# What each Linux has is left to the host, and so is MPI: a cluster has its own.
ldd "$build/tabane" "$build"/tabane_*.so | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' |
  sort -u | grep -vE '^(lib(c|m|gcc_s|stdc\+\+)\.so|ld-linux)' |
  while read -r name path; do
    install -m 644 "$path" "$tree/lib/tabane/$name"
    path=$(realpath "$path")
    # Debian 12 knows some by their path before /lib became a link.
    owner=$({ dpkg-query -S "$path" "${path#/usr}" 2>/dev/null || :; } | sed 's/:.*//;q')
    install -D -m 644 "/usr/share/doc/$owner/copyright" "$tree/share/doc/tabane/licences/$owner"
  done
packaging/check_tree.sh "$tree"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:.*=//p' "$build/CMakeCache.txt")
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
  -C "$packages" -c tabane | gzip -9n >"$packages/tabane-$version-linux-$(uname -m).tar.gz"
rm -r "$tree"
(cd "$packages" && sha256sum -- * >SHA256SUMS && ls -l --block-size=kB)
