"""What --resume keeps, what it does again, and what it renews."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import CHUNK, SIZES, TABANE, Case, snapshot, tabane, without_home

CIPHERS = ("aes-256-gcm", "aes-128-cbc", "aes-256-cbc")
NOBODY = 65534
PAGE = 4096


def overwrite(path, start, end=None):
    """Writes zeros over a part of a file, and leaves its size and time."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(bytes((end or before.st_size) - start))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


class Resume(Case):
    def setUp(self):
        super().setUp()
        self.make_tree()
        self.where = {"encrypt": [self.plain, self.sealed], "decrypt": [self.sealed, self.opened]}

    def do(self, verb, *more, cipher="aes-256-gcm"):
        return self.run_ok(verb, *self.options(cipher), "--preserve", *more, *self.where[verb])

    def files_done(self, verb, **how):
        return json.loads(self.do(verb, "--resume", "--json", **how).stdout)["files_done"]

    def test_keeps_what_is_complete_of_every_size(self):
        for cipher in CIPHERS:
            for verb in self.where:
                self.do(verb, cipher=cipher)
                self.assertEqual(self.files_done(verb, cipher=cipher), 0)
            for folder in (self.sealed, self.opened):
                shutil.rmtree(folder)

    def test_does_again_what_was_zeroed_from_a_page_on(self):
        large = f"a/f{SIZES.index(5 << 20)}"
        for cipher in CIPHERS:
            for verb, target in (("encrypt", self.sealed), ("decrypt", self.opened)):
                with self.subTest(cipher=cipher, verb=verb):
                    self.do(verb, cipher=cipher)
                    overwrite(target / large, PAGE)
                    self.assertEqual(self.files_done(verb, cipher=cipher), 1)
            self.assertEqual(snapshot(self.opened), snapshot(self.plain))
            for folder in (self.sealed, self.opened):
                shutil.rmtree(folder)

    def test_does_again_what_is_all_zeros(self):
        for cipher in CIPHERS:
            for verb, target in (("encrypt", self.sealed), ("decrypt", self.opened)):
                self.do(verb, cipher=cipher)
                zeroed = 0
                for path in target.rglob("*"):
                    if path.parent.name != ".tabane" and path.is_file() and any(path.read_bytes()):
                        overwrite(path, 0)
                        zeroed += 1
                self.assertEqual(self.files_done(verb, cipher=cipher), zeroed)
            self.assertEqual(snapshot(self.opened), snapshot(self.plain))
            for folder in (self.sealed, self.opened):
                shutil.rmtree(folder)

    def test_does_again_what_ends_with_a_changed_byte(self):
        for verb, target in (("encrypt", self.sealed), ("decrypt", self.opened)):
            self.do(verb)
            path = target / "a" / f"f{SIZES.index(3 * CHUNK)}"
            before = path.stat()
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.assertEqual(self.files_done(verb), 1)
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def test_renews_modes_of_files_and_directories(self):
        self.do("encrypt")
        before = snapshot(self.sealed)
        (self.plain / "f0").chmod(0o604)
        (self.plain / "a" / "b").chmod(0o705)
        self.assertEqual(self.files_done("encrypt"), 0)
        after = snapshot(self.sealed)
        self.assertEqual(after[b"f0"][1], 0o604)
        self.assertEqual(after[b"a/b"][1], 0o705)
        self.assertEqual({path: entry[3] for path, entry in without_home(before).items()},
                         {path: entry[3] for path, entry in without_home(after).items()})


class AsUser(Case):
    """Without the privileges of root, for whom no directory is read-only."""

    def setUp(self):
        super().setUp()
        self.user = {}
        if os.geteuid() == 0:
            self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(self.folder, NOBODY, NOBODY)
        # A test that root runs may lie where nobody else is let in.
        try:
            subprocess.run([TABANE, "--version"], capture_output=True, check=True, **self.user)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("the program cannot be run by another user here")
        self.make_tree()
        self.give_to_user()
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+rwx", self.folder])

    def give_to_user(self):
        if self.user:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", self.folder], check=True)

    def run_ok(self, *arguments):
        result = tabane(*arguments, **self.user)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def expect_read_only(self, root):
        for folder in ("a/b", "a", "."):
            self.assertEqual(stat.S_IMODE((root / folder).stat().st_mode), 0o555)

    def test_directories_that_are_read_only_are_completed_and_stay_so(self):
        for folder in ("a/b", "a", "."):
            (self.plain / folder).chmod(0o555)
        self.encrypt()
        self.decrypt()
        (self.plain / "a").chmod(0o755)
        (self.plain / "a" / "f3").write_bytes(b"new")
        (self.plain / "a" / "more").mkdir()
        (self.plain / "a").chmod(0o555)
        for root in (self.sealed, self.opened):
            self.expect_read_only(root)
            (root / "a").chmod(0o755)
            (root / "a" / "f4").unlink()
            self.leave(root / "a" / ".tabane-0123456789abcdef.part")
            (root / "a").chmod(0o555)
        self.give_to_user()
        self.encrypt("--resume")
        self.decrypt("--resume")
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))
        for root in (self.sealed, self.opened):
            self.expect_read_only(root)
            self.assertEqual(self.names_of_temporaries(root), [])

    def outcome(self, verb, *more):
        where = [self.sealed] if verb == "verify" else [self.plain, self.sealed]
        return tabane(verb, "-q", *self.options(), *more, *where, **self.user)

    def test_what_cannot_be_read_stays_in_the_tree_as_it_was(self):
        self.encrypt()
        (self.plain / "a" / "f3").chmod(0)
        for how in ("--resume", "--update"):
            result = self.outcome("encrypt", how)
            self.assertEqual(result.returncode, 1)
            self.assertNotIn(b"unfinished", result.stderr)
            self.assertEqual(self.outcome("verify").returncode, 0)
        (self.plain / "a" / "f3").chmod(0o644)
        (self.plain / "a" / "new").write_bytes(b"never sealed")
        (self.plain / "a" / "new").chmod(0)
        self.give_to_user()
        self.expect_unfinished_until_readable("--update", self.plain / "a" / "new")

    def test_a_tree_is_unfinished_without_a_directory_that_cannot_be_listed(self):
        self.encrypt()
        (self.plain / "a").chmod(0)
        self.expect_unfinished_until_readable("--resume", self.plain / "a")

    def test_a_first_encryption_is_unfinished_without_what_cannot_be_read(self):
        (self.plain / "a" / "f3").chmod(0)
        self.sealed.mkdir()
        self.give_to_user()
        self.expect_unfinished_until_readable("--force", self.plain / "a" / "f3")
        self.assertEqual(self.outcome("verify").returncode, 0)

    def expect_unfinished_until_readable(self, how, path):
        result = self.outcome("encrypt", how)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"OUT is unfinished", result.stderr)
        result = self.outcome("verify")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"--resume finishes it", result.stderr)
        path.chmod(0o755)
        self.encrypt("--resume")
        self.assertEqual(self.outcome("verify").returncode, 0)

    def test_directories_that_cannot_even_be_listed_are_completed(self):
        self.encrypt()
        (self.sealed / "a" / "f4").unlink()
        (self.sealed / "a").chmod(0)
        self.encrypt("--resume")
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))


if __name__ == "__main__":
    unittest.main()
