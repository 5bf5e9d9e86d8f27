"""tabane time as its users meet it: comparisons, parameters, exports, failures, what is left."""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/lib"))
from tool_case import TABANE, unless_sanitized

FEW = ("-q", "-w", "0", "-r", "2")


def run(*arguments, **variables):
    return subprocess.run([TABANE, "time", *arguments], env=os.environ | variables,
                          capture_output=True, text=True, timeout=120)


class Comparison(unittest.TestCase):
    def test_tells_ratio_and_interval(self):
        result = run("-q", "-w", "0", "-r", "12", "-N", "sleep 0.02", "sleep 0.05")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("'sleep 0.05' takes ", result.stdout)
        self.assertIn("times as long as 'sleep 0.02'", result.stdout)
        for column in ("user", "system", "peak memory", "switches", "faults"):
            self.assertIn(column, result.stdout)

    def test_stops_when_a_difference_is_shown(self):
        result = run("-q", "-w", "0", "-m", "8", "--min-time", "0", "-N", "sleep 0.01",
                     "sleep 0.05")
        self.assertIn("Enough is known after 8 rounds", result.stdout)

    def test_of_one_command_tells_its_time(self):
        result = run(*FEW, "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("ratio", result.stdout)

    def test_takes_exactly_the_rounds_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            run("-q", "-w", "1", "-r", "3", f"echo a >> {log}", f"echo b >> {log}")
            lines = log.read_text().split()
        self.assertEqual(sorted(lines), ["a"] * 4 + ["b"] * 4)
        for i in range(0, 8, 2):  # in turn
            self.assertEqual(sorted(lines[i:i + 2]), ["a", "b"])

    def test_is_with_the_reference_and_sorted(self):
        result = run("-q", "-w", "0", "-r", "12", "-N", "--reference", "sleep 0.02", "--sort",
                     "time", "--export-csv", "/dev/stderr", "-L", "t", "0.06,0.001", "sleep {t}")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = list(csv.DictReader(result.stderr.splitlines()))
        self.assertEqual([row["command"] for row in rows],
                         ["sleep 0.001", "sleep 0.02", "sleep 0.06"])
        self.assertEqual(rows[1]["ratio"], "1.0")
        # Whatever is said of the two commands, it is said against the reference.
        said = " ".join(result.stdout.split())
        self.assertEqual(said.count("'sleep 0.02'"), 2, said)

    @unless_sanitized
    def test_knows_the_peak_memory_of_small_commands(self):
        # By so much Linux may miscount on a CPU (percpu_counter_batch).
        unsure = os.sysconf("SC_PAGE_SIZE") * max(32, 2 * os.cpu_count())
        bytes_held = (3 << 20) + 2 * unsure
        result = run("-q", "-r", "2", "-N", "--json",
                     f"dd if=/dev/zero of=/dev/null bs={bytes_held} count=1")
        peaks = [each["value"] for each in json.loads(result.stdout)["results"]
                 if each["name"].endswith(".peak_memory")]
        self.assertEqual(len(peaks), 1, result.stdout)
        self.assertTrue(3 << 20 < peaks[0] < bytes_held + (37 << 20), peaks)

    def test_ends_at_its_time(self):
        begin = time.monotonic()
        result = run("-q", "-w", "0", "-m", "1000", "--max-time", "300ms", "-N", "sleep 0.1",
                     "sleep 0.1")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("The time for measuring is over", result.stdout)

    def test_of_which_all_differ_is_not_known_to_some_per_cent(self):
        result = run("-q", "-w", "0", "-r", "12", "-N", "sleep 0.01", "sleep 0.05")
        self.assertIn("12 rounds were taken: each ratio is shown to differ from 1.", result.stdout)

    def test_of_more_rounds_at_least_than_at_most_is_refused(self):
        result = run("-q", "-m", "20", "-M", "5", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("tabane time: -m/--min-runs 20 is more than -M/--max-runs 5", result.stderr)
        self.assertEqual(run("-q", "-w", "0", "-M", "2", "true").returncode, 0)


class Surroundings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = pathlib.Path(self.folder.name, "log")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, word):
        return f"echo {word} >> {self.log}"

    def lines(self):
        return self.log.read_text().split()

    def test_are_run_in_their_places(self):
        result = run(*FEW, "-s", self.write("setup"), "-p", self.write("prepare"), "--conclude",
                     self.write("conclude"), "-c", self.write("cleanup"), self.write("run"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.lines(), ["setup"] + ["prepare", "run", "conclude"] * 2
                         + ["cleanup"])

    def test_can_be_given_for_each_command(self):
        run("-q", "-w", "0", "-r", "1", "-p", self.write("pa"), "-p", self.write("pb"),
            self.write("a"), self.write("b"))
        self.assertIn(self.lines(), (["pa", "a", "pb", "b"], ["pb", "b", "pa", "a"]))
        result = run(*FEW, "-p", "true", "-p", "true", "a", "b", "c")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--prepare was given 2 times for 3 commands", result.stderr)

    def test_clean_up_after_a_failure(self):
        result = run(*FEW, "-c", self.write("cleanup"), "false")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.lines(), ["cleanup"])

    def test_of_which_only_the_last_fails_leave_the_results(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "t.csv")
            result = run(*FEW, "-c", "rm nosuchfile", "--export-csv", table, "-o", folder, "true")
            self.assertEqual(result.returncode, 1)
            self.assertEqual(len(table.read_text().splitlines()), 2)
            self.assertTrue(pathlib.Path(folder, "report.html").exists())
        self.assertIn("2 rounds in turn", result.stdout)
        self.assertIn("nosuchfile", result.stderr.splitlines()[-2])
        self.assertEqual(result.stderr.splitlines()[-1],
                         "tabane time: --cleanup 'rm nosuchfile': exit code 1")

    def test_that_fail_are_named(self):
        result = run(*FEW, "-p", "echo missing >&2; exit 4", "true")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing", result.stderr)
        self.assertIn("--prepare 'echo missing >&2; exit 4': exit code 4", result.stderr)


class Parameters(unittest.TestCase):
    def commands(self, *arguments):
        result = run(*FEW, "--export-json", "/dev/stdout", "--json=/dev/null", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = result.stdout[result.stdout.index('{\n  "results"'):]
        found, _ = json.JSONDecoder().raw_decode(text)
        return found["results"]

    def test_are_put_into_the_command(self):
        found = self.commands("-P", "n", "1", "3", "-L", "word", "a,b", "echo {word}{n}")
        self.assertEqual([each["command"] for each in found],
                         ["echo a1", "echo b1", "echo a2", "echo b2", "echo a3", "echo b3"])
        self.assertEqual(found[1]["parameters"], {"n": "1", "word": "b"})

    def test_can_be_negative(self):
        found = self.commands("-P", "n", "-1", "0", "echo {n}")
        self.assertEqual([each["command"] for each in found], ["echo -1", "echo 0"])


class Ways(unittest.TestCase):
    def test_of_tabane_run_are_taken(self):
        first = min(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            show = f"echo $OMP_NUM_THREADS $(grep -o 'list:.*' /proc/self/status) >> {log}"
            result = run(*FEW, "--with", f"bound: -c {first} -t 3", show)
            self.assertEqual(result.returncode, 0, result.stderr)
            lines = log.read_text().splitlines()
        self.assertEqual(sum(line.startswith("3 list: " + str(first)) for line in lines), 2, lines)
        self.assertIn("(bound)", result.stdout)

    def test_belong_to_the_commands_that_name_them(self):
        result = run(*FEW, "--with", "one: -t 1", "echo a", "one: echo b")
        self.assertIn("echo b (one)", result.stdout)
        self.assertNotIn("echo a (one)", result.stdout)
        self.assertNotIn("one: echo", result.stdout)

    def test_that_cannot_be_are_refused_before_anything_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = pathlib.Path(folder, "mark")
            result = run(*FEW, "--with", "far: -c 65000", f"touch {mark}")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("CPU 65000 is not usable", result.stderr)
            self.assertFalse(mark.exists())


class Exports(unittest.TestCase):
    def test_have_a_row_for_each_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            result = run("-q", "-r", "8", "-N", "--export-csv", path / "t.csv",
                         "--export-markdown", path / "t.md", "--export-json", path / "t.json",
                         "--export-asciidoc", path / "t.adoc", "--export-orgmode", path / "t.org",
                         "-o", path / "page", "--json=" + str(path / "r.json"),
                         "--command-name", "one", "sleep 0.01", "sleep 0.02")
            self.assertEqual(result.returncode, 0, result.stderr)
            rows = list(csv.DictReader((path / "t.csv").read_text().splitlines()))
            self.assertEqual([row["command"] for row in rows], ["one", "sleep 0.02"])
            self.assertGreater(float(rows[1]["ratio"]), 1)
            self.assertEqual(len((path / "t.md").read_text().splitlines()), 4)
            self.assertEqual(len((path / "t.adoc").read_text().splitlines()), 6)
            self.assertEqual(len((path / "t.org").read_text().splitlines()), 4)
            data = json.loads((path / "t.json").read_text())["results"]
            self.assertEqual(len(data[0]["times"]), 8)
            record = json.loads((path / "r.json").read_text())
            self.assertEqual(record["name"], "time")
            self.assertIn("--runs 8", record["command_line"])
            self.assertIn("--json=", record["command_line"])
            self.assertIn("'sleep 0.02'", record["command_line"])
            self.assertIn("sleep 0.02", (path / "page" / "report.html").read_text())
            again = subprocess.run([TABANE, "compare", path / "r.json", path / "r.json"],
                                   capture_output=True, text=True, timeout=60)
            self.assertEqual(again.returncode, 0, again.stderr)

    def test_go_to_stdout_alone(self):
        for option, begins in (("--export-csv", "command,"), ("--export-markdown", "| Command"),
                               ("--export-json", "{\n")):
            with tempfile.TemporaryDirectory() as folder:
                result = subprocess.run([TABANE, "time", *FEW, option, "-", "true"], cwd=folder,
                                        capture_output=True, text=True, timeout=60)
                self.assertEqual(os.listdir(folder), [])
            self.assertTrue(result.stdout.startswith(begins), result.stdout)
            self.assertNotIn("in turn", result.stdout)
        for second in ("--json", "--export-csv=-"):
            result = run(*FEW, "--export-markdown", "-", second, "true")
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertIn("stdout", result.stderr)

    def test_that_cannot_be_written_are_told_before_anything_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = pathlib.Path(folder, "mark")
            result = run(*FEW, "--export-csv", "/nonexistent/t.csv", f"touch {mark}")
            self.assertEqual(result.returncode, 2)
            self.assertFalse(mark.exists())


class BadCommand(unittest.TestCase):
    def test_that_fails_is_shown_with_its_messages(self):
        result = run("-q", "true", "echo broken >&2; exit 3")
        self.assertEqual(result.returncode, 1)
        self.assertIn("  broken\n", result.stderr)
        self.assertIn("exit code 3", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_that_fails_without_a_word_is_told_before_the_hint(self):
        lines = run(*FEW, "-N", "false").stderr.splitlines()
        self.assertEqual(lines[0], "tabane time: 'false': exit code 1")
        self.assertIn("--show-output", lines[1])

    def test_that_fails_is_timed_if_failures_are_ignored(self):
        result = run(*FEW, "-i", "exit 3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("failed runs", result.stdout)

    def test_that_is_not_found_is_named(self):
        for arguments in (["-N"], []):
            result = run(*FEW, *arguments, "no-such-command-here")
            self.assertEqual(result.returncode, 1)
            self.assertIn("no-such-command-here", result.stderr)

    def test_that_hangs_is_ended(self):
        ignored = run(*FEW, "-i", "--timeout", "200ms", "sleep 60", "true")
        self.assertEqual(ignored.returncode, 0, ignored.stderr)
        result = run(*FEW, "--timeout", "200ms", "sleep 60")
        self.assertEqual(result.returncode, 1)
        self.assertIn("not finished after", result.stderr)

    def test_that_does_not_end_in_time_is_told_at_its_limit(self):
        begin = time.monotonic()
        result = run("-N", "--timeout", "1s", "sh -c 'trap : TERM; while :; do sleep 0.1; done'")
        all_seconds = time.monotonic() - begin
        self.assertEqual(result.returncode, 1)
        told = re.search(r"not finished after ([\d.]+) s", result.stderr)
        self.assertLess(float(told[1]), all_seconds - 0.9)  # without the second after SIGTERM

    def test_is_killed_with_tabane(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            with subprocess.Popen([TABANE, "time", "-q", f"echo $$ >> {log}; exec sleep 1000"],
                                  stderr=subprocess.DEVNULL) as process:
                while not log.exists() or not log.read_text().endswith("\n"):
                    time.sleep(0.01)
                process.kill()
            command = pathlib.Path("/proc", log.read_text().split()[0])
            for _ in range(1000):
                if not command.exists() or "\nState:\tZ" in (command / "status").read_text():
                    return
                time.sleep(0.01)
            self.fail("it runs on")

    def test_that_leaves_processes_is_told_and_they_are_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            pids = pathlib.Path(folder, "pids")
            result = run("-w", "0", "-r", "2", f"sleep 60 & echo $! >> {pids}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("left processes", " ".join(result.stderr.split()))
            for pid in pids.read_text().split():
                self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_that_needs_a_terminal_fails_at_once(self):
        result = run(*FEW, "read line < /dev/tty")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/dev/tty", result.stderr)


class Streams(unittest.TestCase):
    def test_go_where_they_should(self):
        self.assertNotIn("hello", run(*FEW, "-N", "printf hello").stdout.split("\n"))
        shown = run(*FEW, "--show-output", "echo hello")
        self.assertEqual(shown.stdout.split("\n").count("hello"), 2)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "in")
            source.write_text("text\n")
            out = os.path.join(folder, "out")
            result = run(*FEW, "--input", source, "--output", out, "cat")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(pathlib.Path(out).read_text(), "text\n")

    def test_keep_what_is_known_at_ctrl_c(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            process = subprocess.Popen([TABANE, "time", "-q", "-w", "0", "-r", "100000", "-c",
                                        f"echo cleanup >> {log}", f"echo run >> {log}"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while not log.exists() or len(log.read_text().split()) < 20:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -signal.SIGINT)
            self.assertIn("Stopped after", out)
            self.assertEqual(log.read_text().split()[-1], "cleanup")

    def test_keeps_its_result_if_a_signal_comes_twice(self):
        """'timeout' signals a process and then its group."""
        for pause in (0, 0.001, 0.01):
            with tempfile.TemporaryDirectory() as folder:
                log = pathlib.Path(folder, "log")
                with subprocess.Popen([TABANE, "time", "-q", "-w", "0", "sleep 0.05",
                                       f"echo >> {log}"], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) as process:
                    while not log.exists() or log.stat().st_size < 10:
                        time.sleep(0.01)
                    process.send_signal(signal.SIGINT)
                    time.sleep(pause)
                    process.send_signal(signal.SIGINT)
                    out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -signal.SIGINT)
            self.assertIn("Stopped after", out)


if __name__ == "__main__":
    unittest.main()
