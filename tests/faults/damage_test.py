"""Damage of encrypted files: each is found, named with its place, and leaves no output."""

import filecmp
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from aes_dir import CHUNK, TABANE, Case, content, listed, tabane

SLOTS = 2 + 67  # their number, and one of a key file
HEADER = 96 + 4 + SLOTS
STRIDE = CHUNK + 16  # a chunk and its tag
CHUNKS = 4           # of the files at hand; the last is not full
SIZE = 3 * CHUNK + 1000


def place(chunk):
    return HEADER + chunk * STRIDE


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.whole = self.sealed_of(1)
        self.other = self.sealed_of(2)
        self.assertEqual(len(self.whole), HEADER + SIZE + 16 * CHUNKS)

    def sealed_of(self, seed):
        self.plain.write_bytes(content(SIZE, seed))
        self.run_ok("encrypt", *self.options(), "--force", self.plain, self.sealed)
        data = self.sealed.read_bytes()
        self.sealed.unlink()
        return data

    def chunk(self, data, index):
        return data[place(index):place(index + 1)]

    def check(self, damaged, options=None):
        """damaged: name -> (bytes, offsets that may be named; None: any)."""
        options = options or self.options()
        self.sealed.mkdir()
        for name, (data, _) in damaged.items():
            (self.sealed / name).write_bytes(data)
        (self.sealed / "good").write_bytes(self.whole)
        for verb, where in (("verify", [self.sealed]), ("decrypt", [self.sealed, self.opened])):
            result = tabane(verb, "--without-manifest", *options, "--json", *where)
            self.assertEqual(result.returncode, 1, result.stderr)
            record = json.loads(result.stdout)
            found = {f["path"]: f["reason"] for f in record["failures"]}
            self.assertEqual(set(found), set(damaged))
            self.assertEqual(record["files_done"], 1)
            self.assertTrue(record["complete"])
            for name, (data, offsets) in damaged.items():
                named = re.search(r"at byte (\d+)", found[name])
                self.assertTrue(named, (name, found[name]))
                self.assertLessEqual(int(named[1]), len(data), (name, found[name]))
                if offsets is not None:
                    self.assertIn(int(named[1]), offsets, (name, found[name]))
        self.assertEqual(os.listdir(self.opened), ["good"])
        self.assertEqual((self.opened / "good").read_bytes(), content(SIZE, 1))

    def test_of_each_byte_of_the_header(self):
        damaged = {}
        for i in range(HEADER):
            for bit in (1, 128):
                data = bytearray(self.whole)
                data[i] ^= bit
                damaged[f"header{i}.{bit}"] = (bytes(data), None)
        self.check(damaged)

    def test_of_one_bit_in_each_chunk_and_tag(self):
        damaged = {}
        for chunk in range(CHUNKS):
            end = min(place(chunk + 1), len(self.whole))
            for at in (place(chunk), place(chunk) + 500, end - 17, end - 16, end - 1):
                data = bytearray(self.whole)
                data[at] ^= 16
                damaged[f"byte{at}"] = (bytes(data), [place(chunk)])
        self.check(damaged)

    def test_of_the_length(self):
        sizes = {0, 1, 7, 8, 64, HEADER - 1, len(self.whole) - 1, len(self.whole) - 16,
                 len(self.whole) - 17}
        for chunk in range(CHUNKS):
            sizes |= {place(chunk) + more for more in (-1, 0, 1, 15, 16, 17)}
        damaged = {f"cut{size}": (self.whole[:size], None) for size in sizes}
        for more in (1, 15, 16, 17, CHUNK - 1000, CHUNK - 999, STRIDE):
            damaged[f"longer{more}"] = (self.whole + bytes(more), None)
        damaged["twice"] = (self.whole * 2, None)
        damaged["last twice"] = (self.whole + self.chunk(self.whole, CHUNKS - 1), None)
        self.check(damaged)

    def test_of_the_order_of_chunks(self):
        damaged = {}
        for i in range(CHUNKS - 1):
            for j in range(i + 1, CHUNKS):
                chunks = [self.chunk(self.whole, k) for k in range(CHUNKS)]
                chunks[i], chunks[j] = chunks[j], chunks[i]
                damaged[f"exchanged{i}{j}"] = (
                    self.whole[:HEADER] + b"".join(chunks),
                    None if j == CHUNKS - 1 else [place(i), place(j)])
            gone = self.whole[:place(i)] + self.whole[place(i + 1):]
            damaged[f"gone{i}"] = (gone, None)
            double = self.whole[:place(i + 1)] + self.whole[place(i):]
            damaged[f"double{i}"] = (double, None)
        self.check(damaged)

    def test_by_chunks_of_another_file(self):
        damaged = {"header": (self.other[:HEADER] + self.whole[HEADER:],
                              [place(i) for i in range(CHUNKS)])}
        for i in range(CHUNKS):
            mixed = self.whole[:place(i)] + self.chunk(self.other, i) + self.whole[place(i + 1):]
            damaged[f"chunk{i}"] = (mixed, [place(i)])
        self.check(damaged)

    def test_of_a_header_that_holds_a_passphrases_parameters(self):
        secret = self.folder / "passphrase"
        secret.write_text("secret")
        self.plain.write_bytes(content(SIZE, 1))
        self.run_ok("encrypt", "--passphrase-file", secret, self.plain, self.sealed)
        self.whole = self.sealed.read_bytes()
        self.sealed.unlink()
        damaged = {}
        parameters = 96 + 4 + 2 + 3
        for i in (*range(8, 20), parameters + 2, parameters + 3):
            data = bytearray(self.whole)
            data[i] ^= 1
            damaged[f"header{i}"] = (bytes(data), None)
        self.check(damaged, ["--passphrase-file", secret])

    def test_of_the_length_of_cbc_files(self):
        for cipher in ("aes-128-cbc", "aes-256-cbc"):
            self.plain.write_bytes(content(SIZE, 1))
            self.run_ok("encrypt", *self.options(cipher), "--force", self.plain, self.sealed)
            whole = self.sealed.read_bytes()
            for size in (0, 1, 15, 16, 17, 31, len(whole) - 1, len(whole) - 15):
                with self.subTest(cipher=cipher, size=size):
                    self.sealed.write_bytes(whole[:size])
                    result = tabane("decrypt", *self.options(cipher), self.sealed, self.opened)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertIn(b"sealed", result.stderr)
                    self.assertFalse(self.opened.exists())


