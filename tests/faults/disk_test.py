"""Full, read-only and other file systems, limits, permissions, very many files.

Mounts small file systems in a mount namespace of its own; where that is not allowed, the tests that
need one are left out.
"""

import os
import pathlib
import resource
import shutil
import stat
import subprocess
import sys
import unittest

MARK = "TABANE_TEST_NAMESPACE"
NOBODY = 65534


def enter_namespace():
    """Runs this program again where it may mount, if it may."""
    for options in (["-m"], ["-r", "-m"]):
        command = ["unshare", *options, "--"]
        if shutil.which("unshare") and subprocess.run(
                [*command, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True
        ).returncode == 0:
            os.environ[MARK] = "yes"
            os.execvp(command[0], [*command, sys.executable, *sys.argv])
    os.environ[MARK] = "no"


if __name__ == "__main__" and MARK not in os.environ:
    enter_namespace()
CAN_MOUNT = os.environ.get(MARK) == "yes"

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from aes_dir import TABANE, Case, content, listed, snapshot, tabane, without_home


class Disk(Case):
    def mount(self, folder, options):
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "none", folder]
        result = subprocess.run(command, capture_output=True)
        if result.returncode != 0:
            self.skipTest(f"mount -o {options}: {result.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)

    def remount(self, folder, options):
        subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)

    def make_files(self, count, size):
        self.plain.mkdir()
        for i in range(count):
            (self.plain / f"f{i}").write_bytes(content(size, i))

    def check_stopped(self, result, reason):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(reason, result.stderr.decode())
        self.assertIn("--resume", result.stderr.decode())
        self.assertEqual(self.names_of_temporaries(self.sealed), [])
        there = without_home(snapshot(self.sealed))
        self.assertLess(len(there), len(snapshot(self.plain)))
        if there:
            self.run_ok("verify", "--without-manifest", *self.options(), self.sealed)

    def check_completed_by_resume(self):
        self.encrypt("--resume")
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))


@unittest.skipUnless(CAN_MOUNT, "no file system can be mounted here")
class Mounted(Disk):
    def test_full_disk_stops_and_more_room_lets_resume_complete(self):
        for count, size in ((300, 50000), (3, 6 << 20)):
            with self.subTest(count=count, size=size):
                self.make_files(count, size)
                self.mount(self.sealed, "size=8m")
                result = tabane("encrypt", *self.options(), self.plain, self.sealed)
                self.check_stopped(result, "No space left")
                self.remount(self.sealed, "size=64m")
                self.check_completed_by_resume()
                self.doCleanups()
                self.setUp()

    def test_disk_without_room_for_more_files_stops(self):
        self.make_files(300, 10)
        self.mount(self.sealed, "nr_inodes=100")
        result = tabane("encrypt", *self.options(), self.plain, self.sealed)
        self.check_stopped(result, "No space left")
        self.remount(self.sealed, "nr_inodes=1000")
        self.check_completed_by_resume()

    def test_quota_stops(self):
        if os.getuid() != 0:
            self.skipTest("another user is needed, whose quota counts")
        self.make_files(20, 1 << 20)
        self.mount(self.sealed, "usrquota,usrquota_block_hardlimit=8M")
        self.sealed.chmod(0o777)
        self.folder.chmod(0o755)
        os.chown(self.key, NOBODY, -1)
        try:
            result = tabane("encrypt", *self.options(), self.plain, self.sealed, user=NOBODY)
        except PermissionError as error:
            self.skipTest(f"another user cannot run the program: {error}")
        self.check_stopped(result, "quota")

    def test_read_only_disk_is_told(self):
        self.make_files(3, 10)
        self.mount(self.sealed, "size=1m")
        self.remount(self.sealed, "ro")
        for target in (self.sealed, self.sealed / "new"):
            result = tabane("encrypt", *self.options(), self.plain, target)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(b"Read-only file system", result.stderr)
            self.assertEqual(snapshot(self.sealed), {})

    def test_other_file_system_takes_the_output(self):
        self.make_tree()
        self.mount(self.sealed, "size=64m")
        self.mount(self.plain / "a" / "mounted", "size=1m")
        (self.plain / "a" / "mounted" / "file").write_bytes(b"text")
        self.encrypt("--preserve")  # the root of a tmpfs is sticky
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def test_hundred_thousand_files_in_one_directory(self):
        count = 100000
        self.mount(self.folder / "disk", "size=2g")
        self.plain, self.sealed = self.folder / "disk" / "in", self.folder / "disk" / "sealed"
        self.plain.mkdir()
        here = os.open(self.plain, os.O_RDONLY)
        for i in range(count):
            os.close(os.open(f"f{i}", os.O_CREAT, dir_fd=here))
        os.close(here)
        self.encrypt()
        names = listed(self.sealed)
        self.assertEqual(len(names), count)
        self.assertEqual(set(names), {f"f{i}" for i in range(count)})
        result = self.run_ok("verify", *self.options(), self.sealed)
        self.assertIn(b"verified 100 000 files", result.stdout)


