#!/bin/sh
# Says how many files will be compiled, about how long that takes, and what comes then; silent if
# there is neither.
# usage: cmake/announce.sh JOBS [TARGETS [THEN]]
#
# A file takes as long as those in build/ took on average, or about 6 s if there are none.
set -eu
cd "$(dirname "$0")/../build"

ninja build.ninja >/dev/null || exit 0  # a new source configures again; the build tells what fails
# build.ninja itself would want to configure first, which a dry run cannot.
# shellcheck disable=SC2086  # targets are separate words
files=$(echo include build.ninja | ninja -n -f /dev/stdin ${2-} | grep -c 'Building C') || :
[ -e .ninja_log ] || : >.ninja_log
awk -v files="$files" -v jobs="$1" -v after="${3-}" '
  function count_of(n, what) { return sprintf("%.0f %s%s", n, what, n < 1.5 ? "" : "s") }
  $4 ~ /\.(o|gch)$/ { ++done; spent += ($2 - $1) / 1000 }
  END {
    seconds = files / jobs * (done ? spent / done : 6)
    if (files) {
      said = "compiling " count_of(files, "file") ", about " (seconds < 90 ? count_of(seconds,
             "second") : count_of(seconds / 60, "minute")) " on " count_of(jobs, "core")
      if (!done) said = said " at 6 s each"
      if (after) said = said "; then "
    }
    if (files || after) print "tabane: " said after
  }' .ninja_log >&2
