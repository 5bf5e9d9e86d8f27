"""tabane scg: what it solves and writes, what it refuses, and how it ends."""

import json
import math
import pathlib
import random
import struct
import sys
import time
import unittest
from decimal import Decimal, localcontext
from fractions import Fraction

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/lib"))
from tool_case import Case, mpirun


def write_npy(path, rows):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header = header.ljust(117) + "\n"
    numbers = [number for row in rows for number in row]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(numbers)}d", *numbers))
    return path


def read_npy(path):
    """The numbers of an array, row by row."""
    content = path.read_bytes()
    begin = 10 + struct.unpack_from("<H", content, 8)[0]
    return struct.unpack_from(f"<{(len(content) - begin) // 8}d", content, begin)


def exact_solution(n, k, f, mean):
    """u for west=1, north=neumann, east=neumann:0.25 and 0 in the south, as rationals, and a proved
    bound of what they lack, which is far below what doubles can tell."""
    k = [[Fraction(number) for number in row] for row in k]
    width = n + Fraction(1, 2)
    band, right = [[Fraction(0)] * (n + 1) for _ in range(n * n)], []
    for i in range(n):
        for j in range(n):
            row, known = n * i + j, Fraction(f[i][j]) / width ** 2
            for r, c in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= r < n and 0 <= c < n:
                    face = mean(k[i][j], k[r][c])
                    if n * r + c > row:
                        band[row][n * r + c - row] = -face
                else:
                    face = k[i][j] if r == n or c < 0 else 0
                    known += 1 * face if c < 0 else Fraction(1, 4) / width if c == n else 0
                band[row][0] += face
            right.append(known)
    u, w = solve_band(band, right), solve_band(band, [2] * n * n)
    # Off the diagonal nothing is positive: where A w >= 1 and w > 0, |x| <= max w |A x|.
    assert min(w) > 0 and min(multiply_band(band, w)) >= 1
    return u, max(w) * max(abs(a - b) for a, b in zip(multiply_band(band, u), right))


def solve_band(band, right):
    """Solves a symmetric system, of which the upper band is given, with 400 digits."""
    def rounded(number):
        number = Fraction(number)
        return Decimal(number.numerator) / number.denominator

    size, width = len(band), len(band[0])
    with localcontext() as context:
        context.prec = 400
        band, x = [[rounded(number) for number in row] for row in band], [*map(rounded, right)]
        for row in range(size):
            for i in range(1, min(width, size - row)):
                factor = band[row][i] / band[row][0]
                for j in range(i, width):
                    band[row + i][j - i] -= factor * band[row][j]
                x[row + i] -= factor * x[row]
        for row in reversed(range(size)):
            for i in range(1, min(width, size - row)):
                x[row] -= band[row][i] * x[row + i]
            x[row] /= band[row][0]
    return [Fraction(number) for number in x]


def multiply_band(band, x):
    product = [row[0] * number for row, number in zip(band, x)]
    for i, row in enumerate(band):
        for j in range(1, min(len(row), len(x) - i)):
            product[i] += row[j] * x[i + j]
            product[i + j] += row[j] * x[i]
    return product


def arithmetic(a, b):
    return (a + b) / 2


def harmonic(a, b):
    return 2 * a * b / (a + b)


