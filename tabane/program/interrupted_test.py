"""Verbs that measure, interrupted before they have anything to show, end by the signal."""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TABANE = sys.argv.pop(1)
VERBS = {
    "time": ["time", "-q", "sleep 60"],
    "time, setup": ["time", "-q", "--setup", "sleep 60", "true"],
    "tune": ["tune", "-q", "--", "sleep", "60"],
    "tune --collectives": ["tune", "-q", "--collectives"],
    "explain": ["explain", "-q", "--", "sleep", "60"],
    "study": ["study", "ha8000", "-q"],
    "survey": ["survey", "-q"],
}


def catches(process, which):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    caught = int(re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)[1], 16)
    return caught >> (which - 1) & 1


class Interrupted(unittest.TestCase):
    def end_of(self, arguments, which):
        with tempfile.TemporaryDirectory() as folder, \
                subprocess.Popen([TABANE, *arguments], cwd=folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not catches(process, which):
                time.sleep(0.001)
            process.send_signal(which)
            _, errors = process.communicate(timeout=60)
        return process.returncode, errors

    def test_ends_by_the_signal(self):
        for name, arguments in VERBS.items():
            for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(f"{name}, {which.name}"):
                    end, errors = self.end_of(arguments, which)
                    self.assertEqual(end, -which, errors)
                    self.assertNotIn("tabane: stopped\n", errors)

    def test_ends_a_simulated_run_that_is_under_way(self):
        for arguments in (["simulate", "ap1000:16x16", "--steps", "1000000"],
                          ["scg", "-n", "2000", "--machine", "ap1000:16x16", "--page", "page"]):
            with self.subTest(arguments[0]):
                end, errors = self.end_of([*arguments, "-q"], signal.SIGINT)
                self.assertEqual(end, -signal.SIGINT, errors)
                self.assertIn("stopped before anything was measured", errors)


if __name__ == "__main__":
    unittest.main()
