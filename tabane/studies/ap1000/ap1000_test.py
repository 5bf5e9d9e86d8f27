"""The study ap1000 as a program: Ctrl-C to all its processes, its rules, and what it refuses."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TABANE = sys.argv.pop(1)
WITHOUT_MPI = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPI_", "PMI"))}


def tabane(*arguments):
    return subprocess.run([TABANE, *arguments], env=WITHOUT_MPI, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)


def study(*arguments):
    return tabane("study", "ap1000", *arguments)


class Ap1000(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_signal_to_all_its_processes_keeps_what_it_has(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal_number):
                process = subprocess.Popen(
                    [TABANE, "study", "ap1000", "--quick", "-n", "4",
                     f"--json={self.folder / 'a.json'}"], env=WITHOUT_MPI, text=True,
                    start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(1)  # while the ranks of the first job work, which is for long
                os.killpg(process.pid, signal_number)
                output, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, -signal_number, errors)
                self.assertIn("stopped; what was measured is shown", errors)
                self.assertIn("Half a round trip", output)
                study_json = json.loads((self.folder / "a.json").read_text())
                self.assertFalse(study_json["complete"])
                with self.assertRaises(ProcessLookupError):  # no rank is left
                    os.killpg(process.pid, 0)

    def test_refuses_mpi_without_its_launcher(self):
        result = study("--transport", "mpi")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("no MPI launcher", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_tune_collectives_writes_rules(self):
        rules = self.folder / "rules"
        result = tabane("tune", "--collectives", "--quick", "-n", "2", "--rules", str(rules))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("keep what is built in", result.stdout)
        self.assertIn("barrier", rules.read_text())

    def test_tune_refuses_before_it_measures(self):
        result = tabane("tune", "--collectives", "--json")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("--rules", result.stderr)
        self.assertEqual(json.loads(result.stdout)["kind"], "error")


if __name__ == "__main__":
    unittest.main()
