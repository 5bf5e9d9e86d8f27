#!/usr/bin/env python3
"""tabane from Python, as in a notebook: each cell begins with # %%.

Run it where tabane is installed, or with the path of a program that was built, next to which the
module is: python/example_test.py build/tabane
"""
# %% In a build: where the program and the module are.
import os
import pathlib
import sys

if len(sys.argv) > 1:
    os.environ["TABANE"] = os.path.abspath(sys.argv[1])
    sys.path.insert(0, str(pathlib.Path(sys.argv[1]).absolute().parent / "python"))

try:
    import numpy
except ImportError:
    print("python.example: no NumPy")
    sys.exit(77)
import tabane

# %% What can this machine do? All of it is tabane.survey(quick=True); one figure takes a second.
record = tabane.survey(quick=True, only="peak.fma.core")
peak = record["results"][0]
print(f"one core: {peak['value'] / 1e9:.3g} G{peak['unit']}")
assert peak["value"] > 0

# %% Forked processes work on a table that they share with this one; only results come back.
table = numpy.arange(1 << 20)
team = tabane.Team(processes=2)
sums = team.map(lambda begin: int(table[begin:begin + 1024].sum()), range(0, table.size, 1024))
print(f"{len(sums)} sums by {team.report['processes']} processes: {sum(sums)}")
assert sum(sums) == table.size * (table.size - 1) // 2

# %% An exception comes with its traceback.
try:
    team.map(lambda i: 1 // (i - 3), range(10))
except ZeroDivisionError as error:
    print(error.__cause__)
    assert "task 3" in str(error.__cause__)
else:
    raise AssertionError("no exception came")

# %% Poisson's equation on a square whose west side is warm.
u, report = tabane.scg(n=50, f=0, boundary={"west": 1})
print(f"{report['iterations']} iterations; the middle has {u[24, 24]:.3f}")
assert report["passed"] and u.shape == (50, 50) and 0.2 < u[24, 24] < 0.3

# %% A product of numbers that doubles cannot hold.
big = 10**40
product, report = tabane.matmul([[big + 1, 1], [0, 1]], [[big - 1, 0], [0, 1]], bits=300)
print(product[0, 0])
assert product[0, 0] == big**2 - 1 and report["passed"]

# %% Which command is faster? The record also opens as a table: times.to_pandas().
times = tabane.time(["sleep 0.002", "sleep 0.02"], runs=3, min_time="0s")
medians = [result["value"] for result in times["results"] if result["unit"] == "s"][:2]
print("seconds:", medians)
assert medians[0] >= 0.002 and medians[1] >= 0.02  # to sleep may take longer
