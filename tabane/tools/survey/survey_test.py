"""tabane survey, report and study as their users meet them: messages, files, exit codes, Ctrl-C."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TABANE = sys.argv.pop(1)
FAST = ["--quick", "--only", "clock.tick_rate", "--only", "latency.add"]
FIRST = min(os.sched_getaffinity(0))


def tabane(*arguments, before=(), timeout=120, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HWLOC_")}
    environment.update(variables)
    return subprocess.run([*before, TABANE, *arguments], env=environment, capture_output=True,
                          text=True, timeout=timeout)


class Survey(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self):
        return json.loads((self.folder / "survey.json").read_text())

    def test_writes_the_record_and_the_page(self):
        result = tabane("survey", *FAST, "-o", str(self.folder))
        self.assertEqual(result.returncode, 0, result.stderr)
        survey = self.read()
        self.assertEqual(survey["schema_version"], 2)
        self.assertTrue(survey["complete"])
        self.assertEqual([r["name"] for r in survey["results"]], ["clock.tick_rate", "latency.add"])
        for figure in survey["results"]:
            self.assertGreater(figure["value"], 0)
            self.assertGreater(len(figure["samples"]), 1)
        self.assertEqual(len(survey["sentences"]), 3)
        self.assertEqual(len(survey["checklist"]), 12)
        self.assertIn("latency.add", (self.folder / "report.html").read_text())
        self.assertIn(str(self.folder / "report.html"), result.stdout)
        self.assertIn('class="pu"', (self.folder / "topology.svg").read_text())
        shown = tabane("run", "--hardware", HWLOC_XMLFILE=str(self.folder / "topology.xml"))
        self.assertTrue(shown.stdout.startswith("available: "), shown.stderr)

    def test_json_goes_to_stdout_alone(self):
        result = tabane("survey", *FAST, "--json")
        survey = json.loads(result.stdout)
        self.assertEqual(survey["kind"], "survey")

    def test_json_goes_to_a_file(self):
        file = self.folder / "a.json"
        result = tabane("survey", *FAST, f"--json={file}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("latency.add", result.stdout)
        self.assertEqual(json.loads(file.read_text())["kind"], "survey")

    def test_replaces_no_other_survey(self):
        first = self.folder / "tabane-report" / "survey.json"
        first.parent.mkdir()
        first.write_text("first")
        result = tabane("survey", "-o", str(first.parent))
        self.assertEqual(result.returncode, 2)
        self.assertIn("it holds a survey; name another directory, or give --force", result.stderr)
        subprocess.run([TABANE, "survey", "--quick", "--only", "clock.tick_rate"], check=True,
                       cwd=self.folder, capture_output=True, timeout=120)
        self.assertEqual(len(list(self.folder.glob("tabane-report-20*/survey.json"))), 1)
        self.assertEqual(first.read_text(), "first")
        result = tabane("survey", *FAST, "-o", str(first.parent), "--force")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(first.read_text(), "first")

    def test_refuses_before_it_makes_anything(self):
        new = self.folder / "new"
        result = tabane("survey", "--quick", "--wait-idle=banana", "-o", str(new))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--wait-idle: 'banana'", result.stderr)
        self.assertFalse(new.exists())
        self.assertEqual(tabane("survey", "--list", "--json").returncode, 2)

    def test_names_a_busy_machine_before_it_measures(self):
        with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
            try:
                result = tabane("survey", "--quick", "--only", "clock.tick_rate", "--json",
                                "--wait-idle=2s")
            finally:
                other.kill()
        self.assertIn("waiting, for other programs keep", result.stderr)
        self.assertLess(result.stderr.index("PUs busy, which changes the figures"),
                        result.stderr.index("may mean:"))

    def test_stopped_by_ctrl_c_keeps_what_it_has(self):
        process = subprocess.Popen([TABANE, "survey", "--only", "clock,latency,peak,core_to_core",
                                    "-o", str(self.folder)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # What it has is saved after each pass: this is early, in the second.
        record = self.folder / "survey.json"
        while not (record.exists() and "latency.add" in record.read_text()):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("what was measured is kept", errors)
        survey = self.read()
        self.assertFalse(survey["complete"])
        self.assertIn("latency.add", [r["name"] for r in survey["results"]])
        self.assertTrue((self.folder / "report.html").exists())

    @unittest.skipUnless(shutil.which("taskset"), "needs taskset")
    def test_runs_on_one_cpu(self):
        result = tabane("survey", "--quick", "--only", "core_to_core", "--only", "clock", "--only",
                        "memory.bandwidth.cores", "--json", before=["taskset", "-c", str(FIRST)])
        self.assertEqual(result.returncode, 0, result.stderr)
        survey = json.loads(result.stdout)
        self.assertEqual(survey["machine"]["pus"], 1)
        self.assertIn("core_to_core.latency", [s["name"] for s in survey["skipped"]])

    def test_keeps_its_tables_without_gnuplot(self):
        empty = self.folder / "bin"
        empty.mkdir()
        result = tabane("survey", "--quick", "--only", "memcpy", "-o", str(self.folder),
                        PATH=str(empty))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("no drawings"), 1, result.stderr)
        self.assertIn("<table", (self.folder / "report.html").read_text())

    def test_lists_the_probes_of_a_machine_that_is_not_here(self):
        for machine in ("pack:4 numa:1 core:4 pu:1", "pack:8 numa:1 core:32 pu:2"):
            result = tabane("survey", "--list", HWLOC_SYNTHETIC=machine)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("memory.bandwidth.triad.dram.machine", result.stdout)
            refused = tabane("survey", "--quick", HWLOC_SYNTHETIC=machine)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("HWLOC_SYNTHETIC", refused.stderr)


class Report(unittest.TestCase):
    def test_is_made_again_from_the_record(self):
        with tempfile.TemporaryDirectory() as folder:
            tabane("survey", *FAST, f"--json={folder}/a.json")
            page = pathlib.Path(folder) / "page.html"
            result = tabane("report", f"{folder}/a.json", "-o", str(page))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("latency.add", page.read_text())


class Verbs(unittest.TestCase):
    def test_help_and_version_succeed(self):
        for asked in (["--help"], ["--version"], ["survey", "-h"], ["run", "-h"], ["study", "-h"],
                      ["report", "-h"]):
            self.assertEqual(tabane(*asked).returncode, 0)


if __name__ == "__main__":
    unittest.main()