class Scg(Case):
    tool = "scg"

    def test_the_report_is_text_or_json(self):
        self.assertIsNone(self.told_by_ranks_that_take_turns("-n", 100)["limit"])
        told = self.told("-n", 100, "--ranks", 1)
        self.assertLessEqual(abs(told["iterations"] - 222), 1)
        self.assertEqual([100, 100], told["unknowns"])
        self.assertEqual(24 * 100 * 100 * told["iterations"], told["operations"])
        self.assertTrue(told["passed"] and told["converged"])
        self.assertGreater(told["limit_operations_per_second"], 0)
        text = self.run_tool("-n", 100).stdout
        self.assertIn("PASSED", text)
        self.assertIn("24 operations per unknown and iteration (the least is 18)", text)
        self.assertEqual("", self.run_tool("-n", 10, "-q").stdout)

    def test_the_result_is_the_same_wherever_it_is_computed(self):
        k = write_npy(self.folder / "k.npy", [[1 + (3 * i + j) % 5 for j in range(17)]
                                              for i in range(13)])
        options = ["-k", k, "--boundary", "west=1,north=neumann,south=neumann:0.5"]
        results = []
        ways = [(["--ranks", ranks], ()) for ranks in (1, 2, 4, 9)]
        if mpirun(3):
            ways.append(([], mpirun(3)))
        for way, before in ways:
            out = self.folder / "u.npy"
            told = self.told(*options, *way, "-o", out, before=before)
            self.assertEqual([13, 17], told["unknowns"])
            results.append(read_npy(out))
        for result in results[1:]:
            self.assertEqual(13 * 17, len(result))
            for a, b in zip(results[0], result):
                self.assertAlmostEqual(a, b, delta=1e-9)

    def test_a_picture_of_the_solution(self):
        picture = self.folder / "u.png"
        self.told("-n", "20x30", "--picture", picture)
        content = picture.read_bytes()
        self.assertEqual(b"\x89PNG\r\n\x1a\n", content[:8])
        self.assertEqual((30, 20), struct.unpack(">II", content[16:24]))

    def test_small_meshes_take_fewer_ranks(self):
        for size in ("1", "2", "1x2", "3x1"):
            self.assertTrue(self.told("-n", size)["passed"])
        self.assertEqual(4, self.told("-n", 2, "--ranks", 4)["ranks"])
        self.refused("no grid of 9 ranks fits a mesh of 2 x 2", "-n", 2, "--ranks", 9)
        self.refused("--grid 4x1 does not fit a mesh of 3 x 3", "-n", 3, "--grid", "4x1")

    def test_a_simulated_machine_takes_its_own_time(self):
        def solved():
            told = self.told("-n", 64, "--machine", "ap1000:4x8")
            self.assertEqual(told["simulated_machine"], "ap1000:4x8")
            return told["seconds"], told["residual"], told["iterations"]
        seconds, _, iterations = first = solved()
        self.assertEqual(first, solved())
        computing = 2 * 70e-6 + 24 * 64 * 64 / 32 * 0.585e-6
        # The rest are two sums of 54 us, and four messages, of less than 100 us each.
        self.assertGreater(seconds / iterations, computing + 2 * 54e-6)
        self.assertLess(seconds / iterations, computing + 2 * 54e-6 + 400e-6)
        self.refused("3 ranks do not fit ap1000:2x2", "--machine", "ap1000:2x2", "--ranks", 3)
        self.refused("there is no machine 'cm5'", "--machine", "cm5:2x2")
        self.refused("a proof is not simulated", "--machine", "ap1000:2x2", "--prove")

    def test_a_page_says_where_the_time_of_a_simulated_machine_goes(self):
        page = self.folder / "page"
        told = self.told("-n", 16, "--machine", "ap1000:1x2", "--page", page)
        record = json.loads((page / "study.json").read_text())
        runs = {(each["factors"]["machine"], each["factors"]["ranks"]): each["value"]
                for each in record["results"]}
        self.assertEqual(len(runs), 4 * 2)
        # With the check, but without what else is on the machine, such as another number of ranks.
        self.assertGreater(runs["as it is", 2], told["seconds"])
        self.assertLess(runs["as it is", 2], 1.2 * told["seconds"])
        self.assertGreater(runs["as it is", 1], 1.5 * told["seconds"])
        self.assertEqual(told["ranks"], 2)
        self.refused("--page requires --machine", "--page", page)
        self.refused("--page /dev/null/page", "--machine", "ap1000:1x2", "--page", "/dev/null/page")

    def test_what_does_not_fit_is_refused_before_anything_starts(self):
        self.refused("the largest that fits is -n", "-n", 2000000)

    def test_arrays_that_do_not_fit(self):
        rows = [[1.0, 2.0, 3.0], [4.0, float("nan"), 6.0]]
        array = write_npy(self.folder / "a.npy", rows)
        self.refused("row 1, column 1: nan is not a finite number", "-f", array)
        rows[1][1] = -5.0
        write_npy(array, rows)
        self.refused("row 1, column 1: -5 is not a positive number", "-k", array)
        self.refused("has 2 x 3 numbers; expected 3 x 3", "-f", array, "-n", 3)
        self.refused("boundary west: ", "--boundary", f"west={array}")
        array.write_bytes(array.read_bytes()[:-8])
        self.refused("a.npy: 40 bytes of numbers where 2 x 3", "-f", array)

    def test_outputs_that_cannot_be_are_told_before_solving(self):
        begin = time.monotonic()
        for option in ("-o", "--picture"):
            self.refused("no such folder/u", "-n", 4000, option, self.folder / "no such folder/u")
        self.assertLess(time.monotonic() - begin, 60)

    def test_what_fails_ends_with_4_and_writes_nothing(self):
        array, picture = self.folder / "u.npy", self.folder / "u.png"
        for more in ((), ("--prove",)):
            done = self.run_tool("-n", 100, "--iterations", 5, "-o", array, "--picture", picture,
                                 *more, code=4)
            self.assertIn("not yet converged after 5 iterations", done.stdout)
            self.assertIn("FAILED", done.stdout)
            self.assertFalse(array.exists() or picture.exists())
        done = self.run_tool("-n", 100, "--iterations", 5, "--json")
        told = json.loads(done.stdout)
        self.assertEqual((5, False, False), (told["iterations"], told["converged"], told["passed"]))
        self.assertEqual(5, self.told("-n", 3, "--iterations", 5)["iterations"] + 2)

    def test_the_error_is_bounded_where_k_varies_much_or_on_request(self):
        self.assertIsNone(self.told("-n", 30)["error_bound"])
        self.assertIn("error of u: not bounded; --prove bounds it", self.run_tool("-n", 30).stdout)
        told = self.told("-n", 30, "--prove")
        self.assertLessEqual(told["error_bound"], 2e-12)
        self.assertIn("digits proved", self.run_tool("-n", 30, "--prove").stdout)
        k = write_npy(self.folder / "k.npy", [[1e-12 if j == 10 else 1.0 for j in range(20)]
                                              for i in range(20)])
        options = ["-k", k, "-f", 0, "--boundary",
                   "west=1,east=neumann,north=neumann,south=neumann"]
        out = self.folder / "u.npy"
        ways = [(["--ranks", ranks], ()) for ranks in (1, 4)]
        if mpirun(3):
            ways.append(([], mpirun(3)))
        for way, before in ways:
            told = self.told(*options, *way, "-o", out, before=before)
            self.assertLessEqual(told["error_bound"], 2e-12)
            self.assertGreater(told["proof"]["iterations"], 0)
            for u in read_npy(out):
                self.assertAlmostEqual(1, u, delta=2e-12)
        done = self.run_tool(*options, "--iterations", 300)
        self.assertEqual(4, done.returncode, done.stdout)
        self.assertIn("FAILED", done.stdout)

    def test_what_passes_is_what_exact_rationals_say(self):
        """No answer passes that is wrong by more than the tolerance; ordinary ones do."""
        n, passed = 12, 0
        numbers = random.Random(1)
        cases = [(0, 1, harmonic), (3, 1, arithmetic), (9, 0, arithmetic), (10, 0, harmonic),
                 (12, 0, arithmetic), (12, 1, harmonic), (15, 0, harmonic), (15, 1, arithmetic),
                 (60, 0, arithmetic), (60, 1, harmonic)]
        for digits, flow, mean in cases:
            with self.subTest(digits=digits, flow=flow, mean=mean.__name__):
                # A wall around an island, and holes elsewhere. Of few bits, and harmonic means of
                # two numbers only, so that no fraction grows too long.
                small = 2.0 ** -math.ceil(digits * math.log2(10))
                low = [[max(abs(i - 6), abs(j - 6)) == 3 or numbers.random() < 0.2
                        for j in range(n)] for i in range(n)]
                k = [[(small if low[i][j] else 1) *
                      (numbers.randint(4, 8) if mean is arithmetic else 1)
                      for j in range(n)] for i in range(n)]
                f = [[flow * numbers.randint(-8, 8) for j in range(n)] for i in range(n)]
                files = ["-k", write_npy(self.folder / "k.npy", k),
                         "-f", write_npy(self.folder / "f.npy", f)]
                out = self.folder / "u.npy"
                out.unlink(missing_ok=True)
                done = self.run_tool(*files, "--boundary", "west=1,north=neumann,east=neumann:0.25",
                                     "-o", out, "--mean", mean.__name__, "--ranks", 2)
                self.assertIn(done.returncode, (0, 4), done.stderr)
                self.assertEqual(done.returncode == 0, out.exists())
                if digits <= 15:
                    self.assertEqual(0, done.returncode, done.stdout)
                if done.returncode == 0:
                    right, lacking = exact_solution(n, k, f, mean)
                    self.assertLess(lacking, 1e-100)
                    most = Fraction(2e-12 if digits > 4 else 1e-9) * (
                        max(abs(u) for u in right) - lacking)
                    for u, v in zip(right, read_npy(out)):
                        self.assertLessEqual(abs(u - Fraction(v)) + lacking, most)
                    passed += 1
        self.assertGreaterEqual(passed, 8)

    def test_a_killed_rank_ends_the_run(self):
        self.expect_loss_of_a_rank("-n", 1500)


if __name__ == "__main__":
    unittest.main()
