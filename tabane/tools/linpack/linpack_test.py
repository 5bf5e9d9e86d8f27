"""tabane linpack as a program: what it solves, writes and refuses, and how it ends."""
import fractions
import json
import math
import pathlib
import random
import re
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/lib"))
from tool_case import Case, mpirun

BANNER = "%%MatrixMarket matrix "
# 2 1 1   1   7
# 4 3 3 * 2 = 19
# 8 7 9   3   49
MATRIX = BANNER + "array integer general\n3 3\n2\n4\n8\n1\n3\n7\n1\n3\n9\n"
RIGHT_SIDE = BANNER + "array real general\n3 1\n7\n19\n49\n"


def solved_exactly(a, b):
    """x of A x = b as fractions, of the very numbers given."""
    rows = [[fractions.Fraction(value) for value in (*row, right)] for row, right in zip(a, b)]
    n = len(rows)
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            if rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [value - factor * above for value, above in zip(rows[i], rows[k])]
    x = [fractions.Fraction()] * n
    for k in reversed(range(n)):
        x[k] = (rows[k][n] - sum(map(lambda u, v: u * v, rows[k][k + 1:n], x[k + 1:]))) / rows[k][k]
    return x


def difficult_systems():
    """Name, A, b: of well-conditioned ones also with rows and columns of any scale."""
    draw = random.Random(5)

    def numbers(n):
        return [draw.uniform(-1, 1) for _ in range(n)]

    def times(a, x):
        return [sum(map(lambda u, v: u * v, row, x)) for row in a]

    def hilbert(n):
        return [[1 / (i + j + 1) for j in range(n)] for i in range(n)]

    def triangle(n):
        return [[0.0] * i + [1.0] + [-1.0] * (n - 1 - i) for i in range(n)]

    def kahan(n, angle):
        s, c = math.sin(angle), math.cos(angle)
        return [[s ** i * value for value in [0.0] * i + [1.0] + [-c] * (n - 1 - i)]
                for i in range(n)]

    def graded(a, rows, columns):
        n = len(a)
        return [[value * 10.0 ** (rows * i / n) * 10.0 ** (columns * j / n)
                 for j, value in enumerate(row)] for i, row in enumerate(a)]

    well = [numbers(16) for _ in range(16)]
    for i, row in enumerate(well):
        row[i] += 16
    near = [numbers(12) for _ in range(12)]
    near[7] = [value * (1 + 1e-14 * draw.random()) for value in near[2]]
    matrices = {"Hilbert 5": hilbert(5), "Hilbert 9": hilbert(9), "Hilbert 13": hilbert(13),
                "triangle 20": triangle(20), "triangle 60": triangle(60),
                "Kahan 30": kahan(30, 1.2), "Kahan 40": kahan(40, 0.5), "two rows": near,
                "random": [numbers(24) for _ in range(24)]}
    for rows in (-40, 0, 40):
        for columns in (-40, 0, 40):
            matrices[f"well, graded {rows} {columns}"] = graded(well, rows, columns)
    for name, a in matrices.items():
        n = len(a)
        order = draw.sample(range(n), n)
        yield name, a, numbers(n)
        yield name + ", x is random", a, times(a, numbers(n))
        yield name + ", permuted", [[row[j] for j in order] for row in reversed(a)], numbers(n)
        transposed = [list(column) for column in zip(*a)]
        yield name + ", transposed", transposed, times(transposed, numbers(n))


