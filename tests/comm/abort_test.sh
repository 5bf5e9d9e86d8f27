#!/bin/sh
# usage: abort_test.sh CODE COMMAND…
#
# Succeeds if the command exits with that code; exits 77 if it does.
code=$1
shift
"$@"
ended=$?
[ "$ended" -eq 77 ] && exit 77
[ "$ended" -eq "$code" ] || {
  echo "exited with $ended instead of $code"
  exit 1
}
