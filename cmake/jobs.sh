#!/bin/sh
# Prints how many compilers may run at once: one for each PU, and 1.5 GiB of memory for each.
set -eu

kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
for file in memory.max memory/memory.limit_in_bytes; do  # of control groups 2 and 1
  limit=$(cat "/sys/fs/cgroup/$file" 2>/dev/null || echo max)
  if [ "$limit" != max ] && [ $((limit / 1024)) -lt "$kib" ]; then
    kib=$((limit / 1024))
  fi
done
jobs=$((kib / (1536 * 1024)))
pus=$(nproc)
[ "$jobs" -le "$pus" ] || jobs=$pus
[ "$jobs" -ge 1 ] || jobs=1
echo "$jobs"