class Limits(Disk):
    def test_file_over_the_limit_fails_and_the_others_are_done(self):
        self.make_files(3, 1000)
        (self.plain / "large").write_bytes(content(3 << 20))
        result = tabane(
            "encrypt", *self.options(), self.plain, self.sealed,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"large: ", result.stderr)
        self.assertIn(b"File too large", result.stderr)
        self.assertEqual(listed(self.sealed), ["f0", "f1", "f2"])

    def test_few_open_files_are_enough(self):
        self.make_tree()
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        for verb, source, target in (("encrypt", self.plain, self.sealed),
                                     ("decrypt", self.sealed, self.opened)):
            result = tabane(verb, *self.options(), "--preserve", "-t", "4", source, target,
                            preexec_fn=limit)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))


class Permissions(Disk):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o777)
        self.user = {"user": NOBODY} if os.getuid() == 0 else {}

    def run_as_user(self, *arguments):
        os.chown(self.key, NOBODY if self.user else -1, -1)
        try:
            return tabane(*arguments, **self.user)
        except PermissionError as error:
            self.skipTest(f"another user cannot run the program: {error}")

    def test_of_directories_do_not_keep_an_update_from_removing(self):
        """Those of others do, and are told each time until they let it."""
        self.make_tree()
        for folder in (self.plain, self.plain / "a", self.plain / "a" / "b"):
            folder.chmod(0o555)
        for i, name in enumerate(("f3", "f4")):
            arguments = ["encrypt", *self.options(), *(["--update"] if i else []), self.plain,
                         self.sealed]
            self.assertEqual(self.run_as_user(*arguments).returncode, 0)
            (self.plain / "a" / name).unlink()
        self.assertEqual(self.run_as_user(*arguments).returncode, 0)
        self.run_ok("verify", *self.options(), self.sealed)
        if not self.user:
            return
        (self.plain / "a" / "f5").unlink()
        os.chown(self.sealed / "a", 0, 0)
        for _ in range(2):
            result = self.run_as_user(*arguments)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(b"a/f5: ", result.stderr)
            self.assertNotEqual(tabane("verify", *self.options(), self.sealed).returncode, 0)
        os.chown(self.sealed / "a", NOBODY, -1)
        self.assertEqual(self.run_as_user(*arguments).returncode, 0)
        self.run_ok("verify", *self.options(), self.sealed)

    def test_of_files_and_directories_that_cannot_be_read_are_told(self):
        self.make_tree()
        (self.plain / "a" / "f4").chmod(0)
        (self.plain / "empty").chmod(0)
        self.addCleanup((self.plain / "empty").chmod, 0o700)
        (self.plain / "a" / "b").chmod(0o755)
        (self.plain / "a" / "f1").chmod(0o644)
        result = self.run_as_user("encrypt", *self.options(), self.plain, self.sealed)
        self.assertEqual(result.returncode, 1, result.stderr)
        text = result.stderr.decode()
        self.assertIn("a/f4: ", text)
        self.assertEqual(text.count("empty: "), 1, text)
        self.assertIn("3 files or directories", text)  # these and the manifest
        self.assertFalse((self.sealed / ".tabane" / "manifest").exists())
        self.assertIn("Permission denied", text)
        names = without_home(snapshot(self.sealed))
        self.assertNotIn(b"a/f4", names)
        self.assertEqual(sum(entry[0] == stat.S_IFREG for entry in names.values()),
                         sum(entry[0] == stat.S_IFREG
                             for entry in snapshot(self.plain).values()) - 1)

    def test_of_the_output_are_told(self):
        self.make_files(2, 10)
        for mode in (0o555, 0o700):  # not ours to write; not ours to look at
            self.sealed.mkdir()
            self.sealed.chmod(mode)
            if not self.user:
                self.sealed.chmod(mode & 0o555)
            for target in (self.sealed, self.sealed / "new"):
                result = self.run_as_user("encrypt", *self.options(), self.plain, target)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(b"Permission denied", result.stderr)
            self.sealed.chmod(0o700)
            self.assertEqual(snapshot(self.sealed), {})
            self.sealed.rmdir()


if __name__ == "__main__":
    unittest.main()
