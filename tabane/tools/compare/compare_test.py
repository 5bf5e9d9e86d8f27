"""tabane compare: what it refuses, what it finds, and how it ends."""

import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = None


def record(seed, slower=1.0, version=1):
    """Returns a survey of an invented machine: thirty times with noise within and between runs."""
    rng = random.Random(seed)
    results = []
    for i in range(30):
        base = (i + 1) * slower * rng.lognormvariate(0, 0.02)
        samples = [base * rng.lognormvariate(0, 0.01) for _ in range(15)]
        ordered = sorted(samples)
        results.append({"name": f"figure.{i}", "what": "", "unit": "s", "better": "lower",
                        "value": ordered[7], "interval": [ordered[3], ordered[11]],
                        "samples": samples, "limit": None, "limit_how": None, "details": {},
                        "version": version})
    results.append({"name": "memcpy", "what": "", "unit": "B/s", "better": "higher",
                    "value": 20e9, "interval": None, "samples": [], "limit": None,
                    "limit_how": None, "details": {}, "version": 3})
    return {"schema_version": 2, "kind": "survey", "name": "survey", "title": "", "source": "",
            "tabane_version": "", "started": "", "duration_s": 0, "complete": True, "quick": False,
            "command_line": "", "machine": {"name": "alpha", "cpu_model": "invented"},
            "environment": {}, "warnings": [], "sentences": [], "results": results, "views": [],
            "comparisons": [], "skipped": [], "checklist": []}


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, content):
        path = Path(self.folder.name, name)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def compare(self, *arguments):
        return subprocess.run([PROGRAM, "compare", *arguments], capture_output=True, text=True,
                              check=False, timeout=60)

    def test_two_records_of_one_machine_show_no_difference(self):
        done = self.compare(self.write("a.json", record(1)), self.write("b.json", record(2)),
                            "--threshold", "5%")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("30 figures: no difference seen", done.stdout)
        self.assertNotIn("figure.3 ", done.stdout)

    def test_what_steers_a_terminal_is_shown_as_text(self):
        def spoil(value):
            if isinstance(value, dict):
                return {key: spoil(one) for key, one in value.items()}
            if isinstance(value, list):
                return [spoil(one) for one in value]
            return value + "\x1b[2J\u202e\n" if isinstance(value, str) and value not in (
                "survey", "lower", "higher", "s", "B/s") else value

        done = self.compare(self.write("a.json", spoil(record(1))),
                            self.write("b.json", spoil(record(2, slower=2))), "--all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(r"\x1b[2J", done.stdout)
        for text in (done.stdout, done.stderr):
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\u202e", text)

    def test_a_record_shows_no_difference_to_itself(self):
        a = self.write("a.json", record(1))
        done = self.compare(a, a, "--all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("no difference seen\n"), 31)

    def test_a_slower_machine_is_named_and_exits_with_1(self):
        a, b = self.write("a.json", record(1)), self.write("b.json", record(2, slower=1.3))
        done = self.compare(a, b, "--threshold", "5%")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("slower", done.stdout)
        self.assertEqual(self.compare(a, b).returncode, 0)
        self.assertEqual(self.compare(a, b, "--threshold", "5%", "--baseline", "b").returncode, 0)

    def test_other_versions_of_a_probe_are_refused_by_name(self):
        a, b = self.write("a.json", record(1)), self.write("b.json", record(2, version=2))
        done = self.compare(a, b)
        self.assertEqual(done.returncode, 0)
        self.assertIn("figure.7: not comparable: the way of measuring has changed", done.stderr)
        for survey in (one := record(1)), (other := record(2, version=2)):
            survey["results"].pop()
        done = self.compare(self.write("c.json", one), self.write("d.json", other))
        self.assertEqual(done.returncode, 2)

    def test_a_published_machine_stands_beside_a_survey(self):
        done = self.compare(self.write("a.json", record(1)), "pc-cluster", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["kind"], "comparison")
        self.assertEqual([r["details"]["finding"] for r in found["results"]], ["no interval"])
        self.assertIn("pc-cluster", self.compare("--list").stdout)

    def test_reads_a_record_from_a_pipe(self):
        a, b = self.write("a.json", record(1)), self.write("b.json", record(2))
        done = subprocess.run(["sh", "-c", f"cat {a} | {PROGRAM} compare /dev/stdin {b}"],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.partition("finding\n")[2],  # below the names
                         self.compare(a, b).stdout.partition("finding\n")[2])

    def test_bad_input_is_a_usage_error(self):
        a = self.write("a.json", record(1))
        garbled = self.write("garbled.json", "{")
        other = self.write("other.json", {"schema_version": 2})
        times = self.write("times.json", {"results": []})  # as hyperfine has it
        for arguments, said in (((a,), "at least two"), ((a, "nothing.json"), "nothing.json"),
                                ((a, garbled), "not JSON"), ((a, other), "missing"),
                                ((a, times), "no record of tabane"),
                                (("--list", "--json"), "exclude each other"),
                                ((a, self.folder.name), "there is no file"),
                                ((a, a, "--baseline", "3"), "--baseline"),
                                ((a, a, "--threshold", "much"), "--threshold")):
            done = self.compare(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
