"""kill -9, Ctrl-C and the like: what is there is whole, and --resume makes it complete."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from aes_dir import TABANE, Case, content, snapshot, tabane

SEED = 20240229
ROUNDS = 2
MOST_KILLS = 8  # in a round


def start(*arguments):
    return subprocess.Popen([TABANE, *map(str, arguments)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Interruption(Case):
    def setUp(self):
        super().setUp()
        for i in range(25):
            folder = self.plain / f"d{i % 7}" / f"d{i}"
            folder.mkdir(parents=True)
            for j in range(20):
                (folder / f"f{j}").write_bytes(content(100 * j + i, i + j))
        for i in range(3):
            (self.plain / f"large{i}").write_bytes(content(4 << 20, i))

    def killed_at_random(self, verb, options, source, target, generator):
        """Runs again and again with --resume, killed a random time after the start; returns how
        often it was."""
        begin = time.monotonic()
        self.run_ok(verb, *options, source, target)
        whole_time = time.monotonic() - begin
        shutil.rmtree(target)
        kills = 0
        for _ in range(MOST_KILLS):
            process = start(verb, *options, "--resume", source, target)
            time.sleep(generator.uniform(0, whole_time))
            process.kill()
            _, errors = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), errors)
            if process.returncode == 0:
                break
            kills += 1
            if target.exists() and verb == "encrypt":
                # What is there is whole; the manifest comes last.
                self.run_ok("verify", "--without-manifest", *options, target)
        self.run_ok(verb, *options, "--resume", source, target)
        self.assertEqual(self.names_of_temporaries(target), [])
        self.assertEqual(target.stat().st_mode, source.stat().st_mode)
        return kills

    def test_by_kill_leaves_whole_files_and_resume_completes(self):
        print(f"seed {SEED}", file=sys.stderr)
        generator = random.Random(SEED)
        kills = 0
        before = snapshot(self.plain)
        for i in range(ROUNDS):
            options = self.options(("aes-256-gcm", "aes-128-cbc")[i % 2])
            kills += self.killed_at_random("encrypt", options, self.plain, self.sealed, generator)
            kills += self.killed_at_random("decrypt", [*options, "--preserve"], self.sealed,
                                           self.opened, generator)
            self.assertEqual(snapshot(self.opened), before)
            shutil.rmtree(self.sealed)
            shutil.rmtree(self.opened)
        print(f"killed {kills} times", file=sys.stderr)
        self.assertGreater(kills, 0)
        self.assertEqual(snapshot(self.plain), before)

    def change_input(self, generator, step):
        """Removes, adds and changes some files."""
        files = sorted(path for path in self.plain.rglob("f*") if path.is_file())
        for path in generator.sample(files, 30):
            path.unlink()
        for path in generator.sample(files, 60):
            if path.exists():
                path.write_bytes(content(generator.randrange(5000), step))
        for i in range(30):
            (self.plain / f"d{i % 7}" / f"f-new{step}.{i}").write_bytes(content(100 * i, step))

    def test_of_an_update_is_told_and_the_next_one_completes(self):
        generator = random.Random(SEED)
        options = self.options()
        self.run_ok("encrypt", *options, self.plain, self.sealed)
        begin = time.monotonic()
        self.run_ok("encrypt", *options, "--update", self.plain, self.sealed)
        whole_time = time.monotonic() - begin
        kills = 0
        for step in range(2 * ROUNDS):
            self.change_input(generator, step)
            process = start("encrypt", *options, "--update", self.plain, self.sealed)
            time.sleep(generator.uniform(0, 1.5 * whole_time))
            process.kill()
            process.communicate()
            kills += process.returncode != 0
            # Either state, or told as being changed; and what is there is whole.
            result = tabane("verify", *options, self.sealed)
            if result.returncode != 0:
                self.assertIn(b"--update or --resume finishes it", result.stderr)
            self.run_ok("verify", "--without-manifest", *options, self.sealed)
            if step % 2:
                self.run_ok("encrypt", *options, "--update", self.plain, self.sealed)
                self.run_ok("verify", *options, self.sealed)
        self.assertGreater(kills, 0)
        self.run_ok("decrypt", *options, self.sealed, self.opened)
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def interrupt(self, signal_number):
        """Returns the errors of a run that was told to end while it worked."""
        for _ in range(20):
            process = start("encrypt", *self.options(), self.plain, self.sealed)
            while process.poll() is None and not (self.sealed.exists() and
                                                  os.listdir(self.sealed)):
                time.sleep(0.0005)
            process.send_signal(signal_number)
            _, errors = process.communicate(timeout=60)
            if process.returncode == -signal_number:
                return errors.decode()
            self.assertEqual(process.returncode, 0, errors)
            shutil.rmtree(self.sealed)
        self.skipTest("this machine was too fast: each run ended before it could be stopped")

    def test_by_ctrl_c_or_termination_cleans_up_and_names_resume(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal_number):
                errors = self.interrupt(signal_number)
                self.assertIn("--resume", errors)
                self.assertEqual(self.names_of_temporaries(self.sealed), [])
                if any(entry[3] is not None for entry in snapshot(self.sealed).values()):
                    self.run_ok("verify", "--without-manifest", *self.options(), self.sealed)
                self.run_ok("encrypt", *self.options(), "--resume", self.plain, self.sealed)
                self.decrypt()
                self.assertEqual(snapshot(self.opened), snapshot(self.plain))
                shutil.rmtree(self.sealed)
                shutil.rmtree(self.opened)

    def others_are_refused(self, process, has_lock, *others):
        while process.poll() is None and not has_lock():
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            if process.poll() is not None:
                self.skipTest("this machine was too fast: the first run had ended")
            for other in others:
                result = tabane(other[0], *self.options(), *other[1:])
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(b"another", result.stderr)
        finally:
            process.send_signal(signal.SIGCONT)
            _, errors = process.communicate()
        self.assertEqual(process.returncode, 0, errors)

    def test_by_another_run_into_the_same_place_is_refused(self):
        process = start("encrypt", *self.options(), self.plain, self.sealed)
        # It has its lock when it writes the first file.
        self.others_are_refused(process, (self.sealed / ".tabane" / "keys").exists,
                                ("encrypt", "--resume", self.plain, self.sealed))
        process = start("decrypt", *self.options(), "--preserve", self.sealed, self.opened)
        self.others_are_refused(process, (self.opened / "d0").exists,
                                ("decrypt", "--resume", self.sealed, self.opened),
                                ("encrypt", "--force", self.plain, self.opened))
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))


@unittest.skipUnless(shutil.which("strace"), "strace is missing")
class Force(Case):
    """A kill at each step that changes OUT where --force replaces an older tree."""

    CALLS = ("mkdirat", "unlinkat", "renameat", "renameat2", "linkat", "fchmod", "pwrite64",
             "pwritev", "utimensat")

    def setUp(self):
        super().setUp()
        (self.plain / "d").mkdir(parents=True)
        for name in ("a", "d/b", "d/c"):
            (self.plain / name).write_bytes(content(3000, len(name)))
        self.older = self.folder / "older"
        self.run_ok("encrypt", *self.options(), self.plain, self.older)

    def killed(self, call, number):
        """Whether a thread of a job with --force came to its system call of this number."""
        shutil.rmtree(self.sealed, ignore_errors=True)
        shutil.copytree(self.older, self.sealed)
        job = ["encrypt", "--force", "-q", "--threads", "1", *self.options(), self.plain,
               self.sealed]
        result = subprocess.run(
            ["strace", "-f", "-o", os.devnull, "-e", f"trace=?{call}", "-e",
             f"inject=?{call}:signal=SIGKILL:when={number}", TABANE, *map(str, job)],
            stdin=subprocess.DEVNULL, capture_output=True)
        if b"ptrace" in result.stderr:
            self.skipTest("nothing may be traced here")
        self.assertIn(result.returncode, (0, -signal.SIGKILL, 128 + signal.SIGKILL), result.stderr)
        return result.returncode != 0

    def expect_one_tree(self):
        self.run_ok("verify", *self.options(), self.sealed)
        trees = {(self.sealed / name).read_bytes()[16:32] for name in ("a", "d/b", "d/c")}
        self.assertEqual(len(trees), 1)
        shutil.rmtree(self.opened, ignore_errors=True)
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def go_on(self, option, left):
        """Whether what a kill has left is refused."""
        shutil.rmtree(self.sealed)
        shutil.copytree(left, self.sealed)
        result = tabane("encrypt", option, "-q", *self.options(), self.plain, self.sealed)
        if result.returncode == 0:
            self.expect_one_tree()
        else:
            self.assertIn(b"--force", result.stderr)
        return result.returncode != 0

    def test_by_kill_at_any_step_leaves_no_mixture_of_two_trees(self):
        kills, refusals, left = 0, 0, self.folder / "left"
        for call in self.CALLS:
            number = 1
            while self.killed(call, number):
                with self.subTest(call=call, number=number):
                    shutil.rmtree(left, ignore_errors=True)
                    shutil.copytree(self.sealed, left)
                    refusals += sum(self.go_on(option, left) for option in ("--resume", "--update"))
                    self.run_ok("encrypt", "--force", "-q", *self.options(), self.plain,
                                self.sealed)
                    self.expect_one_tree()
                kills += 1
                number += 1
        print(f"{kills} kills, {refusals} refusals", file=sys.stderr)
        self.assertGreater(refusals, 0)


if __name__ == "__main__":
    unittest.main()
