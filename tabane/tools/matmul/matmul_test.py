"""tabane matmul as a program: what it multiplies, writes and refuses, and how it ends."""
import os
import pathlib
import signal
import sys
import time
import unittest
from fractions import Fraction

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/lib"))
from tool_case import Case, mpirun


class Matmul(Case):
    tool = "matmul"

    def multiplied(self, *arguments, **options):
        record = self.told(*arguments, **options)
        self.assertTrue(record["passed"])
        return record

    def test_multiplies_what_is_in_files(self):
        self.file("a.txt", "# left\n1 2.5 -3\n0 1e10 0.125\n")
        self.file("b.txt", "1 0\n0 4\n1e-3 8\n")
        given = ("--left", "a.txt", "--right", "b.txt", "--bits", "300")
        self.multiplied(*given, "-o", "c.txt")
        rows = [[Fraction(word) for word in line.split()]
                for line in (self.folder / "c.txt").read_text().splitlines()]
        expected = [[1 - Fraction(3, 1000), -14], [Fraction(1, 8000), 4 * 10 ** 10 + 1]]
        for row, exact in zip(rows, expected, strict=True):
            for value, wanted in zip(row, exact, strict=True):
                self.assertLessEqual(abs(value - wanted), Fraction(10) ** -85)
        self.assertEqual(rows[1][1], 4 * 10 ** 10 + 1)
        shown = self.run_tool(*given, "-o", "-")
        self.assertEqual(shown.stdout, (self.folder / "c.txt").read_text())
        self.assertIn("PASSED", shown.stderr)
        self.assertFalse((self.folder / "-").exists())

    def test_gives_the_same_bits_in_every_way(self):
        request = ("-n", "40", "--bits", "200", "--seed", "7")
        # What it writes is read back; a product with 1 keeps it.
        for name, rows in (("x", 40), ("y", 40)):
            self.file(name, "\n".join(" ".join(str((i * 37 + j * 11) % 101 - 50) + f".{j}e{i % 9}"
                                               for j in range(40)) for i in range(rows)))
        given = ("--left", "x", "--right", "y", "--bits", "200")
        self.multiplied(*given, "--method", "sums", "--ranks", "1", "-o", "sums")
        expected = (self.folder / "sums").read_text()
        for way in (("--ranks", "1"), ("--ranks", "2"), ("--grid", "2x2"),
                    ("--ranks", "1", "-t", "3"), ("--memory", "200k"), ("--method", "integers")):
            with self.subTest(way):
                method = () if "--method" in way else ("--method", "residues")
                self.multiplied(*given, *method, *way, "-o", "c")
                self.assertEqual((self.folder / "c").read_text(), expected)
        self.assertEqual(self.multiplied(*request, "--method", "residues")["method"], "residues")

    def test_ranks_share_blocks_or_primes(self):
        expected = None
        for share in ("blocks", "primes"):
            request = ("-n", "20", "--bits", "200", "--ranks", "2", "--method", "residues",
                       "--share", share)
            result = self.run_tool(*request, "-o", "c")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("that share the primes" in result.stdout, share == "primes")
            product = (self.folder / "c").read_text()
            self.assertEqual(product, expected or product)
            expected = product
            self.assertEqual(self.multiplied(*request)["share"], share)

    def test_tells_rate_shares_check_and_ratio_to_the_loop(self):
        result = self.run_tool("-n", "150", "--bits", "300", "--ranks", "1", "--compare-loop")
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("150 x 150 by 150 x 150, 300 bits; 1x1 rank,", "multiply-adds/s",
                     "residues modulo", "products of doubles", "times the triple loop",
                     "sketch of 150 rows and a sample of elements: PASSED"):
            self.assertIn(part, result.stdout)
        record = self.multiplied("-n", "150", "--bits", "300", "--ranks", "1", "--compare-loop")
        self.assertEqual(record["operations"], 150 ** 3)
        self.assertGreater(record["loop_seconds_per_multiply_add"], 0)
        self.assertEqual(self.run_tool("-n", "5", "-q").stdout, "")
        self.assertIsNone(self.told_by_ranks_that_take_turns("-n", 50)["limit"])
        self.assertEqual("DGEMM on all ranks", self.told("-n", 50, "--ranks", 1)["limit"])

    def test_multiplies_next_to_nothing_and_complex_numbers(self):
        for grid in ("1x1", "2x2"):
            with self.subTest(grid):
                self.multiplied("-n", 1, "--grid", grid)
        self.multiplied("-n", "30", "--complex", "--method", "residues", "--grid", "1x2")
        self.file("none.txt", "# nothing\n")
        self.multiplied("--left", "none.txt", "--right", "none.txt")

    def test_takes_numbers_that_are_not_finite(self):
        self.file("a.txt", "inf 1\n1 nan\n2 3\n")
        self.file("b.txt", "1 0\n-1 2\n")
        self.multiplied("--left", "a.txt", "--right", "b.txt", "-o", "c.txt")
        self.assertEqual((self.folder / "c.txt").read_text(), "inf nan\nnan nan\n-1 6\n")

    def test_refuses_before_it_begins(self):
        self.file("a.txt", "1 2\n3 4\n")
        self.file("three.txt", "1 2 3\n")
        self.file("bad.txt", "1 2\n3 four\n")
        self.file("ragged.txt", "1 2\n3\n")
        for bad, part in ((["-n", "90000", "--bits", "10000"], "the matrices take"),
                          (["-n", "100", "--method", "residues", "--memory", "9k"],
                           "give more by --memory"),
                          (["--left", "a.txt", "--right", "three.txt"], "a.txt is 2 x 2"),
                          (["--left", "a.txt", "--right", "bad.txt"],
                           "bad.txt, line 2, column 3: \"four\""),
                          (["--left", "ragged.txt", "--right", "a.txt"],
                           "ragged.txt, line 2, column 1")):
            self.refused(part, *bad)

    def test_ends_at_ctrl_c_and_writes_nothing(self):
        process = self.start("-n", 1500, "--bits", 4000, "-o", "c.txt")
        time.sleep(1)
        self.assertIsNone(process.poll())
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertFalse((self.folder / "c.txt").exists())
        with self.assertRaises(ProcessLookupError):  # no rank is left
            os.killpg(process.pid, 0)

    def test_gives_the_same_product_under_mpirun(self):
        launcher = mpirun(2)
        if launcher is None:
            self.skipTest("no Open MPI")
        request = ("-n", 60, "--bits", 200, "--grid", "1x2", "--method", "residues")
        self.multiplied(*request, "-o", "shm.txt")
        self.multiplied(*request, "-o", "mpi.txt", before=launcher)
        self.assertEqual((self.folder / "mpi.txt").read_text(),
                         (self.folder / "shm.txt").read_text())


if __name__ == "__main__":
    unittest.main()
