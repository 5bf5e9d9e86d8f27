"""tabane run on machines that the developer does not have, and on a part of the one at hand."""

import os
import shutil
import subprocess
import sys
import unittest

TABANE = sys.argv.pop(1)
OURS = ("OMP_", "OPENBLAS_", "MKL_", "BLIS_", "HWLOC_")
CPUS = sorted(os.sched_getaffinity(0))


def run(*arguments, before=(), **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    environment.update(variables)
    return subprocess.run([*before, TABANE, "run", *arguments], env=environment,
                          capture_output=True, text=True, timeout=60)


class Synthetic(unittest.TestCase):
    def test_four_nodes(self):
        machine = "pack:4 numa:1 core:4 pu:1"
        result = run("--placement", "scatter", "-t", "5", "-i", "all", "--dry-run", "--", "true",
                     HWLOC_SYNTHETIC=machine)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("4 packages x 4 cores x 1 PU, 4 NUMA nodes", result.stdout)
        self.assertIn("worker 4 -> PU 1, core 1, node 0", result.stdout)
        self.assertIn("set: OMP_PLACES={0},{4},{8},{12},{1}\n", result.stdout)
        self.assertIn("NUMA nodes 0-3", result.stdout)
        self.assertEqual(run("-c", "16", "--dry-run", "--", "true",
                             HWLOC_SYNTHETIC=machine).returncode, 125)

    def test_512_pus(self):
        result = run("--dry-run", "--", "true", HWLOC_SYNTHETIC="pack:8 numa:1 core:32 pu:2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("set: OMP_NUM_THREADS=512\n", result.stdout)
        self.assertIn(",{511}\n", result.stdout)

    def test_runs_nothing(self):
        result = run("--", "echo", "ran", HWLOC_SYNTHETIC="pack:4 core:4 pu:1")
        self.assertEqual(result.returncode, 125)
        self.assertEqual(result.stdout, "")
        self.assertIn("--dry-run", result.stderr)

    def test_that_cannot_be_read_is_named(self):
        for name, value in (("HWLOC_SYNTHETIC", "pack:no"), ("HWLOC_XMLFILE", "/nonexistent.xml")):
            result = run("--dry-run", "--", "true", **{name: value})
            self.assertEqual(result.returncode, 125)
            self.assertIn(name, result.stderr)


@unittest.skipUnless(shutil.which("taskset"), "needs taskset")
class OneCpu(unittest.TestCase):
    def setUp(self):
        self.before = ("taskset", "-c", str(CPUS[-1]))

    def test_is_all_there_is(self):
        result = run("--dry-run", "--", "true", before=self.before)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"process -> PUs {CPUS[-1]}\n", result.stdout)
        self.assertIn("set: OMP_NUM_THREADS=1\n", result.stdout)

    def test_warns_of_two_threads(self):
        result = run("-t", "2", "--", "true", before=self.before)
        self.assertEqual(result.returncode, 0)
        self.assertIn("2 threads on 1 CPU", result.stderr)

    @unittest.skipUnless(len(CPUS) > 1, "needs a second CPU")
    def test_refuses_the_others_and_says_why(self):
        result = run("-c", str(CPUS[0]), "--", "true", before=self.before)
        self.assertEqual(result.returncode, 125)
        self.assertIn(f"usable are {CPUS[-1]}, limited by", result.stderr)
        self.assertIn("affinity mask", result.stderr)


if __name__ == "__main__":
    unittest.main()
