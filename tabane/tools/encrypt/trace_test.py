"""--trace: when each phase and each unit of work began and ended, as trace events."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import Case, tabane

PHASES = {"encrypt": {"scan of IN", "plan", "open OUT", "keys of OUT", "files", "manifest of OUT",
                      "directories of OUT"},
          "decrypt": {"keys and manifest of IN", "scan of IN", "plan", "open OUT", "files",
                      "directories of OUT"},
          "verify": {"keys and manifest of IN", "scan of IN", "plan", "files"}}


class Trace(Case):
    def setUp(self):
        super().setUp()
        self.make_tree()
        self.file = self.folder / "trace.json"

    def events_of(self, verb, *places):
        self.run_ok(verb, *self.options(), "--threads", "2", "--trace", self.file, *places)
        return json.loads(self.file.read_text())

    def check_units(self, events, total):
        units = [event for event in events if event["name"] == "unit"]
        self.assertEqual(sum(unit["args"]["bytes"] for unit in units), total)
        files = {unit["args"]["first_file"] for unit in units}
        self.assertIn("a/f9", files)
        last_end = {}
        for unit in sorted(units, key=lambda unit: unit["ts"]):
            thread = unit["tid"]
            self.assertGreater(thread, 0)  # 0 is the one that has the phases
            self.assertGreaterEqual(unit["ts"], last_end.get(thread, 0))
            last_end[thread] = unit["ts"] + unit["dur"]

    def bytes_below(self, folder):
        return sum(path.stat().st_size for path in folder.rglob("*")
                   if path.is_file() and ".tabane" not in path.parts)

    def test_has_the_phases_and_all_units_of_work(self):
        for verb, source, more in (("encrypt", self.plain, [self.sealed]),
                                   ("decrypt", self.sealed, [self.opened]),
                                   ("verify", self.sealed, [])):
            with self.subTest(verb):
                events = self.events_of(verb, source, *more)
                names = [event["name"] for event in events]
                self.assertEqual(names[0], "start of the program")
                self.assertLessEqual(PHASES[verb], set(names))
                for event in events:
                    self.assertEqual(event["ph"], "X")
                    self.assertGreaterEqual(event["dur"], 0)
                self.check_units(events, self.bytes_below(source))

    def test_goes_alone_to_stdout(self):
        result = self.run_ok("encrypt", *self.options(), "--trace", "-", self.plain, self.sealed)
        self.assertEqual(json.loads(result.stdout)[0]["name"], "start of the program")
        self.assertIn(b"encrypted ", result.stderr)
        both = tabane("verify", *self.options(), "--trace", "-", "--json", self.sealed)
        self.assertEqual(both.returncode, 2)
        self.assertIn("--json and --trace", json.loads(both.stdout)["error"])

    def test_that_cannot_be_written_is_a_failure_and_the_job_is_done(self):
        result = tabane("encrypt", *self.options(), "--trace", "/dev/full", self.plain,
                        self.sealed)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"/dev/full: write: No space left", result.stderr)
        self.run_ok("verify", *self.options(), self.sealed)

    def test_replaces_nothing_that_the_job_reads_or_writes(self):
        for place in (self.plain / "a" / "f1", self.plain / "new", self.sealed / "trace"):
            self.refused(2, "--trace", "encrypt", *self.options(), "--trace", place, self.plain,
                         self.sealed)
        self.refused(2, "--trace", "encrypt", *self.options(), "--trace", self.key, self.plain,
                     self.sealed)
        self.refused(2, "cannot both go to stdout", "encrypt", *self.options(), "--trace",
                     "/dev/stdout", self.plain / "a" / "f1", "-")
        self.assertFalse(self.sealed.exists())


if __name__ == "__main__":
    unittest.main()
