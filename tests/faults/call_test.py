"""A fault at each system call that a job makes for a small file: what is there stays whole, and
--resume completes it. The calls are those that strace sees."""

import collections
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "lib")]
from aes_dir import TABANE, Case, content, snapshot
from sanitizer import unless_sanitized

FILES = 60  # so many that the thread of the work makes each call more often than the first thread
FAULTS = ("error=EIO", "error=ENOSPC", "error=EINTR", "signal=SIGKILL")


def traced(job, *options):
    return subprocess.run(["strace", "-f", *map(str, options), TABANE, *map(str, job)],
                          stdin=subprocess.DEVNULL, capture_output=True)


@unless_sanitized(TABANE)
@unittest.skipUnless(shutil.which("strace"), "strace is missing")
class EachCall(Case):
    def setUp(self):
        super().setUp()
        (self.plain / "d").mkdir(parents=True)
        for i in range(FILES):
            (self.plain / "d" / f"f{i}").write_bytes(content(1000 + i, i))

    def calls_for_a_file(self, job):
        """Name and number of each call on files that the thread of the work makes for the last one
        or after it."""
        log = self.folder / "log"
        result = traced(job, "-o", log, "-e", "trace=%file,%desc")
        if b"ptrace" in result.stderr:
            self.skipTest("nothing may be traced here")
        self.assertEqual(result.returncode, 0, result.stderr)
        threads = collections.defaultdict(collections.Counter)
        for line in log.read_text().splitlines():
            if call := re.match(r"(\d+) +(\w+)\(", line):
                threads[call[1]][call[2]] += 1
        first, work = threads.values()
        calls = []
        for name, count in work.items():
            per_file = count // FILES
            self.assertLess(first[name] if per_file else 0, count - per_file + 1, name)
            calls += [(name, number) for number in range(count - per_file + 1, count + 1)]
        return calls

    def check_each_call(self, job, target, check_whole, check_complete):
        calls = self.calls_for_a_file(job)
        print(" ".join(sorted({name for name, _ in calls})), file=sys.stderr)
        failures = 0
        for name, number in calls:
            for fault in FAULTS:
                with self.subTest(call=name, number=number, fault=fault):
                    shutil.rmtree(target)
                    result = traced(job, "-o", "/dev/null", "-e", f"trace={name}", "-e",
                                    f"inject={name}:{fault}:when={number}")
                    killed = result.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
                    self.assertTrue(killed or result.returncode in (0, 1), result.stderr)
                    self.assertEqual(killed, "SIGKILL" in fault)
                    if not killed:
                        self.assertEqual(self.names_of_temporaries(target), [])
                    failures += result.returncode == 1
                    if result.returncode:
                        check_whole()
                        self.run_ok(job[0], "--resume", *job[1:])
                    check_complete()
        self.assertGreater(failures, len(calls))

    def test_of_encrypt(self):
        self.check_each_call(
            ["encrypt", "-q", "--threads", "1", *self.options(), self.plain, self.sealed],
            self.sealed,
            lambda: self.run_ok("verify", "--without-manifest", *self.options(), self.sealed),
            lambda: self.run_ok("verify", *self.options(), self.sealed))

    def test_leaves_an_empty_file_only_in_an_unfinished_tree(self):
        verify = ("verify", "--without-manifest", *self.options(), self.sealed)
        self.encrypt()
        (self.sealed / "d" / "f0").write_bytes(b"")
        self.refused(1, "d/f0", *verify, "-q")
        self.sealed.chmod(0o1700)
        self.assertIn(b"d/f0 is what an interrupted run has left", self.run_ok(*verify).stderr)
        (self.sealed / "d" / "f0").write_bytes(b"x")
        self.refused(1, "d/f0", *verify, "-q")

    def test_of_decrypt(self):
        self.encrypt()
        plain = snapshot(self.plain)

        def check_whole():
            for path, (*_, data) in snapshot(self.opened).items():
                if data is not None and not path.endswith(b".part"):
                    self.assertEqual(data, plain[path][-1])

        self.check_each_call(
            ["decrypt", "-q", "--preserve", "--threads", "1", *self.options(), self.sealed,
             self.opened],
            self.opened, check_whole,
            lambda: self.assertEqual(snapshot(self.opened), plain))


if __name__ == "__main__":
    unittest.main()