class Linpack(Case):
    tool = "linpack"

    def test_solves_a_matrix_from_a_file_and_writes_x(self):
        self.file("a.mtx", MATRIX)
        self.file("b.mtx", RIGHT_SIDE)
        given = ["--matrix", "a.mtx", "--rhs", "b.mtx"]
        self.told(*given, "--ranks", "2", "-o", "x.txt")
        x = [float(line) for line in (self.folder / "x.txt").read_text().splitlines()]
        for value, expected in zip(x, (1, 2, 3), strict=True):
            self.assertAlmostEqual(value, expected, places=13)
        self.told(*given, "-o", "x.npy")
        npy = struct.unpack("<3d", (self.folder / "x.npy").read_bytes()[-24:])
        for value, expected in zip(npy, (1, 2, 3), strict=True):
            self.assertAlmostEqual(value, expected, places=13)
        self.told("--matrix", "a.mtx", "-o", "x.txt")  # whose right side makes x ones
        for line in (self.folder / "x.txt").read_text().splitlines():
            self.assertAlmostEqual(float(line), 1, places=13)

    def test_tells_rate_check_and_steps(self):
        result = self.run_tool("-n", "300", "--grid", "1x2", "--block", "32")
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("300 equations, random matrix of seed 1; 1x2 ranks, panels of 32 columns",
                     "FLOP/s", "PASSED", "panel", "update", "broadcast", "substitution"):
            self.assertIn(part, result.stdout)
        self.assertIn("\nother ", result.stdout)
        shares = re.findall(r"(\d+\.\d) %", result.stdout)
        self.assertAlmostEqual(sum(map(float, shares)), 100, delta=0.5)
        record = self.told("-n", "300", "--grid", "1x2", "--block", "32")
        self.assertEqual((record["n"], record["block"], record["grid"]), (300, 32, [1, 2]))
        self.assertEqual(record["operations"], 2 * 300 ** 3 / 3 + 3 * 300 ** 2 / 2)
        self.assertEqual(len(record["steps"][0]["ranks"]), 2)

    def test_compares_with_a_limit_where_that_means_something(self):
        self.assertIn("% of DGEMM on all ranks", self.run_tool("-n", 600, "--ranks", 1).stdout)
        self.assertNotIn("DGEMM", self.run_tool("-n", 300, "--ranks", 1).stdout)
        self.assertIsNone(self.told_by_ranks_that_take_turns("-n", 600)["limit"])

    def test_solves_with_few_mechanisms(self):
        for mechanisms in ("messages", "+broadcast", "+global", "all"):
            with self.subTest(mechanisms):
                self.assertTrue(self.told("-n", 60, "--block", 8, "--grid", "2x2", "--mechanisms",
                                          mechanisms)["passed"])

    def test_a_simulated_ap1000_is_near_what_was_published(self):
        told = self.told("--machine", "ap1000:8x8", "--pattern", 1992)
        self.assertEqual((told["n"], told["grid"], told["pattern"]), (1000, [8, 8], "1992"))
        self.assertEqual(told["simulated_machine"], "ap1000:8x8")
        self.assertLess(abs(told["seconds"] / 3.51 - 1), 0.05)
        communication = sum(rank["seconds"] for step in told["steps"] for rank in step["ranks"]
                            if step["name"] in ("pivot", "swap", "broadcast", "waiting")) / 64
        self.assertLess(abs(communication / told["seconds"] - 0.32), 0.03)
        with self.subTest("other calls of other patterns"):
            own = self.told("-n", 100, "--machine", "ap1000:2x2", "--block", 20)
            by_rows = self.told("-n", 100, "--machine", "ap1000:2x2", "--pattern", 1992)
            self.assertTrue(own["passed"] and by_rows["passed"])
            self.assertNotEqual(own["seconds"], by_rows["seconds"])
        self.assertIn("--pattern", self.run_tool("-n", 9, "--pattern", "1993").stderr)

    def test_solves_next_to_nothing(self):
        self.assertTrue(self.told("-n", 1, "--grid", "2x2")["passed"])

    def test_says_that_a_matrix_is_singular_or_nearly_so(self):
        coordinate = BANNER + "coordinate real general\n"
        self.file("s.mtx", coordinate + "3 3 2\n1 1 1\n3 3 1\n")
        result = self.run_tool("--matrix", "s.mtx", "-o", "x.txt")
        self.assertEqual(result.returncode, 1)
        self.assertIn("singular: in column 2", result.stderr)
        self.assertFalse((self.folder / "x.txt").exists())
        self.file("t.mtx", coordinate + "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1.0000000000000002\n")
        result = self.run_tool("--matrix", "t.mtx")
        self.assertEqual(result.returncode, 0)
        self.assertIn("nearly singular", result.stderr)

    def write_matrix(self, name, columns):
        self.file(name, BANNER + f"array real general\n{len(columns[0])} {len(columns)}\n" +
                  "".join(f"{value!r}\n" for column in columns for value in column))

    def test_says_how_many_digits_of_x_are_right(self):
        for name, a, b in difficult_systems():
            with self.subTest(name):
                self.write_matrix("a.mtx", list(zip(*a)))
                self.write_matrix("b.mtx", [b])
                result = self.run_tool("--matrix", "a.mtx", "--rhs", "b.mtx", "--grid", "1x2",
                                       "--block", "8", "-o", "x.txt", "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
                x = [float(line) for line in (self.folder / "x.txt").read_text().splitlines()]
                error = max(map(lambda found, true: abs(found - true), x, solved_exactly(a, b)))
                right = -math.log10(max(error / fractions.Fraction(max(map(abs, x))), 1e-16))
                said = json.loads(result.stdout)["right_digits"]
                self.assertLessEqual(said, max(right, 0), (name, right))
                if "triangle" not in name:  # these are eliminated without any rounding
                    self.assertGreaterEqual(said, right - 5, (name, right))
                self.assertEqual("nearly singular" in result.stderr, said < 2, result.stderr)
                if right > 9:
                    self.assertEqual(result.stderr, "")

    def test_ends_with_4_and_writes_nothing_if_the_check_fails(self):
        n = 70  # elements double from row to row, until small numbers drown
        rows = [f"{i} {i} 1\n" for i in range(1, n + 1)]
        rows += [f"{i} {n} 1\n" for i in range(1, n)]
        rows += [f"{i} {j} -1\n" for i in range(1, n + 1) for j in range(1, i)]
        self.file("g.mtx", BANNER + f"coordinate real general\n{n} {n} {len(rows)}\n" +
                  "".join(rows))
        self.file("b.mtx", BANNER + f"array real general\n{n} 1\n" +
                  "".join(f"{(37 * i % 101) / 101}\n" for i in range(n)))
        result = self.run_tool("--matrix", "g.mtx", "--rhs", "b.mtx", "-o", "x.txt")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("FAILED", result.stdout)
        self.assertFalse((self.folder / "x.txt").exists())

    def test_refuses_before_it_begins(self):
        self.file("a.mtx", MATRIX)
        self.file("b.mtx", RIGHT_SIDE)
        self.file("nan.mtx", BANNER + "array real general\n1 1\nnan\n")
        self.file("huge.mtx", BANNER + "coordinate real general\n999999 999999 0\n")
        self.file("vast.mtx", BANNER + "coordinate real general\n100000000 100000000 0\n")
        for bad, part in ((["-n", "900000"], "the largest n that fits is"),
                          (["--matrix", "huge.mtx"], "the largest n that fits is "),
                          (["--matrix", "vast.mtx"], "the largest n that fits is "),
                          (["--matrix", "b.mtx"], "b.mtx is 3 x 1"),
                          (["--matrix", "a.mtx", "--rhs", "a.mtx"], "needs 3 x 1"),
                          (["--matrix", "nan.mtx"], "nan.mtx, line 3: \"nan\" is where a "
                                                    "finite number")):
            self.assertNotIn("fits is 0", self.refused(part, *bad).stderr)

    def test_ends_with_3_if_a_rank_is_killed(self):
        self.expect_loss_of_a_rank("-n", 12000)

    def test_gives_the_same_x_under_mpirun(self):
        launcher = mpirun(2)
        if launcher is None:
            self.skipTest("no Open MPI")
        request = ("-n", 200, "--block", 16, "--grid", "1x2")
        self.told(*request, "-o", "shm.txt")
        self.told(*request, "-o", "mpi.txt", before=launcher)
        self.assertEqual((self.folder / "mpi.txt").read_text(),
                         (self.folder / "shm.txt").read_text())


if __name__ == "__main__":
    unittest.main()
