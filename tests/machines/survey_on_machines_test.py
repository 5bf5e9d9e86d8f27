"""tabane survey where the system tells or allows less than usual."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from sanitizer import unless_sanitized

TABANE = sys.argv.pop(1)

SOME = ["--quick", "--only", "clock", "--only", "memory.latency", "--only", "peak.fma.machine"]


def survey(*before, preexec_fn=None):
    return subprocess.run([*before, TABANE, "survey", *SOME, "--json"], capture_output=True,
                          text=True, timeout=120, preexec_fn=preexec_fn)


def can_mask():
    return bool(shutil.which("unshare")) and subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/sys"],
        capture_output=True, check=False).returncode == 0


class Survey(unittest.TestCase):
    def check(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        record = json.loads(result.stdout)
        self.assertTrue(record["complete"])
        named = {r["name"] for r in record["results"]} | {s["name"] for s in record["skipped"]}
        self.assertIn("clock.tick_rate", named)
        self.assertIn("peak.fma.machine", named)
        return record

    @unittest.skipUnless(can_mask(), "needs the right to mount")
    def test_goes_on_where_sys_is_masked(self):
        self.check(survey("unshare", "-m", "sh", "-c",
                          'mount -t tmpfs none /sys && exec "$0" "$@"'))

    @unless_sanitized(TABANE)
    @unittest.skipUnless(can_mask(), "needs the right to mount")
    def test_goes_on_where_proc_is_masked_too(self):
        masked = 'mount -t tmpfs none /sys && mount -t tmpfs none /proc && exec "$0" "$@"'
        self.check(survey("unshare", "-m", "sh", "-c", masked))

    @unittest.skipIf(os.geteuid() == 0, "root may start threads beyond the limit")
    def test_skips_what_needs_a_thread_that_the_system_refuses(self):
        limit = (1, resource.getrlimit(resource.RLIMIT_NPROC)[1])
        record = self.check(survey(
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, limit)))
        self.assertIn("peak.fma.machine", [s["name"] for s in record["skipped"]])

    def test_leaves_out_what_does_not_fit_into_little_address_space(self):
        limit = (1 << 30, resource.getrlimit(resource.RLIMIT_AS)[1])

        def bound():
            resource.setrlimit(resource.RLIMIT_AS, limit)

        if subprocess.run([TABANE, "--version"], preexec_fn=bound, capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("a program with AddressSanitizer needs more from the start")
        self.check(survey(preexec_fn=bound))


if __name__ == "__main__":
    unittest.main()
