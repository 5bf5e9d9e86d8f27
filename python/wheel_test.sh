#!/bin/sh
# Makes a wheel as `pip install .` does, and runs the example from it in a fresh environment.
# usage: python/wheel_test.sh [OPTION-OF-PIP…]
#
# Exits 77, and says why, where something for it is missing. The first time takes as long as to
# compile all of tabane; later ones use build-wheel/ again.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

skip() {
  echo "python/wheel_test.sh: left out, $1" >&2
  exit 77
}

python3 -m venv "$folder/venv" 2>"$folder/log" || skip "python3 makes no environment (python3-venv)"
pip="$folder/venv/bin/pip --disable-pip-version-check --quiet"
$pip download --no-deps -d "$folder/found" 'scikit-build-core>=0.10' 'pybind11>=2.10' \
  >"$folder/log" 2>&1 || skip "pip does not get scikit-build-core and pybind11"
$pip wheel --no-deps -w "$folder/wheel" "$@" .
$pip install "$folder"/wheel/*.whl numpy pandas
cp python/example_test.py "$folder"
cd "$folder"
env -i HOME="$folder" PATH=/usr/bin:/bin venv/bin/python example_test.py
venv/bin/python -X importtime -c 'import tabane' 2>&1 | tail -n 1
ls -l --block-size=kB wheel
