"""tabane explain -- command, as its users meet it."""
# CTest: PROCESSORS 2 COST 30

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

TABANE = sys.argv.pop(1)
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("OMP_", "OPENBLAS_", "GLIBC_TUNABLES"))}

    def explain(self, *arguments, pus=1, stdout=subprocess.PIPE):
        """On one PU there is no room for thieves of memory, which take long to calibrate."""
        some = sorted(os.sched_getaffinity(0))[:pus]
        return subprocess.run([TABANE, "explain", "-q", *arguments], cwd=self.path, text=True,
                              stdout=stdout, stderr=subprocess.PIPE, timeout=120,
                              env=self.environment,
                              preexec_fn=lambda: os.sched_setaffinity(0, some))

    def start(self, *arguments, pus=1):
        some = sorted(os.sched_getaffinity(0))[:pus]
        return subprocess.Popen([TABANE, "explain", "-q", *arguments], cwd=self.path, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.environment,
                                preexec_fn=lambda: os.sched_setaffinity(0, some))

    def wait_for(self, tabane, holds):
        while not holds():
            self.assertIsNone(tabane.poll(), "tabane has ended")
            time.sleep(0.01)

    def record(self, *arguments):
        result = self.explain("--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)


class Answer(InFolder):
    @unittest.skipIf("[never]" in HUGE_PAGES.read_text() if HUGE_PAGES.exists() else True,
                     "the system gives no huge pages")
    def test_says_what_is_faster(self):
        # It is faster where the allocator is asked for huge pages.
        result = self.explain("--time", "5s", "--", "sh", "-c",
                              'test -n "$GLIBC_TUNABLES" || sleep 0.1; sleep 0.01')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("\n    tabane run --own-threads --placement none --huge-pages -- sh -c",
                      result.stdout)

    def test_fits_a_terminal(self):
        ours, theirs = pty.openpty()
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        (self.path / "in").touch()
        with open(ours, "rb", buffering=0), open(theirs, "wb", buffering=0):
            result = self.explain("--time", "1s", "--input", "in", "--", "sleep", "0.03",
                                  stdout=theirs)
            text = os.read(ours, 65536).decode()
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = text.splitlines()
        # A line to start the command by stays whole.
        self.assertLessEqual(max(len(line) for line in lines if line[:4].strip()), 80, text)
        self.assertGreater(max(map(len, lines)), 60, text)

    def test_is_on_a_page_and_in_json(self):
        record = self.record("--time", "2s", "-o", "page", "--", "sleep", "0.03")
        self.assertEqual(record["name"], "explain")
        self.assertTrue(record["sentences"])
        self.assertTrue((self.path / "page" / "report.html").exists())
        self.assertIn("--time 2s -- sleep 0.03", record["command_line"])


class Command(InFolder):
    def runs(self):
        return (self.path / "log").read_text().split()

    def test_gets_its_threads(self):
        log = self.path / "log"
        with self.start("--time", "60s", "-t", "1,3", "--", "sh", "-c",
                        "echo {threads} >> log; sleep 0.02") as tabane:
            self.wait_for(tabane, lambda: log.exists() and {"1", "3"} <= set(self.runs()))
            tabane.send_signal(signal.SIGINT)
            tabane.communicate(timeout=60)

    def test_is_prepared_before_each_run(self):
        result = self.explain("--time", "1s", "--prepare", "echo p >> log", "--", "sh", "-c",
                              "echo r >> log; sleep 0.03")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(set(self.runs()[::2]), {"p"})
        self.assertEqual(set(self.runs()[1::2]), {"r"})

    def test_that_takes_long_is_run_a_few_times(self):
        record = self.record("--time", "3s", "--", "sh", "-c", "echo r >> log; sleep 0.5")
        self.assertIn("there was no time for it in --time 3.00 s: one run takes",
                      " ".join(record["sentences"]))
        self.assertLessEqual(len(self.runs()), 8)

    def test_reads_its_input(self):
        (self.path / "in").write_text("words\n")
        result = self.explain("--time", "1s", "--input", "in", "--", "sh", "-c",
                              "grep -q words && sleep 0.03")
        self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "there is one PU")
    def test_is_run_beside_thieves(self):
        for pus in (1, 2):
            result = self.explain("--time", "3s", "--", "sleep", "0.03", pus=pus)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIs("there is one PU" in " ".join(result.stdout.split()), pus == 1)


