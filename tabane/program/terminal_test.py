"""tabane on a terminal: what a window of a given width shows after the program has written."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/lib"))
from tool_case import TABANE, children, cpu_seconds


class Window:
    """A terminal that keeps all that was written to it."""

    def __init__(self, columns):
        self.ours, self.theirs = pty.openpty()
        self.text = b""
        self.resize(columns)

    def resize(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def run(self, *arguments, on_text=lambda window: None, **pipes):
        process = subprocess.Popen([TABANE, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   **({"stdout": self.theirs, "stderr": self.theirs} | pipes))
        os.close(self.theirs)
        while self.read():
            on_text(self)
        os.close(self.ours)
        return process.wait(timeout=60)

    def read(self):
        """Keeps what is written next; false: nothing will be."""
        readable, _, _ = select.select([self.ours], [], [], 60)
        try:
            data = os.read(self.ours, 65536) if readable else b""
        except OSError:  # the other end is closed
            data = b""
        self.text += data
        return data != b""

    def progress(self):
        """What was drawn of the progress line."""
        return [line for line in self.drawings() if re.match(r"(\[[= ]*\])? *\d+ %  ", line)]

    def drawings(self):
        """Each thing that was drawn on one line, without control sequences."""
        text = self.text.decode().replace("\r\n", "\n")
        return [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", part) for part in re.split(r"[\r\n]", text)]


def resume(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


class Progress(unittest.TestCase):
    def test_of_encrypt_leaves_no_trail_in_a_narrow_window(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "in").mkdir()
            for i in range(40):
                (folder / "in" / str(i)).write_bytes(bytes(8 << 20))
            subprocess.run([TABANE, "keygen", folder / "key"], check=True, capture_output=True)
            window = Window(60)
            self.assertEqual(window.run("encrypt", "--key-file", folder / "key", "-t", "1",
                                        folder / "in", folder / "out",
                                        stdout=subprocess.DEVNULL), 0)
            drawn = window.progress()
            self.assertGreater(len(drawn), 1)
            for line in drawn:
                self.assertLess(len(line), 60)

    def test_of_survey_follows_the_width_of_the_window(self):
        def narrower(window):
            if b" % " in window.text and not window.narrowed_at:
                window.narrowed_at = len(window.text)
                window.resize(40)
        window = Window(100)
        window.narrowed_at = 0
        window.run("survey", "--quick", "--only", "latency,clock", "--json=/dev/null",
                   on_text=narrower, stdout=subprocess.DEVNULL)
        self.assertGreater(window.narrowed_at, 0)
        lines = window.progress()
        self.assertGreater(len(lines[0]), 40)
        # The first few may have been drawn before the window changed.
        self.assertLess(max(map(len, lines[2:])), 40, lines)

    def test_of_a_solver_says_what_is_awaited(self):
        window = Window(80)
        process = subprocess.Popen([TABANE, "linpack", "-n", "6000", "--ranks", "2"],
                                   stdout=subprocess.DEVNULL, stderr=window.theirs)
        os.close(window.theirs)
        self.addCleanup(process.kill)
        ranks = []
        while len(ranks) < 2 or min(map(cpu_seconds, ranks)) < 0.2:  # both are past their setup
            self.assertIsNone(process.poll())
            time.sleep(0.02)
            ranks = children(process.pid)
        # Rank 0 has a thread that shows the line; it waits for the other one.
        other, = (rank for rank in ranks if len(os.listdir(f"/proc/{rank}/task")) == 1)
        os.kill(other, signal.SIGSTOP)
        self.addCleanup(resume, other)
        while b"waiting for 2 ranks (2 s)" not in window.text:
            self.assertTrue(window.read(), window.text)
        os.kill(other, signal.SIGCONT)
        self.assertEqual(process.wait(timeout=300), 0)
        while window.read():
            pass
        self.assertTrue(window.text.endswith(b"\r\033[K"), window.text)


class List(unittest.TestCase):
    def widest(self, columns, *more):
        window = Window(columns)
        self.assertEqual(window.run("survey", "--list", *more), 0)
        return max(map(len, window.drawings()))

    def test_fits_the_window(self):
        for columns in (60, 80, 120):
            self.assertLessEqual(self.widest(columns), columns)

    def test_is_one_line_per_probe_if_wide(self):
        self.assertGreater(self.widest(80, "--wide"), 200)

    def test_has_the_same_width_in_every_file(self):
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        result = subprocess.run([TABANE, "survey", "--list"], capture_output=True, text=True,
                                env=environment, check=True)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)


if __name__ == "__main__":
    unittest.main()
