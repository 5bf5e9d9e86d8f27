"""Results go where a user's path leads: to a file, a link's target, a pipe, a terminal, stdout."""

import json
import os
import pathlib
import pty
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import TABANE, Case, content, snapshot, tabane

CIPHERS = ("aes-256-gcm", "aes-256-cbc")
SIZES = (0, 5, 65536, 3 << 20)


class Streams(Case):
    """OUT is not a regular file: written to as it is, never replaced."""

    def seal(self, size, cipher):
        self.plain.write_bytes(content(size))
        self.run_ok("encrypt", *self.options(cipher), "--force", self.plain, self.sealed)

    def test_of_stdout_get_the_content_and_nothing_else(self):
        for cipher in CIPHERS:
            for size in SIZES:
                for force in ([], ["--force"]):
                    with self.subTest(cipher=cipher, size=size, force=force):
                        self.seal(size, cipher)
                        result = self.run_ok("decrypt", *self.options(cipher), *force, "-t", "3",
                                             self.sealed, "/dev/stdout")
                        self.assertEqual(result.stdout, content(size))
                        self.assertIn(b"decrypted 1 file", result.stderr)
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_take_sealed_files_too(self):
        for cipher in CIPHERS:
            self.plain.write_bytes(content(3 << 20))
            result = self.run_ok("encrypt", *self.options(cipher), self.plain, "/dev/stdout")
            self.sealed.write_bytes(result.stdout)
            self.run_ok("decrypt", *self.options(cipher), "--force", self.sealed, self.opened)
            self.assertEqual(self.opened.read_bytes(), content(3 << 20))

    def test_that_a_link_leads_to_keep_the_link(self):
        self.seal(100000, "aes-256-gcm")
        link = self.folder / "link"
        link.symlink_to("/proc/self/fd/1")
        result = self.run_ok("decrypt", *self.options(), "--force", self.sealed, link)
        self.assertEqual(result.stdout, content(100000))
        self.assertTrue(link.is_symlink())

    def test_of_a_redirected_stdout_go_on_where_the_file_stands(self):
        self.seal(100, "aes-256-gcm")
        with open(self.folder / "log", "w+b") as log:
            log.write(b"before\n")
            log.flush()
            done = subprocess.run([TABANE, "decrypt", *map(str, self.options()), self.sealed,
                                   "/dev/stdout"], stdout=log, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "log").read_bytes(), b"before\n" + content(100))

    def test_may_be_fifos(self):
        self.seal(200000, "aes-256-gcm")
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        got = []
        reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
        reader.start()
        self.run_ok("decrypt", *self.options(), "--force", self.sealed, fifo)
        reader.join()
        self.assertEqual(got, [content(200000)])
        self.assertTrue(fifo.is_fifo())

    def test_may_be_devices_and_terminals(self):
        self.seal(10, "aes-256-gcm")
        try:
            main, side = pty.openpty()
        except OSError as error:
            self.skipTest(f"this system gives no pseudo-terminals: {error}")
        for target in ("/dev/null", os.ttyname(side)):
            self.run_ok("decrypt", *self.options(), "--force", self.sealed, target)
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        self.assertEqual(os.read(main, 100).replace(b"\r\n", b"\n"), content(10))
        os.close(main)
        os.close(side)

    def test_end_with_what_is_sound_and_an_exit_code(self):
        self.seal(3 << 20, "aes-256-gcm")
        data = bytearray(self.sealed.read_bytes())
        data[2 << 20] ^= 1
        self.sealed.write_bytes(data)
        result = tabane("decrypt", *self.options(), self.sealed, "/dev/stdout")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"was changed", result.stderr)
        self.assertLess(len(result.stdout), 2 << 20)
        self.assertTrue(content(3 << 20).startswith(result.stdout))

    def test_and_json_do_not_share_stdout(self):
        self.seal(10, "aes-256-gcm")
        for json_option in ("--json", "--json=/dev/stdout"):
            self.refused(2, "--json", "decrypt", *self.options(), json_option, self.sealed,
                         "/dev/stdout")