class Refusal(InFolder):
    def test_says_why(self):
        for code, arguments, words in (
                (2, [], "tabane explain: give a command after --"),
                (2, ["--time", "5x", "--", "true"], "--time: '5x'"),
                (2, ["--time", "0", "--", "true"], "--time 0: use a time above 0"),
                (2, ["-t", "0", "--", "true"], "--threads"),
                (2, ["--input", "none", "--", "true"], "--input none: cannot be read"),
                (2, ["-o", "/proc/none", "--", "true"], "--output"),
                (1, ["--", "./no-such-program"], "no-such-program"),
                (1, ["--", "sh", "-c", "echo wrong >&2; exit 3"],
                 "the command fails: exit code 3"),
                (1, ["--", "sh", "-c", "kill -9 $$"], "the command fails: ended by signal 9"),
                (1, ["--time", "200ms", "--", "sleep", "5"], "the command takes all of --time"),
                (1, ["--prepare", "exit 4", "--", "true"], "--prepare 'exit 4': exit code 4"),
                (1, ["--", "mkdir", "made"], "--prepare can restore"),
        ):
            with self.subTest(arguments):
                result = self.explain(*arguments)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stdout, "")

    def test_shows_what_the_command_wrote(self):
        result = self.explain("--", "sh", "-c", "echo wrong input >&2; exit 3")
        self.assertIn("wrong input", result.stderr)


class Stop(InFolder):
    def seconds_of_threads(self, pid):
        """Seconds of PU time of tabane's threads but the first."""
        ticks = 0
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if thread.name != str(pid):
                fields = (thread / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def stopped(self, number):
        """Stops tabane while a thief works beside the command, and returns its exit code."""
        log, hold = self.path / "log", self.path / "hold"
        children = []

        def is_command(child):
            try:  # a zombie has no command line
                return b"log" in Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:  # it has gone
                return False

        def a_thief_works():  # beside a run that lasts as long as `hold` exists
            runs = log.read_text()
            before = self.seconds_of_threads(tabane.pid)
            time.sleep(0.2)
            path = Path(f"/proc/{tabane.pid}/task/{tabane.pid}/children")
            children[:] = path.read_text().split()
            return (any(map(is_command, children)) and log.read_text() == runs and
                    self.seconds_of_threads(tabane.pid) - before >= 0.02)

        def is_held():
            hold.touch()
            time.sleep(0.3)  # the run before ends
            if not a_thief_works():
                hold.unlink()
                time.sleep(0.05)
                return False
            return True

        with self.start("--time", "60s", "--", "sh", "-c",
                        "echo r >> log; sleep 0.1; while test -e hold; do sleep 0.02; done"
                        ) as tabane:
            self.wait_for(tabane, lambda: log.exists() and len(log.read_text().split()) >= 6)
            self.wait_for(tabane, is_held)
            tabane.send_signal(number)
            tabane.communicate(timeout=60)
        hold.unlink()
        time.sleep(0.3)
        self.assertFalse(any(map(is_command, children)))
        runs = log.read_text()
        time.sleep(0.3)
        self.assertEqual(log.read_text(), runs)
        return tabane.returncode

    def test_by_the_user_ends_the_command(self):
        self.assertEqual(self.stopped(signal.SIGINT), -signal.SIGINT)

    def test_by_force_ends_the_command_and_the_thieves(self):
        self.assertEqual(self.stopped(signal.SIGKILL), -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