class Change(Case):
    """A file that changes while it is read: the program is held where it has begun the file."""

    def begun(self, cipher="aes-256-gcm"):
        (self.plain).mkdir()
        (self.plain / "steady").write_bytes(b"text")
        with open(self.plain / "large", "wb") as file:
            file.truncate(512 << 20)
        process = subprocess.Popen(
            [TABANE, "encrypt", *map(str, self.options(cipher)), "-q", "-t", "2", str(self.plain),
             str(self.sealed)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        while process.poll() is None:
            parts = list(self.sealed.glob(".tabane-*.part"))
            if any(part.exists() and part.stat().st_size > 1 << 20 for part in parts):
                process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                if (self.sealed / "large").exists():
                    break
                return process
            time.sleep(0.001)
        process.send_signal(signal.SIGCONT)
        process.communicate()
        self.skipTest("this machine was too fast: the file was done before it could be changed")

    def redone(self, process):
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn(b"large had changed while it was read, and was read once more\n", errors)
        self.assertEqual(listed(self.sealed), ["large", "steady"])
        self.run_ok("decrypt", *self.options(), "-q", self.sealed, self.opened)
        for name in ("large", "steady"):
            self.assertTrue(filecmp.cmp(self.plain / name, self.opened / name, shallow=False))

    def test_by_growing_is_told_and_redone(self):
        process = self.begun()
        with open(self.plain / "large", "ab") as file:
            file.write(b"more")
        self.redone(process)

    def test_by_shrinking_is_told_and_redone(self):
        process = self.begun()
        os.truncate(self.plain / "large", 100)
        self.redone(process)

    def test_of_content_is_told_and_redone(self):
        process = self.begun()
        with open(self.plain / "large", "r+b") as file:
            file.write(b"other")
        self.redone(process)

    def test_under_an_unchanged_time_is_told_and_redone(self):
        process = self.begun()
        before = (self.plain / "large").stat()
        with open(self.plain / "large", "r+b") as file:
            file.write(b"other")
        os.utime(self.plain / "large", ns=(before.st_atime_ns, before.st_mtime_ns))
        self.redone(process)

    def test_of_cbc_files_is_told_and_redone(self):
        process = self.begun("aes-256-cbc")
        with open(self.plain / "large", "r+b") as file:
            file.write(b"other")
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn(b"read once more\n", errors)
        self.assertEqual(listed(self.sealed), ["large", "steady"])

    def test_that_goes_on_is_a_failure(self):
        process = self.begun()
        process.send_signal(signal.SIGCONT)
        with open(self.plain / "large", "r+b") as file:
            while process.poll() is None:
                os.pwrite(file.fileno(), os.urandom(8), 0)
                time.sleep(0.0001)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn(b"large: changed while it was read, twice\n", errors)
        self.assertEqual(listed(self.sealed), ["steady"])


if __name__ == "__main__":
    unittest.main()
