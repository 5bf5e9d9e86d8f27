"""Maps a function over items in processes that share 1 GiB, on request.

Usage: bench_map.py team|pool|joblib|loop PROCESSES, next to the package tabane. The other side is
bench/remote.h: a number maps over so many items and returns the sum of their results; "calibrate"
returns the bytes of an item of 100 us, and "size" sets them; "pss" returns the memory of all
processes in the middle of a map, shared memory counted once.
"""
import functools
import multiprocessing
import os
import re
import sys
import time
import zlib

import numpy

who, processes = sys.argv[1], int(sys.argv[2])
data = numpy.tile(numpy.random.default_rng(1).integers(0, 256, 1 << 20, dtype=numpy.uint8), 1 << 10)


def checksum(shared, size, i):
    begin = i * 104729 * 64 % (len(shared) - size)
    return zlib.crc32(shared[begin:begin + size])


def bytes_of_item():
    size, seconds = 1 << 16, []
    for i in range(1000):
        start = time.perf_counter()
        checksum(data, size, i)
        seconds.append(time.perf_counter() - start)
    return int(size * 1e-4 / sorted(seconds)[500])


def pss_below(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        own = 1024 * int(re.search(r"^Pss: +(\d+)", file.read(), re.MULTILINE).group(1))
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return own + sum(pss_below(int(child)) for child in file.read().split())


def measuring(root, shared, size, i):
    checksum(shared, size, i)
    return pss_below(root) if i == 10_000 else 0


def in_pool(f, size, i):
    return f(data, size, i)  # which was here before the fork


def results_of(f, n, size):
    if who == "team":
        return team.map(lambda i: f(data, size, i), range(n))
    if who == "pool":
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            return pool.map(functools.partial(in_pool, f, size), range(n))
    if who == "joblib":
        return parallel(joblib.delayed(f)(data, size, i) for i in range(n))
    return [f(data, size, i) for i in range(n)]


if who == "team":
    import tabane
    team = tabane.Team(processes)
elif who == "joblib":
    import joblib
    parallel = joblib.Parallel(processes).__enter__()  # keeps its processes and the array
if __name__ == "__main__":
    item_bytes = 1 << 16
    print(0, flush=True)
    for line in sys.stdin:
        verb, count = line.split()
        reply = 0
        if verb == "calibrate":
            reply = bytes_of_item()
        elif verb == "size":  # the same for all
            item_bytes = int(count)
        elif verb == "pss":
            reply = max(results_of(functools.partial(measuring, os.getpid()), 20_000, item_bytes))
        else:
            for _ in range(int(count)):
                reply = sum(results_of(checksum, int(verb), item_bytes))
        print(reply, flush=True)
