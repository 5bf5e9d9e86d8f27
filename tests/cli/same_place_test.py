"""OUT is never written where IN is, by whatever name or mount it is reached."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from aes_dir import TABANE, Case, snapshot

# A user and mount namespace of its own: what is mounted there is seen by nobody else.
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]


def mounts_can_be_tried():
    script = 'd=$(mktemp -d) && mkdir $d/a $d/b && mount --bind $d/a $d/b; r=$?; umount $d/b; ' \
             'rm -r $d; exit $r'
    try:
        return subprocess.run([*UNSHARE, "sh", "-c", script], capture_output=True).returncode == 0
    except OSError:
        return False


class SamePlace(Case):
    def setUp(self):
        super().setUp()
        self.make_tree()
        self.before = snapshot(self.plain)

    def test_through_a_linked_directory_is_refused(self):
        (self.folder / "real").mkdir()
        self.plain.rename(self.folder / "real" / "in")
        (self.folder / "link").symlink_to("real")
        for out in ("link/in", "link/in/a", "link/in/new", "link"):
            self.refused(2, "IN", "encrypt", *self.options(), "--force",
                         self.folder / "real" / "in", self.folder / out)
        self.assertEqual(snapshot(self.folder / "real" / "in"), self.before)

    def mounted(self, source, target, out, part, code=2):
        """Encrypts IN to OUT with a directory mounted at another place."""
        target.mkdir(exist_ok=True)
        command = [TABANE, "encrypt", *map(str, self.options()), "--force", self.plain, out]
        result = subprocess.run(
            [*UNSHARE, "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', source, target,
             *command], capture_output=True, timeout=120)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(part, result.stderr.decode())

    @unittest.skipUnless(mounts_can_be_tried(), "this system gives no user and mount namespaces")
    def test_through_a_mount_is_refused(self):
        at = self.folder / "mounted"
        self.mounted(self.plain, at, at, "OUT is IN")
        self.mounted(self.plain, at, at / "new", "lies inside IN")
        self.mounted(self.plain, at, at / "a", "lies inside IN")
        self.mounted(self.plain / "a", at, at, "lies inside IN")
        self.mounted(self.plain / "a", at, at / "b", "lies inside IN")
        self.mounted(self.plain.parent, at, at, "lies inside OUT")
        self.assertEqual(snapshot(self.plain), self.before)

    @unittest.skipUnless(mounts_can_be_tried(), "this system gives no user and mount namespaces")
    def test_of_a_part_of_out_is_told_and_kept(self):
        self.sealed.mkdir()
        self.mounted(self.plain / "a" / "b", self.sealed / "a", self.sealed, "directory of IN", 1)
        self.assertEqual(snapshot(self.plain), self.before)
        self.assertTrue((self.sealed / "f0").exists())


if __name__ == "__main__":
    unittest.main()
