"""tabane scg: what it solves and writes, what it refuses, and how it ends."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TABANE = sys.argv.pop(1)
MODULE = pathlib.Path(TABANE).parent / "modules/comm/libtabane_mpi_openmpi.so"


def scg(*arguments, before=()):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.run([*before, TABANE, "scg", *map(str, arguments)], env=environment,
                          capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL)


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


def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Scg(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def solved(self, *arguments, before=()):
        done = scg("--json", *arguments, before=before)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def refused(self, sentence, *arguments, code=2):
        with self.subTest(arguments):
            done = scg(*arguments)
            self.assertEqual(code, done.returncode, done.stdout + done.stderr)
            self.assertIn(sentence, done.stderr)
            self.assertEqual("", done.stdout)

    def test_the_report_is_text_or_json(self):
        told = self.solved("-n", 100, "--ranks", 2)
        self.assertLessEqual(abs(told["iterations"] - 222), 1)
        self.assertEqual([100, 100], told["unknowns"])
        self.assertEqual(24 * 100 * 100 * told["iterations"], told["operations"])
        self.assertTrue(told["passed"] and told["converged"])
        self.assertGreater(told["limit_operations_per_second"], 0)
        text = scg("-n", 100).stdout
        self.assertIn("PASSED", text)
        self.assertIn("24 operations per unknown and iteration (the least is 18)", text)
        self.assertEqual("", scg("-n", 10, "-q").stdout)

    def test_the_result_is_the_same_wherever_it_is_computed(self):
        k = write_npy(self.folder / "k.npy", [[1 + (3 * i + j) % 5 for j in range(31)]
                                              for i in range(23)])
        options = ["-k", k, "--boundary", "west=1,north=neumann,south=neumann:0.5"]
        results = []
        ways = [(["--ranks", ranks], ()) for ranks in (1, 2, 4, 9)]
        if MODULE.exists() and shutil.which("mpirun.openmpi"):
            ways.append(([], ("mpirun.openmpi", "--oversubscribe", "-n", "3")))
        for way, before in ways:
            out = self.folder / "u.npy"
            told = self.solved(*options, *way, "-o", out, before=before)
            self.assertEqual([23, 31], told["unknowns"])
            results.append(read_npy(out))
        for result in results[1:]:
            self.assertEqual(23 * 31, len(result))
            for a, b in zip(results[0], result):
                self.assertAlmostEqual(a, b, delta=1e-9)

    def test_a_picture_of_the_solution(self):
        picture = self.folder / "u.png"
        self.solved("-n", "20x30", "--picture", picture)
        content = picture.read_bytes()
        self.assertEqual(b"\x89PNG\r\n\x1a\n", content[:8])
        self.assertEqual((30, 20), struct.unpack(">II", content[16:24]))

    def test_small_meshes_take_fewer_ranks(self):
        for size in ("1", "2", "1x2", "3x1"):
            self.assertTrue(self.solved("-n", size)["passed"])
        self.assertEqual(4, self.solved("-n", 2, "--ranks", 4)["ranks"])
        self.refused("no grid of 9 ranks fits a mesh of 2 x 2", "-n", 2, "--ranks", 9)
        self.refused("--grid 4x1 does not fit a mesh of 3 x 3", "-n", 3, "--grid", "4x1")

    def test_what_cannot_be_is_refused_before_anything_starts(self):
        self.refused("neither a positive number", "-n", 0)
        self.refused("neither a positive number", "-n", "many")
        self.refused("not two positive numbers", "-n", "3x0")
        self.refused("the largest that fits is -n", "-n", 2000000)
        self.refused("k: 0 is not a positive number", "-k", 0)
        self.refused("f: inf is not a finite number", "-f", "inf")
        self.refused("four Neumann sides", "--boundary",
                     "west=neumann,east=neumann,north=neumann,south=neumann")
        self.refused("is not SIDE=VALUE", "--boundary", "up=1")
        self.refused("--tolerance", "--tolerance", 0)
        self.refused("neither a number nor a file", "-f", self.folder / "none.npy")

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

    def test_asking_for_few_iterations_is_no_failure(self):
        told = self.solved("-n", 100, "--iterations", 7)
        self.assertEqual((7, False, True), (told["iterations"], told["converged"], told["passed"]))

    def test_a_killed_rank_ends_the_run(self):
        process = subprocess.Popen([TABANE, "scg", "-n", "3000", "--ranks", "2"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        ranks = []
        while len(ranks) < 2 and process.poll() is None:
            time.sleep(0.1)
            ranks = children(process.pid)
        time.sleep(0.5)
        os.kill(ranks[-1], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(3, process.returncode, err)
        self.assertRegex(err, r"(rank|process) \d.* was lost .*killed by signal 9")
        self.assertEqual("", out)


if __name__ == "__main__":
    unittest.main()
