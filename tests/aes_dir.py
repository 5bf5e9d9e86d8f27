"""What the tests of encrypt, decrypt and verify share. Takes the program from the arguments."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

TABANE = sys.argv.pop(1)
CHUNK = 65536
SIZES = (0, 1, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 << 20)


def tabane(*arguments, **options):
    """Runs without a terminal, so that nothing can wait for an answer."""
    options.setdefault("timeout", 120)
    return subprocess.run([TABANE, *map(os.fsencode, arguments)], capture_output=True,
                          stdin=subprocess.DEVNULL, start_new_session=True, **options)


def content(size, seed=1):
    block = bytes((i * 7 + seed * 31 + (i >> 8)) % 251 for i in range(4096))
    return (block * (size // 4096 + 1))[:size]


def snapshot(root):
    """Relative path -> (kind, mode, time, content) of all below a directory, as bytes."""
    root = os.fsencode(root)
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            data = pathlib.Path(os.fsdecode(path)).read_bytes() if name in files else None
            found[os.path.relpath(path, root)] = (stat.S_IFMT(status.st_mode),
                                                  stat.S_IMODE(status.st_mode),
                                                  status.st_mtime_ns, data)
    return found


def without_home(found):
    """What is in a sealed tree beside the directory that is tabane's own."""
    return {path: entry for path, entry in found.items()
            if path != b".tabane" and not path.startswith(b".tabane/")}


def listed(folder):
    return sorted(set(os.listdir(folder)) - {".tabane"})


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.plain = self.folder / "in"
        self.sealed = self.folder / "sealed"
        self.opened = self.folder / "opened"
        self.key = self.make_key("key", 32)
        self.key16 = self.make_key("key16", 16)

    def make_key(self, name, size, seed=7, mode=0o600):
        path = self.folder / name
        path.write_bytes(content(size, seed))
        path.chmod(mode)
        return path

    def make_tree(self):
        for i, folder in enumerate((".", "a", "a/b", "empty")):
            (self.plain / folder).mkdir(parents=True, exist_ok=True)
            for j, size in enumerate(SIZES if folder == "a" else SIZES[i:3]):
                if folder != "empty":
                    (self.plain / folder / f"f{j}").write_bytes(content(size, j))
        (self.plain / "a" / "f1").chmod(0o640)
        (self.plain / "a" / "f2").chmod(0o755)
        (self.plain / "a" / "b").chmod(0o750)
        os.utime(self.plain / "a" / "f3", ns=(10**18, 10**18 + 123456789))
        os.utime(self.plain / "empty", ns=(10**18, 10**18 + 5))

    def options(self, cipher="aes-256-gcm"):
        key = self.key16 if cipher == "aes-128-cbc" else self.key
        return ["--key-file", key, "--cipher", cipher]

    def run_ok(self, *arguments):
        result = tabane(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def encrypt(self, *more):
        return self.run_ok("encrypt", *self.options(), *more, self.plain, self.sealed)

    def decrypt(self, *more):
        """With all modes, so that snapshots can be compared."""
        return self.run_ok("decrypt", *self.options(), "--preserve", *more, self.sealed,
                           self.opened)

    def leave(self, path, data=b"half"):
        """As a killed run does: with the sticky bit."""
        path.write_bytes(data)
        path.chmod(0o1600)

    def names_of_temporaries(self, root):
        return [path for path in snapshot(root) if path.endswith(b".part")]

    def refused(self, code, part, *arguments):
        result = tabane(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(part, result.stderr.decode())
        self.assertEqual(result.stdout, b"")
        return result
