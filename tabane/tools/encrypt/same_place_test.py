"""OUT is never written where IN is, by whatever name or mount it is reached."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import TABANE, Case, content, snapshot, tabane

# A user and mount namespace of its own: what is mounted there is seen by nobody else.
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]


def mounts_can_be_tried():
    script = 'd=$(mktemp -d) && mkdir $d/a $d/b && mount --bind $d/a $d/b; r=$?; umount $d/b; ' \
             'rm -r $d; exit $r'
    try:
        return subprocess.run([*UNSHARE, "sh", "-c", script], capture_output=True).returncode == 0
    except OSError:
        return False


class KeyFiles(Case):
    """No output replaces what a key is read from."""

    def setUp(self):
        super().setUp()
        self.make_tree()
        self.phrase = self.folder / "phrase"
        self.phrase.write_bytes(b"a long passphrase\n")
        self.phrase.chmod(0o600)
        self.alias = self.folder / "alias"
        os.link(self.key, self.alias)
        self.identity = self.folder / "me"
        self.public = self.folder / "me.pub"
        self.public.write_bytes(self.run_ok("keygen", "--pair", self.identity).stdout)
        self.keys = [self.key, self.phrase, self.identity, self.public]

    def contents(self):
        return [path.read_bytes() for path in self.keys]

    def test_by_a_record(self):
        self.encrypt("--recipient", self.public)
        before = self.contents()
        for output in (self.key, self.alias):
            self.refused(2, "file of keys", "encrypt", *self.options(), f"--json={output}",
                         self.plain, self.folder / "new")
            self.refused(2, "file of keys", "verify", *self.options(), f"--json={output}",
                         self.sealed)
        self.refused(2, "file of keys", "verify", "--identity", self.identity,
                     f"--json={self.identity}", self.sealed)
        self.refused(2, "file of keys", "encrypt", "--recipient", self.public,
                     f"--json={self.public}", self.plain, self.folder / "new")
        self.refused(2, "file of keys", "decrypt", "--passphrase-file", self.phrase,
                     f"--json={self.phrase}", self.sealed, self.opened)
        self.assertEqual(self.contents(), before)

    def test_by_a_file(self):
        before = self.contents()
        for option, key in (("--key-file", self.key), ("--passphrase-file", self.phrase),
                            ("--recipient", self.public)):
            self.refused(2, "file of keys", "encrypt", option, key, "--force",
                         self.plain / "a" / "f3", key)
        self.refused(2, "file of keys", "encrypt", "--key-file", self.key, "--force",
                     self.plain / "a" / "f3", self.alias)
        self.assertEqual(self.contents(), before)

    def test_by_a_file_of_a_tree(self):
        self.opened.mkdir()
        key = self.opened / "f0"
        key.write_bytes(self.key.read_bytes())
        self.encrypt()
        result = tabane("decrypt", "--force", "--key-file", key, self.sealed, self.opened)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"f0: a file of keys", result.stderr)
        self.assertEqual(key.read_bytes(), self.key.read_bytes())

    def test_by_a_book(self):
        for more in (["--force", "-o", self.phrase], [f"--json={self.phrase}", "-o", "new"]):
            result = tabane("epub", "protect", *more, "--passphrase-file", self.phrase, self.key)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(b"file of keys", result.stderr)
        result = tabane("epub", "inspect", f"--json={self.phrase}", "--passphrase-file",
                        self.phrase, self.key)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(self.phrase.read_bytes(), b"a long passphrase\n")

    def test_inside_in_or_out_are_told(self):
        key = self.plain / "a" / "key"
        key.write_bytes(self.key.read_bytes())
        options = ["--key-file", key]
        told = self.run_ok("encrypt", *options, self.plain, self.sealed).stderr
        self.assertIn(os.fsencode(key) + b" is in IN", told)
        inside = self.sealed / "a" / "mine"
        inside.write_bytes(self.key.read_bytes())
        inside.chmod(0o600)
        for command in (["encrypt", "--force", "--key-file", inside, self.plain, self.sealed],
                        ["verify", "--key-file", inside, self.sealed],
                        ["rekey", "--add", "--key-file", inside, "--recipient", self.public,
                         self.sealed]):
            self.assertIn(os.fsencode(inside) + b" is in ", tabane(*command).stderr)
        self.assertNotIn(b" is in ", tabane("verify", *self.options(), self.sealed).stderr)


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
        self.run_mounted(source, target, command, part, code)

    def run_mounted(self, source, target, command, part, code):
        result = subprocess.run(
            [*UNSHARE, "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', source, target,
             *command], capture_output=True, timeout=120)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(part, result.stderr.decode())

    @unittest.skipUnless(mounts_can_be_tried(), "this system gives no user and mount namespaces")
    def test_through_a_mount_is_refused(self):
        at = self.folder / "mounted"
        self.mounted(self.plain, at, at, "OUT is IN")
        self.mounted(self.plain, at, at / "new", "is inside IN")
        self.mounted(self.plain, at, at / "a", "is inside IN")
        self.mounted(self.plain / "a", at, at, "is inside IN")
        self.mounted(self.plain / "a", at, at / "b", "is inside IN")
        self.mounted(self.plain.parent, at, at, "is inside OUT")
        self.assertEqual(snapshot(self.plain), self.before)

    @unittest.skipUnless(mounts_can_be_tried(), "this system gives no user and mount namespaces")
    def test_of_a_part_of_out_is_told_and_kept(self):
        self.sealed.mkdir()
        self.mounted(self.plain / "a" / "b", self.sealed / "a", self.sealed, "directory of IN", 1)
        self.assertEqual(snapshot(self.plain), self.before)
        self.assertTrue((self.sealed / "f0").exists())


class SealedTree(Case):
    """What is written while a sealed tree is read does not lie in it."""

    def setUp(self):
        super().setUp()
        self.make_tree()
        self.encrypt()
        (self.folder / "link").symlink_to("sealed/a")
        self.before = snapshot(self.sealed)

    def expect_refused(self, part, verb, *arguments):
        self.refused(2, part, verb, *self.options(), *arguments)
        self.assertEqual(snapshot(self.sealed), self.before)

    def test_takes_no_plain_files(self):
        part = ["--without-manifest", self.sealed / "a"]
        around = "inside the sealed tree that IN belongs to"
        for source, out, says in (([self.sealed], self.sealed / "out", "inside IN"),
                                  ([self.sealed], self.folder / "link", "inside IN"),
                                  (part, self.sealed, "inside OUT"),
                                  (part, self.sealed / "out", around),
                                  (part, self.sealed / "empty", around),
                                  ([self.sealed / "a" / "f1"], self.sealed / "out", around),
                                  ([self.folder / "link" / "f1"], self.sealed / "empty", around),
                                  ([self.sealed / "f1"], self.folder / "link" / "f1", around)):
            with self.subTest(source=source, out=out):
                self.expect_refused(says, "decrypt", "--force", *source, out)
        # A directory of that name is not yet a sealed tree.
        (self.folder / ".tabane").mkdir()
        (self.folder / ".tabane" / "keys").write_text("to my house")
        self.run_ok("decrypt", *self.options(), self.sealed / "f1", self.folder / "out")

    def test_takes_no_record(self):
        for file in (self.sealed / "json", self.sealed / "f1", self.folder / "link" / "json"):
            json = f"--json={file}"
            for tree in ([self.sealed], ["--without-manifest", self.sealed / "a"],
                         [self.sealed / "a" / "f1"]):
                with self.subTest(file=file, tree=tree):
                    self.expect_refused("--json", "verify", json, *tree)
                    self.expect_refused("--json", "decrypt", json, *tree, self.opened)
                    self.assertFalse(self.opened.exists())
            self.expect_refused("inside OUT", "encrypt", "--force", json, self.plain, self.sealed)
        self.run_ok("verify", *self.options(), f"--json={self.folder / 'json'}", self.sealed)

    def test_a_record_replaces_neither_in_nor_out(self):
        single = self.sealed / "a" / "f2"
        alone = self.folder / "alone"
        alone.write_bytes(single.read_bytes())
        json = f"--json={alone}"
        self.expect_refused("is IN", "verify", json, alone)
        os.link(alone, self.folder / "again")
        self.expect_refused("is IN", "verify", f"--json={self.folder / 'again'}", alone)
        self.assertEqual(alone.read_bytes(), single.read_bytes())
        self.expect_refused("is OUT", "decrypt", f"--json={self.opened}", alone, self.opened)
        self.expect_refused("is OUT", "decrypt", f"--json={self.opened}", self.sealed, self.opened)
        self.expect_refused("inside IN", "encrypt", f"--json={self.plain / 'f1'}", self.plain,
                            self.folder / "other")
        self.assertEqual((self.plain / "f1").read_bytes(), content(1, 1))

    @unittest.skipUnless(mounts_can_be_tried(), "this system gives no user and mount namespaces")
    def test_takes_nothing_through_a_mount(self):
        at = self.folder / "mounted"
        at.mkdir()
        key = [str(option) for option in self.options()]
        for command in (["decrypt", *key, self.sealed / "f1", at / "out"],
                        ["verify", *key, f"--json={at / 'json'}", self.sealed]):
            SamePlace.run_mounted(self, self.sealed, at, [TABANE, *command], "inside", 2)
        self.assertEqual(snapshot(self.sealed), self.before)


if __name__ == "__main__":
    unittest.main()
