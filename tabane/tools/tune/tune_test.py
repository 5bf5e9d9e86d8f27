"""tabane tune -- command, as its users meet it."""
# CTest: PROCESSORS 1 COST 40

import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests/lib"))
from tool_case import TABANE, unless_sanitized

OURS = ("OMP_", "OPENBLAS_", "MKL_", "BLIS_", "RAYON_", "HWLOC_", "GLIBC_TUNABLES", "MALLOC_CONF")


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}

    def tabane(self, *arguments, **variables):
        return subprocess.run([TABANE, *arguments], cwd=self.path, capture_output=True, text=True,
                              timeout=300, env={**self.environment, **variables})

    def tune(self, *arguments, **variables):
        return self.tabane("tune", "-q", *arguments, **variables)

    def record(self, name="tuned.json"):
        return json.loads((self.path / name).read_text())


# Sleeps longer the more blocks there are: what is best is known.
SLOW = ["sh", "-c", "sleep 0.0{block}"]
VARIED = ["-r", "24", "--repeat", "1", "--vary", "block=8,1", "--only", "block"]


@functools.cache
def tuned():
    """The text of a record of VARIED and SLOW."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([TABANE, "tune", "-q", *VARIED, "--", *SLOW], cwd=folder, check=True,
                       capture_output=True, timeout=300)
        return Path(folder, "tuned.json").read_text()


class Winner(InFolder):
    def test_is_found_proved_and_can_be_applied(self):
        result = self.tune(*VARIED, "--", *SLOW)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"block 1: [\d.]+ \[[\d.]+, [\d.]+\] times as fast as")
        self.assertIn("Use from now on", result.stdout)
        self.assertIn("sleep 0.01", result.stdout)
        self.assertIn("tabane run --tuned tuned.json --vary block=8,1 -- sh -c", result.stdout)
        tuned = ["run", "--tuned", "tuned.json", "--vary", "block=8,1"]
        again = self.tabane(*tuned, "--dry-run", "--", *SLOW)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("sleep 0.01", again.stdout)
        shown = self.tabane(*tuned, "-q", "--", "sh", "-c", "echo {block}")
        self.assertEqual(shown.stdout, "1\n", shown.stderr)
        other = self.tabane(*tuned, "--", "echo", "{block}")
        self.assertEqual(other.returncode, 125)
        self.assertIn("it is the tuning of 'sh -c", other.stderr)

    def test_is_not_named_where_nothing_matters(self):
        result = self.tune("-r", "30", "--repeat", "2", "--only", "threads,allocator", "--",
                           "sleep", "0.01")
        self.assertEqual(result.returncode, 0, result.stderr)
        # The last where the machine was too busy to tell.
        self.assertRegex(result.stdout, "Nothing (is certainly|was found)|times as fast as|"
                                        "No winner is named: too few rounds")
        self.assertEqual(len(self.record()["views"][0]["details"]["tuning"]["runs"]) <= 30, True)

    def test_is_not_looked_for_where_starting_is_all(self):
        # On a busy machine starting may take longer now and then.
        self.assertTrue(any(self.tune("-r", "30", "--", "true").returncode == 2
                            for _ in range(5)))

    def test_may_be_what_the_command_prints(self):
        result = self.tune("-r", "24", "--metric", "^speed ([0-9]+)$", "--higher-is-better",
                           "--vary", "block=1,7", "--only", "block", "--",
                           "sh", "-c", "echo begins; echo speed {block}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"block 7: 7[.0-9]* .* times as\s+good as you started it")
        self.assertIn("metric '^speed ([0-9]+)$'", result.stdout)
        self.assertIn("--metric '^speed", self.record()["command_line"])

    @unless_sanitized
    def test_may_be_the_memory_of_a_small_command(self):
        # By so much Linux may miscount on a CPU (percpu_counter_batch).
        unsure = os.sysconf("SC_PAGE_SIZE") * max(32, 2 * os.cpu_count())
        few = max(1, 4 * unsure >> 20)
        result = self.tune("-r", "24", "--goal", "memory", "--vary", f"m={4 * few},{few}",
                           "--only", "m", "--",
                           "dd", "if=/dev/zero", "of=/dev/null", "bs={m}M", "count=1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout,
                         rf"m {few}: [1-9]\.\d+ .* times as\s+good as you started it")

    def test_is_printed_as_a_batch_script(self):
        result = self.tune(*VARIED, "--export", "slurm", "--", *SLOW)
        self.assertTrue(result.stdout.startswith("#!/bin/sh\n#SBATCH "), result.stdout)
        self.assertIn("#SBATCH --ntasks=1", result.stdout)
        # On a busy machine the winner may be what was started.
        to_use = re.search(r"sh -c 'sleep 0\.0[18]'", json.dumps(self.record()["views"][0]))[0]
        self.assertTrue(result.stdout.endswith(f" {to_use}\n"), result.stdout)

    def test_is_shown_below_its_title(self):
        result = self.tune(*VARIED, "--", *SLOW)
        self.assertRegex(result.stdout, r"\ATuning of .*\n\nWhat to use\n")


class Proof(InFolder):
    def log_starts_of(self, program):
        """Puts a program of this name in front of PATH that notes that it was started."""
        path = self.path / "bin" / program
        path.parent.mkdir()
        real = subprocess.run(["sh", "-c", f"command -v {program}"], capture_output=True, text=True,
                              check=True).stdout.strip()
        path.write_text(f"#!/bin/sh\necho x >> '{self.path}/starts'\nexec {real} \"$@\"\n")
        path.chmod(0o755)
        return {"PATH": f"{path.parent}:{os.environ['PATH']}"}

    def runs_of_winner(self, phase):
        runs = self.record()["views"][0]["details"]["tuning"]["runs"]
        return [run for run in runs if run["phase"] == phase and run["candidate"] != 0]

    def check_starts(self):
        starts = len((self.path / "starts").read_text().split())
        self.assertEqual(starts, len(self.runs_of_winner(3)))
        self.assertGreaterEqual(starts, 6)

    @unittest.skipIf(os.cpu_count() < 2, "there is one PU")
    def test_starts_the_line_of_shards_that_is_printed(self):
        result = self.tune("-r", "24", "--repeat", "1", "--shards", "--only", "processes",
                           "--most-processes", "2",
                           "--", "sh", "-c", "sleep 0.$((2 - {processes}))1",
                           **self.log_starts_of("seq"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("processes 2: ", result.stdout)
        self.assertIn("$(seq 0 1)", result.stdout)
        self.check_starts()

    def test_starts_a_line_without_tabane_where_runs_are_short(self):
        result = self.tune("-r", "24", "--repeat", "1", "--only", "threads", "--", "sh", "-c",
                           "sleep 0.$((${OMP_NUM_THREADS:-2} - 1))1",
                           **self.log_starts_of("env"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, "Use from now on\n\n  env OMP_NUM_THREADS=1 ")
        self.assertIn("or, by tabane", result.stdout)
        self.check_starts()

    def test_needs_no_tabane_where_only_arguments_change(self):
        result = self.tune(*VARIED, "--", *SLOW)
        self.assertIn("Use from now on\n\n  sh -c 'sleep 0.01'\n", result.stdout)
        self.assertNotIn("tabane run -q", result.stdout)


class Effort(InFolder):
    def runs(self):
        log = self.path / "log"
        return len(log.read_text().split()) if log.exists() else 0

    def test_below_one_round_is_refused_before_anything_runs(self):
        result = self.tune("-r", "3", "--", "sh", "-c", "echo x >> log; sleep 0.02")
        self.assertEqual(result.returncode, 2)
        self.assertIn("use at least 18", result.stderr)
        self.assertEqual(self.runs(), 0)

    def test_of_short_commands_is_several_runs_a_sample(self):
        result = self.tune("-r", "18", "--vary", "block=2,3",
                           "--only", "block", "--",
                           "sh", "-c", "echo x >> log; sleep 0.01{block}")
        self.assertEqual(result.returncode, 0, result.stderr)
        runs = self.record()["views"][0]["details"]["tuning"]["runs"]
        self.assertGreaterEqual(self.runs(), 2 * len(runs))
        for run in runs:
            self.assertLess(run["value"], run["seconds"])

    def test_tells_what_load_there_was(self):
        result = self.tune(*VARIED, "--", *SLOW)
        self.assertIn("busy with other programs", result.stdout)
        for run in self.record()["views"][0]["details"]["tuning"]["runs"]:
            self.assertGreaterEqual(run["others_pus"], 0)

    def test_of_time_below_one_round_is_refused_after_one_run(self):
        result = self.tune("--budget", "1s", "--", "sh", "-c", "echo x >> log; sleep 0.1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("one round with its proof", result.stderr)
        self.assertEqual(self.runs(), 1)

    def test_ends_a_first_run_that_hangs(self):
        result = self.tune("--budget", "300ms", "--", "sleep", "100")
        self.assertEqual(result.returncode, 1)
        self.assertIn("not finished after 300 ms", result.stderr)

    def test_has_as_many_warm_ups_as_are_asked_for(self):
        result = self.tune("-w", "5", "-r", "18", "--repeat", "1", "--vary", "block=2,3",
                           "--only", "block", "--",
                           "sh", "-c", "echo x >> log; sleep 0.01{block}")
        self.assertEqual(result.returncode, 0, result.stderr)
        runs = self.record()["views"][0]["details"]["tuning"]["runs"]
        self.assertEqual(self.runs(), 5 + len(runs))


class Page(InFolder):
    def test_is_written_and_made_again_from_the_record(self):
        result = self.tune(*VARIED, "-o", "page", "--json=record.json", "--", *SLOW)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.path / "page" / "report.html").exists())
        again = self.tabane("report", "tuned.json", "-o", "again")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.record("record.json")["name"], "tune")


class Saved(InFolder):
    def test_tunings_of_one_command_are_compared_by_their_settings(self):
        for name, values in (("a", "8,1,3"), ("b", "8,3,1")):
            result = self.tune("-r", "24", "--repeat", "1", "--save", name, "--vary",
                               f"block={values}", "--only", "block", "--", *SLOW)
            self.assertEqual(result.returncode, 0, result.stderr)
        names = [one["name"] for one in self.record("a")["results"]]
        self.assertIn("tune.setting.as_started", names)
        self.assertIn("tune.setting.block_1", names)
        result = self.tabane("compare", "a", "b", "--all")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"tune\.setting\.block_1 +[\d.]+ ms +[\d.]+ ms")
        self.assertRegex(result.stdout, r"tune\.chosen ")

    def test_tunings_of_different_commands_are_not_compared(self):
        for name, command in (("a", SLOW), ("b", ["sh", "-c", "sleep 0.02; : {block}"])):
            result = self.tune("-r", "18", "--repeat", "1", "--save", name, "--vary",
                               "block=8,1", "--only", "block", "--", *command)
            self.assertEqual(result.returncode, 0, result.stderr)
        result = self.tabane("compare", "a", "b")
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("the command", result.stderr)

    def test_a_tuning_of_another_command_is_not_replaced(self):
        (self.path / "tuned.json").write_text(tuned())
        before = self.record()
        result = self.tune(*VARIED, "--", "sh", "-c", "echo x >> log; sleep 0.0{block}")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--save tuned.json: the file holds the tuning of sh -c", result.stderr)
        self.assertFalse((self.path / "log").exists())
        self.assertEqual(self.record(), before)
        self.assertEqual(self.tune(*VARIED, "--", *SLOW).returncode, 0)
        (self.path / "tuned.json").write_text("mine\n")
        result = self.tune(*VARIED, "--", *SLOW)
        self.assertEqual(result.returncode, 2)
        self.assertEqual((self.path / "tuned.json").read_text(), "mine\n")


class Candidates(InFolder):
    def test_that_fail_are_told_and_never_chosen(self):
        result = self.tune("-r", "24", "--repeat", "1", "--vary", "block=8,1,2", "--only", "block",
                           "--", "sh", "-c", "test {block} != 1 && sleep 0.{block}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("exit code 1", result.stdout)
        self.assertIn("block 2: ", result.stdout)

    def test_that_print_something_else_are_out_of_the_question(self):
        command = "test $OMP_NUM_THREADS && echo wrong; sleep 0.02; true"
        result = self.tune("-r", "24", "--repeat", "1", "--only", "threads", "--", "sh", "-c",
                           command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("it did not print the same", result.stdout)
        self.assertIn("Nothing was found", result.stdout)

    def test_that_hang_are_ended(self):
        result = self.tune("-r", "20", "--repeat", "1", "--timeout", "0.5", "--vary", "t=0.02,20",
                           "--only", "t", "--", "sleep", "{t}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Nothing was found", result.stdout)

    def test_of_which_a_check_fails_are_out_of_the_question(self):
        result = self.tune("-r", "24", "--repeat", "1", "--vary", "block=8,1", "--only", "block",
                           "--check", "! grep -q 1 said", "--", "sh", "-c",
                           "echo {block} > said; sleep 0.0{block}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("--check", result.stdout)
        self.assertIn("Nothing was found", result.stdout)


class Shards(InFolder):
    def test_are_started_together(self):
        result = self.tune("-r", "24", "--repeat", "1", "--shards", "--only", "processes",
                           "--most-processes", "2",
                           "--ignore-output", "--", "sh", "-c",
                           "echo {index} of {processes} >> said; sleep 0.01")
        self.assertEqual(result.returncode, 0, result.stderr)
        said = (self.path / "said").read_text()
        if os.cpu_count() > 1:
            self.assertIn("1 of 2\n", said)
        self.assertIn("0 of 1\n", said)


class Refusal(InFolder):
    def test_shows_what_a_command_printed_line_by_line(self):
        result = self.tune("--metric", "speed ([0-9]+)", "--", "sh", "-c", "echo a; echo b")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("it printed:\na\nb\n"), result.stderr)
        self.assertRegex(result.stderr.splitlines()[-1], "^tabane tune: .* matches --metric$")
        result = self.tune("--metric", "speed ([0-9]+)", "--", "seq", "1000")
        shown = result.stderr.splitlines()[1:-1]
        self.assertEqual(shown, ["…991", *map(str, range(992, 1001))])

    def test_of_a_place_that_was_not_asked_for_names_the_way_out(self):
        (self.path / "tuned.json").mkdir()
        for options, is_hinted in (([], True), (["--save", "tuned.json"], False)):
            result = self.tune(*options, "--", "true")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("--save tuned.json: ", result.stderr)
            self.assertEqual("--save '' keeps the tuning nowhere" in result.stderr, is_hinted)

    def test_names_what_is_wrong(self):
        for arguments, words in (
            (["--", "./nothing-here"], "cannot start ./nothing-here: No such file"),
            (["--input", "nosuch", "--", "true"], "--input nosuch: cannot be read: No such file"),
            (["--export", "slurm", "--json", "--", "true"], "both go to stdout"),
            (["--", "sh", "-c", "echo said; exit 3"], "exit code 3"),
            (["--", "sh", "-c", "echo complaint >&2; exit 3"], "complaint"),
            (["--", "true", "{block}"], "--vary block="),
            (["--only", "processes", "--", "true"], "tabane tune: nothing to vary"),
            (["-r", "3", "--", "sleep", "0.02"], "use at least"),
            (["--budget", "100ms", "--", "sleep", "0.01"], "use at least"),
            (["--launcher", "no-such-launcher -n {processes}", "--", "true"], "no-such-launcher"),
            (["--metric", "(", "--", "true"], "--metric"),
            (["--metric", "speed ([0-9]+)", "--", "true"], "matches --metric"),
            (["--", "awk", "{print}"], "no placeholder, write { print }"),
        ):
            with self.subTest(arguments):
                result = self.tune(*arguments)
                self.assertIn(result.returncode, (1, 2), result.stdout)
                self.assertIn(words, result.stderr)
                self.assertFalse((self.path / "tuned.json").exists())

    def test_of_a_record_of_another_machine(self):
        record = json.loads(tuned())
        record["machine"]["summary"] = "1 package x 9999 cores"
        (self.path / "tuned.json").write_text(json.dumps(record))
        result = self.tabane("run", "--tuned", "tuned.json", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("another machine", result.stderr)

    def test_of_a_file_that_is_no_tuning(self):
        (self.path / "tuned.json").write_text("{}")
        self.assertEqual(self.tabane("run", "--tuned", "tuned.json", "--", "true").returncode, 125)


class Foreign(InFolder):
    """A file of somebody else, with what its command was not tuned with."""

    def setUp(self):
        super().setUp()
        self.tuned = json.loads(tuned())

    def run_tuned(self, *options, **changed):
        kept = self.tuned["views"][0]["details"]["tuning"]["kept"]
        kept.update({key: value for key, value in changed.items() if key in kept})
        kept["setting"].update({key: value for key, value in changed.items() if key not in kept})
        (self.path / "tuned.json").write_text(json.dumps(self.tuned))
        return self.tabane("run", "-q", "--tuned", "tuned.json", *options, "--", "sh", "-c",
                           "echo {block}")

    def test_brings_no_launcher(self):
        line = "sh -c 'touch launched; echo \x1b[2J'"
        result = self.run_tuned("--vary", "block=8,1", launcher=line)
        self.assertEqual(result.returncode, 125)
        self.assertIn("it was tuned with --launcher", result.stderr)
        self.assertNotIn("\x1b", result.stderr)
        self.assertFalse((self.path / "launched").exists())
        result = self.run_tuned("--vary", "block=8,1", "--launcher", "env A={processes}",
                                launcher="env A={processes}")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_brings_no_values(self):
        values = {"block": "1; touch valued \x1b[2J"}
        for options in ([], ["--vary", "block=8,1"], ["--vary", "other=1; touch valued \x1b[2J"]):
            result = self.run_tuned(*options, values=values)
            self.assertEqual(result.returncode, 125, result.stdout)
            self.assertIn("it was tuned with --vary block and puts 1; touch valued", result.stderr)
            self.assertNotIn("\x1b", result.stderr)

    def test_brings_no_words_but_those_of_settings(self):
        for key in ("placement", "memory", "allocator"):
            result = self.run_tuned("--vary", "block=8,1", **{key: "near\x1b[2J"})
            self.assertEqual(result.returncode, 125)
            self.assertNotIn("\x1b", result.stderr)
            self.tuned = json.loads((self.path / "tuned.json").read_text())
            self.tuned["views"][0]["details"]["tuning"]["kept"]["setting"][key] = None


class Interrupted(InFolder):
    def test_keeps_what_is_known_and_is_gone_on_with(self):
        command = ["sh", "-c", "echo x >> log; sleep 0.{block}"]
        varied = ["--repeat", "1", "--vary", "block=8,1,2,3", "--only", "block"]
        log = self.path / "log"
        arguments = ["tune", "-q", "-r", "1000", *varied, "--", *command]
        with subprocess.Popen([TABANE, *arguments], cwd=self.path, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.environment) as process:
            while not log.exists() or len(log.read_text().split()) < 12:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT, stderr)
        before = self.record()
        self.assertFalse(before["complete"])
        runs = len(before["views"][0]["details"]["tuning"]["runs"])
        self.assertGreater(runs, 2)
        self.assertRegex(stdout, "best so far|Nothing|times as fast as")
        (self.path / "tuned.json").rename(self.path / "kept.json")
        result = self.tune("-r", "24", "--resume", "kept.json", *varied, "--", *command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.path / "tuned.json").exists())
        after = self.record("kept.json")["views"][0]["details"]["tuning"]["runs"]
        self.assertGreater(len(after), runs)
        self.assertRegex(result.stdout, "block [123]: ")
        other = self.tune("-r", "24", "--resume", "kept.json", "--vary", "block=8,1", "--only",
                          "block", "--", *command)
        self.assertEqual(other.returncode, 2)


if __name__ == "__main__":
    unittest.main()
