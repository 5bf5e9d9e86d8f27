"""Tests of programs that were compiled with AddressSanitizer."""
import pathlib
import unittest


def unless_sanitized(program):
    """A decorator that leaves out a test of memory, system calls or /proc."""
    return unittest.skipIf(b"__asan_init" in pathlib.Path(program).read_bytes(),
                           "AddressSanitizer uses memory, system calls and /proc, too")