class Links(Case):
    """OUT is a symbolic link to a regular file: the target is replaced, the link stays."""

    def test_to_a_file_need_force_and_stay(self):
        self.plain.write_bytes(content(1000))
        self.encrypt()
        (self.folder / "elsewhere").mkdir()
        target = self.folder / "elsewhere" / "target"
        target.write_bytes(b"old")
        self.opened.symlink_to(target)
        self.refused(2, "--force", "decrypt", *self.options(), self.sealed, self.opened)
        self.decrypt("--force")
        self.assertTrue(self.opened.is_symlink())
        self.assertEqual(target.read_bytes(), content(1000))

    def test_and_fifos_inside_a_tree_are_told_and_kept(self):
        self.make_tree()
        self.encrypt()
        precious = self.folder / "precious"
        precious.write_bytes(b"kept")
        for name in ("f0", "f1"):
            (self.sealed / name).unlink()
        (self.sealed / "f0").symlink_to(precious)
        os.mkfifo(self.sealed / "f1")
        for how in ("--force", "--resume"):
            result = tabane("encrypt", *self.options(), how, self.plain, self.sealed)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(b"f0: is a symbolic link", result.stderr)
            self.assertIn(b"f1: is not a regular file", result.stderr)
            self.assertTrue((self.sealed / "f0").is_symlink())
            self.assertTrue((self.sealed / "f1").is_fifo())
            self.assertEqual(precious.read_bytes(), b"kept")
            self.assertEqual([name for name in os.listdir(self.sealed) if ".part" in name], [])


class Json(Case):
    def setUp(self):
        super().setUp()
        self.plain.write_bytes(b"text")
        self.encrypt()

    def verify(self, target):
        return self.run_ok("verify", *self.options(), f"--json={target}", self.sealed)

    def test_to_a_link_to_stdout_keeps_the_link(self):
        link = self.folder / "link"
        link.symlink_to("/proc/self/fd/1")
        for target in (link, "/dev/stdout", "/proc/self/fd/1"):
            record = json.loads(self.verify(target).stdout)
            self.assertEqual(record["kind"], "verify")
        self.assertTrue(link.is_symlink())

    def test_to_a_link_to_a_redirected_stdout_is_alone_there(self):
        link = self.folder / "link"
        link.symlink_to("/proc/self/fd/1")
        with open(self.folder / "out", "wb") as out:
            subprocess.run([TABANE, "verify", *map(str, self.options()), f"--json={link}",
                            self.sealed], stdout=out, check=True)
        self.assertEqual(json.loads((self.folder / "out").read_text())["kind"], "verify")

    def test_follows_no_planted_temporary_file(self):
        precious = self.folder / "precious"
        precious.write_bytes(b"kept")
        (self.folder / "record.part").symlink_to(precious)
        self.verify(self.folder / "record")
        self.assertEqual(precious.read_bytes(), b"kept")
        self.assertEqual(json.loads((self.folder / "record").read_text())["kind"], "verify")

    def test_leaves_no_temporary_file(self):
        before = set(snapshot(self.folder))
        self.verify(self.folder / "record")
        self.assertEqual(set(snapshot(self.folder)) - before, {b"record"})


class FullDisk(Case):
    """What goes to stdout may be all that the user keeps of a job: the root, a list, a record."""

    def test_behind_stdout_is_a_failure(self):
        self.plain.write_bytes(b"plain")
        self.run_ok("encrypt", *self.options(), self.plain, self.sealed)
        verify = ("verify", *map(str, self.options()), str(self.sealed))
        for arguments in (verify, (*verify, "--json"), ("--help",), ("--version",)):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                result = subprocess.run([TABANE, *arguments], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(b"stdout: write: No space left", result.stderr)


if __name__ == "__main__":
    unittest.main()
