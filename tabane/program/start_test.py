"""What a start costs: only what the verb needs is loaded, and what cannot be loaded is named."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TABANE = pathlib.Path(sys.argv.pop(1))
MODULES = TABANE.parent / "lib"

# What only some verbs need; hwloc's plugins, as hwloc_gl.so, are for none.
HEAVY = re.compile(r"openblas|gfortran|quadmath|mpfr|gmp|libzip|pugixml|deflate|libpng|IPSec|"
                   r"libcrypto|gomp|libhwy|hwloc_|tabane_|OpenCL|libmpi")
MOST_OBJECTS = 12


def objects(*arguments):
    """The names of what the dynamic linker started for the program itself."""
    result = subprocess.run([TABANE, *arguments], env=os.environ | {"LD_DEBUG": "files"},
                            capture_output=True, text=True, timeout=60)
    lines = re.findall(r"^\s*(\d+):\s+calling init: (\S+)", result.stderr, re.MULTILINE)
    return [pathlib.Path(path).name for pid, path in lines if pid == lines[0][0]]


class Start(unittest.TestCase):
    def test_loads_only_what_is_needed(self):
        # time records which of Highway's targets the machine has.
        for arguments, needed in ((("--version",), []), (("run", "--", "true"), []),
                                  (("time", "-r", "1", "-w", "0", "true"), ["libhwy.so.1"])):
            with self.subTest(arguments):
                loaded = objects(*arguments)
                self.assertIn("libc.so.6", loaded)
                self.assertEqual([name for name in loaded if HEAVY.search(name)], needed)
                own = [name for name in loaded if not re.search("san[.]so", name)]
                self.assertLessEqual(len(own), MOST_OBJECTS, own)

    def test_of_a_solver_loads_what_it_needs(self):
        self.assertTrue(any("openblas" in name for name in objects("linpack", "--help")))


class Module(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a prefix ")
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "bin" / "tabane"
        self.module = pathlib.Path(folder.name) / "lib" / "tabane" / "tabane_linpack.so"
        self.program.parent.mkdir()
        shutil.copy(TABANE, self.program)

    def says(self, *sentences):
        result = subprocess.run([self.program, "linpack", "-n", "10"], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("tabane_linpack.so", result.stderr)
        for sentence in *sentences, "make build":
            self.assertIn(sentence, result.stderr)

    def test_that_is_missing_is_named(self):
        self.says("is missing")
        help_of_all = subprocess.run([self.program, "--help"], capture_output=True, text=True,
                                     timeout=60)
        self.assertIn("linpack", help_of_all.stdout)

    def test_that_is_broken_or_of_another_build_is_named(self):
        self.module.parent.mkdir(parents=True)
        self.module.write_text("no module")
        self.says(str(self.module), "cannot be loaded")
        shutil.copy(MODULES / "tabane_scg.so", self.module)
        self.says(str(self.module), "of another build")

    def test_is_found_beside_a_program_that_was_moved(self):
        self.module.parent.mkdir(parents=True)
        shutil.copy(MODULES / "tabane_linpack.so", self.module)
        result = subprocess.run([self.program, "linpack", "-n", "10"], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
