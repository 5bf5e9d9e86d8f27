"""tabane simulate: what it lists and prints, and what it refuses."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = None


def run(*arguments):
    return subprocess.run([PROGRAM, "simulate", *arguments], capture_output=True, text=True,
                          check=False)


class Simulate(unittest.TestCase):
    def test_lists_machines(self):
        self.assertIn("ap1000", run().stdout)

    def test_prints_a_machine_that_it_reads_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "mine.txt"
            file.write_text(run("ap1000:2x3", "--parameters", "--set", "barrier=2").stdout)
            self.assertIn("barrier = 21.2\n", file.read_text())
            again = run(str(file), "--parameters")
            self.assertEqual(again.stdout, file.read_text())
            file.write_text(file.read_text() + "speed = 3\n")
            refused = run(str(file))
            self.assertEqual(refused.returncode, 2)
            self.assertIn(", line 21: no key 'speed': give one of name, shape", refused.stderr)

    def test_says_why_a_file_cannot_be_read(self):
        self.assertEqual(run(".").stderr, "tabane simulate: .: read: Is a directory\n")
        self.assertIn("there is no machine 'nowhere'", run("nowhere").stderr)

    def test_says_why_nothing_can_be_printed(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([PROGRAM, "simulate", "ap1000:2x2", "-n", "4", "--steps", "1"],
                                    stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("tabane: stdout: write: No space left on device\n", result.stderr)

    def test_says_what_changes_are_worth(self):
        result = run("ap1000:2x2", "-n", "20", "--steps", "2", "--set", "compute=0.5", "--json")
        found = {each["name"]: each["value"] for each in json.loads(result.stdout)["results"]}
        # 24 operations on each of 100 points take 70 + 0.585 us; half of that is saved.
        saved = found["simulate.as_it_is.2x2.ranks4"] - found["simulate.compute=0.5.2x2.ranks4"]
        self.assertAlmostEqual(saved, 0.5 * (70e-6 + 24 * 100 * 0.585e-6), places=12)
        self.assertIn("simulate.as_it_is.1x1.ranks1", found)
        text = run("ap1000:2x2", "-n", "20", "--steps", "2").stdout
        for row in ("as it is", "setup=0.5", "byte=0.5", "compute=0.5"):
            self.assertIn(f"\n{row} ", text)

    def test_tries_only_changes_that_the_machine_has(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "mine.txt"
            file.write_text("shape = 2x2\nsend.latency = 0.1 x\nsend.occupancy = 0.1 x\n")
            found = json.loads(run(str(file), "-n", "4", "--steps", "1", "--json").stdout)
            machines = {each["factors"]["machine"] for each in found["results"]}
            self.assertEqual(machines, {"as it is", "byte=0.5"})

    def test_writes_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            run("ap1000:2x2", "-n", "20", "--steps", "2", "-q", "-o", folder)
            page = (Path(folder) / "report.html").read_text()
            for part in ("Where the critical path goes", "When each rank waits", "tabane simulate"):
                self.assertIn(part, page)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
