"""File systems without locks, hard links or a renaming that replaces nothing, and clocks set back.

System calls are refused by a filter, as such file systems refuse them.
"""

import ctypes
import errno
import os
import pathlib
import platform
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from aes_dir import Case, snapshot, tabane

NUMBERS = {"x86_64": {"flock": 73, "linkat": 265, "renameat2": 316},
           "aarch64": {"flock": 32, "linkat": 37, "renameat2": 276}}.get(platform.machine(), {})
NOT_REPLACING = 1  # the flag RENAME_NOREPLACE


def step(code, true, false, value):
    return struct.pack("HBBI", code, true, false, value)


def program_of(refused):
    """refused: name -> error. Of renameat2 only calls that must not replace."""
    load, equal, give = 0x20, 0x15, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000
    steps = []
    for name, error in refused.items():
        answer = [step(give, 0, 0, refuse | error)]
        if name == "renameat2":  # its fifth argument, the flags
            answer = [step(load, 0, 0, 16 + 8 * 4), step(equal, 0, 1, NOT_REPLACING), *answer,
                      step(give, 0, 0, allow)]
        steps += [step(load, 0, 0, 0), step(equal, 0, len(answer), NUMBERS[name]), *answer]
    return steps + [step(give, 0, 0, allow)]


def refuse_calls(refused):
    """Makes system calls of this process fail. Returns whether that is possible here."""
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]

    if not NUMBERS:
        return False
    steps = program_of(refused)
    program = Program(len(steps), b"".join(steps))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, ctypes.byref(program), 0, 0) == 0


def can_refuse():
    child = os.fork()
    if child == 0:
        os._exit(0 if refuse_calls({"flock": errno.ENOLCK}) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@unittest.skipUnless(can_refuse(), "system calls cannot be filtered here")
class Lacking(Case):
    KINDS = (
        {"flock": errno.EOPNOTSUPP},
        {"flock": errno.ENOLCK},
        {"renameat2": errno.EINVAL},
        {"renameat2": errno.EINVAL, "linkat": errno.EPERM, "flock": errno.ENOSYS},
        {"renameat2": errno.EINVAL, "linkat": errno.EOPNOTSUPP},
    )

    def run_lacking(self, refused, *arguments):
        return tabane(*arguments, preexec_fn=lambda: refuse_calls(refused))

    def test_takes_trees_and_gives_them_back(self):
        self.make_tree()
        for kind, refused in enumerate(self.KINDS):
            with self.subTest(refused=refused):
                sealed, opened = (self.folder / f"{name}{kind}" for name in ("sealed", "opened"))
                for arguments in (["encrypt", self.plain, sealed],
                                  ["encrypt", "--resume", self.plain, sealed],
                                  ["encrypt", "--update", self.plain, sealed],
                                  ["decrypt", "--preserve", sealed, opened]):
                    result = self.run_lacking(refused, arguments[0], *self.options(),
                                              *arguments[1:])
                    self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(snapshot(opened), snapshot(self.plain))
                self.assertEqual(self.names_of_temporaries(sealed), [])

    def test_gives_each_name_of_a_file_its_content_where_there_are_no_links(self):
        self.make_tree()
        os.link(self.plain / "a" / "f4", self.plain / "again")
        self.encrypt()
        refused = self.KINDS[3]
        for more in ([], ["--resume"], ["--force"]):
            result = self.run_lacking(refused, "decrypt", "--preserve", *self.options(), *more,
                                      self.sealed, self.opened)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(snapshot(self.opened), snapshot(self.plain))
            self.assertEqual((self.opened / "again").stat().st_nlink, 1)

    def test_replaces_nothing_that_was_not_to_be_replaced(self):
        self.plain.write_bytes(b"text")
        for refused in self.KINDS:
            with self.subTest(refused=refused):
                self.sealed.write_bytes(b"kept")
                result = self.run_lacking(refused, "encrypt", *self.options(), self.plain,
                                          self.sealed)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(self.sealed.read_bytes(), b"kept")
                result = self.run_lacking(refused, "encrypt", *self.options(), "--force",
                                          self.plain, self.sealed)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.run_ok("verify", *self.options(), self.sealed)


class Clock(Case):
    """A change is another time, not a later one."""

    def test_set_back_hides_no_change(self):
        day = 86400 * 10**9
        self.make_tree()
        self.encrypt()
        for how, name in (("--resume", "a/f3"), ("--update", "a/f4")):
            file = self.plain / name
            before = file.stat()
            file.write_bytes(bytes(before.st_size))  # as long, and older than what is sealed
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns - day))
            self.encrypt(how)
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))
        file = self.opened / "a" / "f5"
        file.write_bytes(bytes(file.stat().st_size))
        os.utime(file, ns=(0, file.stat().st_mtime_ns - 365 * day))
        self.decrypt("--resume")
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def test_before_1970_and_after_2262_is_kept(self):
        self.make_tree()
        for name, seconds in (("a/f3", -86400 * 365), ("a/f4", 10**10)):
            os.utime(self.plain / name, ns=(0, seconds * 10**9 + 5))
        self.encrypt()
        self.encrypt("--update")
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))


if __name__ == "__main__":
    unittest.main()
