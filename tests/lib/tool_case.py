"""What the tests of tools as programs share: a folder of their own, runs, refusals and ranks. Takes
the program from the arguments."""
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

import sanitizer

TABANE = os.path.abspath(sys.argv.pop(1))
unless_sanitized = sanitizer.unless_sanitized(TABANE)
WITHOUT_MPI = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPI_", "PMI"))}


def mpirun(ranks):
    """What starts a program as ranks of Open MPI, or None."""
    launcher = shutil.which("mpirun.openmpi")
    module = pathlib.Path(TABANE).parent / "lib/libtabane_mpi_openmpi.so"
    if launcher is None or not module.exists():
        return None
    return (launcher, "-n", str(ranks), "--oversubscribe", "--allow-run-as-root")


def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Case(unittest.TestCase):
    tool = None  # the verb

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def run_tool(self, *arguments, before=(), code=None, **options):
        how = {"cwd": self.folder, "stdin": subprocess.DEVNULL, "text": True, **options}
        done = subprocess.run([*before, TABANE, self.tool, *map(str, arguments)], env=WITHOUT_MPI,
                              capture_output=True, timeout=200, check=False, **how)
        if code is not None:
            self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done

    def told(self, *arguments, **options):
        """What a run that succeeds says as JSON."""
        return json.loads(self.run_tool(*arguments, "--json", code=0, **options).stdout)

    def refused(self, sentence, *arguments, code=2):
        with self.subTest(arguments):
            done = self.run_tool(*arguments, code=code)
            self.assertIn(sentence, done.stderr)
            self.assertEqual(1, done.stderr.count("\n"), done.stderr)
            self.assertEqual("", done.stdout)
        return done

    def told_by_ranks_that_take_turns(self, *arguments):
        """What two ranks on one PU say as JSON; one line on stderr says that they share it."""
        on_one_pu = {"before": ("taskset", "-c", str(min(os.sched_getaffinity(0)))), "code": 0}
        done = self.run_tool(*arguments, "--ranks", 2, "--json", **on_one_pu)
        self.assertEqual("tabane: 2 ranks share 1 PU: they take turns and wait long for each "
                         "other\n", done.stderr)
        self.assertEqual("", self.run_tool(*arguments, "--ranks", 2, "-q", **on_one_pu).stderr)
        self.assertEqual("", self.run_tool(*arguments, "--ranks", 1, **on_one_pu).stderr)
        return json.loads(done.stdout)

    def start(self, *arguments):
        process = subprocess.Popen([TABANE, self.tool, *map(str, arguments)], cwd=self.folder,
                                   env=WITHOUT_MPI, text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def expect_loss(self, process):
        out, errors = process.communicate(timeout=60)
        self.assertEqual(3, process.returncode, errors)
        self.assertRegex(errors, r"(rank|process) \d.* was lost.*killed by signal 9")
        self.assertEqual("", out)
        with self.assertRaises(ProcessLookupError):  # no rank is left
            os.killpg(process.pid, 0)

    def expect_loss_of_a_rank(self, *arguments):
        """However busy the machine is, its two ranks are past their setup when one is killed."""
        process, ranks = self.start(*arguments, "--ranks", 2), []
        while len(ranks) < 2 or min(map(cpu_seconds, ranks)) < 0.4:
            self.assertIsNone(process.poll())
            time.sleep(0.02)
            ranks = children(process.pid)
        os.kill(ranks[-1], signal.SIGKILL)
        self.expect_loss(process)
