"""encrypt, decrypt and verify on the ranks of an MPI launcher: all together on one machine, and on
three hosts, network namespaces that share a folder. Ranks are killed in the middle.

usage: ranks_test.py PROGRAM MODULE_DIR openmpi|mpich|hosts [TEST…]
"""

import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "comm")]
from aes_dir import TABANE, Case, content, snapshot, tabane
import hosts_test

MODULES, PLACE = sys.argv.pop(1), sys.argv.pop(1)
ENVIRONMENT = dict(os.environ, TABANE_MPI_MODULE=MODULES, TABANE_SILENCE_LIMIT="3",
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
RANKS = 3
LARGE = 24 << 20


def find_launcher():
    """The launcher's words, without the number of ranks."""
    names = {"openmpi": "Open MPI", "mpich": "HYDRA"}
    for name in (f"mpirun.{PLACE}", f"mpiexec.{PLACE}", "mpirun"):
        if not shutil.which(name):
            continue
        said = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
        if names[PLACE] in said.stdout:
            return [name] + (["--oversubscribe", "--bind-to", "none"] if PLACE == "openmpi" else [])
    return hosts_test.skip(f"there is no {PLACE}")


def rank_of(process):
    """Of a process that runs the program: its rank; None: it is none, or has ended."""
    try:
        if os.readlink(f"{process}/exe") != os.path.realpath(TABANE):
            return None
        state = pathlib.Path(process, "stat").read_text().rsplit(")", 1)[1].split()[0]
        for line in pathlib.Path(process, "environ").read_bytes().split(b"\0"):
            name, _, value = line.partition(b"=")
            if name in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK") and state != "Z":
                return int(value)
    except OSError:
        pass
    return None


def ranks_here(session):
    """Rank -> process, of the ranks whose OUT lies in a folder that no other test uses."""
    found = {}
    for process in glob.glob("/proc/[0-9]*"):
        rank = rank_of(process)
        if rank is None:
            continue
        try:
            if session in pathlib.Path(process, "cmdline").read_bytes():
                found[rank] = process
        except OSError:
            pass
    return found


def writes(process):
    """Whether it is in the middle of a file."""
    for name in glob.glob(f"{process}/fd/*"):
        try:
            if os.readlink(name).endswith(".part"):
                return True
        except OSError:
            pass
    return False


class Ranks(Case):
    def setUp(self):
        super().setUp()
        self.key = self.folder / "key"
        tabane("keygen", self.key)
        for number in range(4):
            folder = self.plain / f"d{number}"
            folder.mkdir(parents=True)
            (folder / "large").write_bytes(content(LARGE + number, seed=number))
            for size in range(150):
                (folder / f"f{size}").write_bytes(content(97 * size, seed=size))
        (self.plain / "link").symlink_to("d0/large")

    def start(self, *arguments, options=()):
        if PLACE == "hosts":
            words = hosts_test.launched(self.network, self.folder, 1,
                                        ("-x", "TABANE_SILENCE_LIMIT", *options))
        else:
            words = [*find_launcher(), *options, "-n", str(RANKS)]
        return subprocess.Popen([*words, TABANE, *map(str, arguments)], env=ENVIRONMENT,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def finish(self, process, seconds=120):
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess([], process.returncode, out, err)

    def run_on_ranks(self, *arguments):
        return self.finish(self.start(*arguments))

    def seal(self, *arguments):
        return self.run_on_ranks("encrypt", "--key-file", self.key, *arguments, self.plain,
                                 self.sealed)

    def expect_whole(self):
        """One process finds everything as it was."""
        self.assertEqual([], glob.glob(f"{self.sealed}/**/.tabane-*.part", recursive=True))
        opened = tabane("decrypt", "--key-file", self.key, self.sealed, self.opened)
        self.assertEqual(0, opened.returncode, opened.stderr)
        self.assertEqual(snapshot(self.plain), snapshot(self.opened))

    def test_a_tree_goes_there_and_back(self):
        there = self.seal("--json")
        self.assertEqual(0, there.returncode, there.stderr)
        told = json.loads(there.stdout)
        self.assertEqual(RANKS, told["ranks"])
        self.assertEqual(604, told["files_done"])
        self.assertEqual([], told["failures"])
        self.expect_whole()
        checked = self.run_on_ranks("verify", "--key-file", self.key, "--root", told["root"],
                                    self.sealed)
        self.assertEqual(0, checked.returncode, checked.stderr)
        again = self.folder / "again"
        opened = self.run_on_ranks("decrypt", "--key-file", self.key, self.sealed, again)
        self.assertEqual(0, opened.returncode, opened.stderr)
        self.assertEqual(snapshot(self.plain), snapshot(again))

    def test_only_rank_0_needs_the_key(self):
        """A passphrase, which is derived once, opens on all ranks."""
        words = self.folder / "words"
        words.write_text("correct horse battery staple\n")
        words.chmod(0o600)
        there = self.run_on_ranks("encrypt", "--passphrase-file", words, self.plain, self.sealed)
        self.assertEqual(0, there.returncode, there.stderr)
        back = self.run_on_ranks("decrypt", "--passphrase-file", words, self.sealed, self.opened)
        self.assertEqual(0, back.returncode, back.stderr)
        self.assertEqual(snapshot(self.plain), snapshot(self.opened))

    def test_failures_are_those_of_one_process(self):
        tabane("encrypt", "--key-file", self.key, self.plain, self.sealed)
        for name, at in (("d0/large", 5_000_000), ("d1/f149", 9_000), ("d3/large", 20_000_000)):
            with open(self.sealed / name, "r+b") as file:
                file.seek(at)
                byte = file.read(1)
                file.seek(at)
                file.write(bytes([byte[0] ^ 1]))
        os.remove(self.sealed / "d2/f7")
        shutil.copy(self.sealed / "d2/f9", self.sealed / "d2/f8")
        alone = tabane("verify", "--json", "--key-file", self.key, self.sealed)
        together = self.run_on_ranks("verify", "--json", "--key-file", self.key, self.sealed)
        told = json.loads(together.stdout)
        self.assertEqual(RANKS, told["ranks"])
        self.assertEqual(5, len(told["failures"]))
        self.assertEqual(json.loads(alone.stdout)["failures"], told["failures"])
        self.assertNotEqual(0, together.returncode)

    def test_a_refusal_is_told_once(self):
        self.sealed.mkdir()
        (self.sealed / "there").touch()
        refused = self.seal()
        self.assertNotEqual(0, refused.returncode)
        self.assertEqual(1, refused.stderr.count(b"is not empty"), refused.stderr)
        shutil.rmtree(self.sealed)
        none = self.run_on_ranks("encrypt", "--key-file", self.folder / "none", self.plain,
                                 self.sealed)
        self.assertNotEqual(0, none.returncode)
        self.assertEqual(1, none.stderr.count(b"No such file"), none.stderr)
        dry = self.seal("--dry-run")
        self.assertEqual(0, dry.returncode, dry.stderr)
        self.assertFalse(self.sealed.exists())

    def kill_one(self, options=()):
        """Kills a rank other than 0 in the middle of a file; tries again if all were too fast."""
        for _ in range(20):
            shutil.rmtree(self.sealed, ignore_errors=True)
            process = self.start("encrypt", "--key-file", self.key, self.plain, self.sealed,
                                 options=options)
            victim = None
            while process.poll() is None and victim is None:
                ranks = ranks_here(os.fsencode(self.sealed))
                victim = next((ranks[rank] for rank in ranks if rank and writes(ranks[rank])), None)
            if victim is not None:
                try:
                    os.kill(int(os.path.basename(victim)), signal.SIGKILL)
                except ProcessLookupError:
                    victim = None
            ended = self.finish(process)
            if victim is not None and not (ended.returncode == 0 and
                                           b"rank 0 has done" not in ended.stderr):
                return ended
        return self.fail("no rank could be killed in the middle")

    def test_resume_completes_what_a_killed_rank_left(self):
        ended = self.kill_one()
        self.assertNotEqual(0, ended.returncode)
        self.assertEqual({}, ranks_here(os.fsencode(self.sealed)))
        resumed = self.seal("--resume")
        self.assertEqual(0, resumed.returncode, resumed.stderr)
        self.expect_whole()

    @unittest.skipIf(PLACE == "mpich", "MPICH ends the job in any case")
    def test_a_killed_rank_keeps_no_other_waiting_where_the_launcher_goes_on(self):
        """Rank 0 in the middle, and another before it has begun."""
        for victim in (0, 1, 0, 1):
            shutil.rmtree(self.sealed, ignore_errors=True)
            process = self.start("encrypt", "--key-file", self.key, self.plain, self.sealed,
                                 options=("--enable-recovery",))
            ranks = {}
            while process.poll() is None and not (self.sealed.exists() and victim in ranks):
                ranks = ranks_here(os.fsencode(self.sealed))
            if victim in ranks:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(os.path.basename(ranks[victim])), signal.SIGKILL)
            self.finish(process, 40)
            self.assertEqual({}, ranks_here(os.fsencode(self.sealed)))
            resumed = self.seal("--resume")
            self.assertEqual(0, resumed.returncode, resumed.stderr)
            self.expect_whole()
            shutil.rmtree(self.opened)

    @unittest.skipIf(PLACE == "mpich", "MPICH ends the job in any case")
    def test_a_killed_rank_costs_nothing_where_the_launcher_goes_on(self):
        ended = self.kill_one(options=("--enable-recovery",))
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertRegex(ended.stderr, rb"warning: .*rank 0 has done")
        self.expect_whole()


def main():
    if PLACE == "hosts":
        hosts_test.require_network(MODULES)
        with hosts_test.Network(RANKS) as network:
            Ranks.network = network
            return unittest.main(exit=False).result.wasSuccessful()
    find_launcher()
    if not pathlib.Path(MODULES, f"libtabane_mpi_{PLACE}.so").exists():
        hosts_test.skip(f"tabane was built without {PLACE}")
    return unittest.main(exit=False).result.wasSuccessful()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    sys.exit(0 if main() else 1)
