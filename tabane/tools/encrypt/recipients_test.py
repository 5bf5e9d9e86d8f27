"""Public keys: keygen --pair, encrypt --recipient, decrypt --identity and rekey."""

import pathlib
import shutil
import stat
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import Case, snapshot, tabane, without_home


class PairCase(Case):
    def setUp(self):
        super().setUp()
        self.make_tree()
        self.me, self.ann = self.pair("me"), self.pair("ann")

    def pair(self, name):
        """The path of a new identity; its recipient lies beside it."""
        identity = self.folder / name
        result = self.run_ok("keygen", "--pair", identity)
        (self.folder / f"{name}.pub").write_bytes(result.stdout)
        return identity

    def recipient(self, name):
        return (self.folder / f"{name}.pub").read_text().strip()

    def encrypt_for(self, *recipients, more=()):
        options = [word for one in recipients for word in ("--recipient", one)]
        return self.run_ok("encrypt", "-q", *more, *options, self.plain, self.sealed)

    def opens(self, *options):
        return tabane("verify", "-q", *options, self.sealed).returncode == 0


class Pairs(PairCase):
    def test_are_made_for_their_owner_alone(self):
        result = tabane("keygen", "--pair", self.folder / "new", umask=0)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout.decode(), r"^tabane1[02-9ac-hj-np-z]{58}\n$")
        self.assertEqual(stat.S_IMODE((self.folder / "new").stat().st_mode), 0o600)
        text = (self.folder / "new").read_text().splitlines()
        self.assertEqual(text[0], "# public key: " + result.stdout.decode().strip())
        self.assertRegex(text[1], r"^TABANE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$")
        self.assertNotIn(text[1], (result.stdout + result.stderr).decode())
        self.refused(1, "exists", "keygen", "--pair", self.folder / "new")

    def test_open_what_was_encrypted_for_them(self):
        self.encrypt_for(self.recipient("me"), self.folder / "ann.pub")
        for identity in (self.me, self.ann):
            self.run_ok("decrypt", "--identity", identity, self.sealed, self.opened)
            self.assertEqual(snapshot(self.opened).keys(), snapshot(self.plain).keys())
            for path, entry in snapshot(self.plain).items():
                self.assertEqual(snapshot(self.opened)[path][3], entry[3])
            shutil.rmtree(self.opened)
        self.assertFalse(self.opens("--key-file", self.key))

    def test_go_with_a_key_file(self):
        self.encrypt_for(self.recipient("me"), more=["--key-file", self.key])
        self.assertTrue(self.opens("--key-file", self.key))
        self.assertTrue(self.opens("--identity", self.me))

    def test_open_a_single_file(self):
        self.run_ok("encrypt", "--recipient", self.recipient("me"), self.plain / "f1", self.sealed)
        self.run_ok("decrypt", "--identity", self.me, self.sealed, self.opened)
        self.assertEqual(self.opened.read_bytes(), (self.plain / "f1").read_bytes())

    def test_that_do_not_fit_are_told_whom_the_tree_is_for(self):
        self.encrypt_for(self.recipient("me"), more=["--key-file", self.key])
        listed = self.run_ok("rekey", "--list", self.sealed).stdout.decode()
        whom = listed.split("sealed for ")[1].strip()
        self.assertRegex(whom, r"^a key file and the recipient [0-9a-f]{16}$")
        self.refused(1, whom, "decrypt", "--identity", self.ann, self.sealed, self.opened)
        self.refused(1, whom, "rekey", "--identity", self.ann, "--recipient",
                     self.recipient("ann"), self.sealed)
        self.assertFalse(self.opened.exists())

    def test_are_named_and_asked_for_where_no_key_is_given(self):
        self.encrypt_for(self.recipient("me"), self.recipient("ann"))
        names = []
        for name in ("me", "ann"):
            shown = self.run_ok("keygen", "--show", self.folder / name).stdout.decode().split()
            self.assertEqual(shown[1], self.recipient(name))
            same = self.run_ok("keygen", "--show", self.folder / f"{name}.pub").stdout.decode()
            self.assertEqual(same.split(), shown)
            names.append(shown[0])
        listed = self.run_ok("rekey", "--list", self.sealed).stdout.decode()
        for name in names:
            self.assertIn(name, listed)
            result = self.refused(2, name, "decrypt", self.sealed, self.opened)
            self.assertIn("give --identity FILE", result.stderr.decode())
            self.refused(2, name, "verify", self.sealed)

    def test_that_are_malformed_are_refused_before_anything_is_written(self):
        good = self.recipient("me")
        broken = self.folder / "broken"
        for text, part in ((good[:-1], "checksum"), (good[:20] + "b" + good[21:], "checksum"),
                           ("tabane1" + "q" * 52 + "asxkqs", "small order")):
            self.refused(2, part, "encrypt", "--recipient", text, self.plain, self.sealed)
            broken.write_text("# comment\n" + text + "\n")
            self.refused(2, "line 2", "encrypt", "--recipient", broken, self.plain, self.sealed)
        secret = self.me.read_text().splitlines()[1]
        result = self.refused(2, "secret", "encrypt", "--recipient", self.me, self.plain,
                              self.sealed)
        self.assertNotIn(secret[20:40], result.stderr.decode())
        result = self.refused(2, "checksum", "verify", "--identity",
                              self.changed(self.me), self.sealed)
        self.assertNotIn(secret[30:40], result.stderr.decode())
        self.refused(1, "nowhere", "encrypt", "--recipient", self.folder / "nowhere", self.plain,
                     self.sealed)
        self.refused(2, "CBC", "encrypt", "--cipher", "aes-256-cbc", "--key-file", self.key,
                     "--recipient", good, self.plain, self.sealed)
        self.assertFalse(self.sealed.exists())

    def test_that_are_secret_are_not_shown_where_a_file_is_wanted(self):
        self.encrypt()
        identity = self.me.read_text()
        secret = identity.splitlines()[1]
        digits = self.key.read_bytes().hex()
        new = ["rekey", "--key-file", self.key]
        for typed, part in ((identity, secret[20:40]), (secret, secret[20:40]),
                            (secret.lower()[:-3], secret[20:40].lower()),
                            (digits, digits[10:30])):
            for words in (["encrypt", "--force", "--recipient", typed, self.plain, self.sealed],
                          ["encrypt", "--force", "--key-file", typed, self.plain, self.sealed],
                          ["verify", "--identity", typed, self.sealed],
                          ["verify", "--key-file", typed, self.sealed],
                          ["verify", "--passphrase-file", typed, self.sealed],
                          [*new, "--recipient", typed, self.sealed],
                          [*new, "--new-key-file", typed, self.sealed],
                          [*new, "--new-passphrase-file", typed, self.sealed],
                          ["rekey", "--identity", typed, "--recipient", self.recipient("me"),
                           self.sealed]):
                result = self.refused(2, "a secret key where the name of its file", *words)
                self.assertNotIn(part, result.stderr.decode())
        result = self.refused(1, "passphrase file", "verify", "--passphrase-file",
                              "correct horse", self.sealed)
        self.assertNotIn(b"horse", result.stderr)
        self.run_ok("verify", *self.options(), self.sealed)

    def changed(self, identity):
        text = identity.read_text()
        copy = self.folder / "changed"
        copy.write_text(text[:-3] + ("QQ" if text[-3:-1] != "QQ" else "PP") + "\n")
        copy.chmod(0o600)
        return copy

    def test_that_others_can_read_warn(self):
        self.encrypt_for(self.recipient("me"))
        self.me.chmod(0o640)
        result = self.run_ok("verify", "--identity", self.me, self.sealed)
        self.assertIn(b"warning: others may have access to", result.stderr)

    def test_alone_do_not_resume(self):
        self.encrypt_for(self.recipient("me"))
        (self.sealed / "f0").unlink()
        self.refused(1, "--resume takes the key file or passphrase", "encrypt", "--resume",
                     "--recipient", self.recipient("me"), self.plain, self.sealed)
        shutil.rmtree(self.sealed)
        self.encrypt_for(self.recipient("me"), more=["--key-file", self.key])
        (self.sealed / "f0").unlink()
        self.encrypt_for(self.recipient("me"), more=["--key-file", self.key, "--resume"])
        self.assertTrue(self.opens("--identity", self.me))
        self.refused(2, "rekey", "encrypt", "--resume", "--key-file", self.key, "--recipient",
                     self.recipient("ann"), self.plain, self.sealed)


class Rekey(PairCase):
    def test_changes_who_can_open_and_no_file(self):
        self.encrypt()
        before = without_home(snapshot(self.sealed))
        result = self.run_ok("rekey", "--key-file", self.key, "--add", "--recipient",
                             self.folder / "ann.pub", self.sealed)
        self.assertIn(b"a key file and the recipient ", result.stdout)
        self.assertTrue(self.opens("--identity", self.ann))
        self.assertTrue(self.opens("--key-file", self.key))
        other = self.make_key("other", 32, seed=9)
        self.run_ok("rekey", "--identity", self.ann, "--new-key-file", other, "--recipient",
                    self.recipient("me"), self.sealed)
        self.assertTrue(self.opens("--key-file", other))
        self.assertTrue(self.opens("--identity", self.me))
        self.assertFalse(self.opens("--identity", self.ann))
        self.assertEqual(without_home(snapshot(self.sealed)), before)

    def test_changes_a_passphrase(self):
        old, new = self.folder / "old", self.folder / "new"
        old.write_text("correct horse")
        new.write_text("battery staple")
        self.run_ok("encrypt", "--passphrase-file", old, self.plain, self.sealed)
        self.run_ok("rekey", "--passphrase-file", old, "--new-passphrase-file", new, self.sealed)
        self.assertTrue(self.opens("--passphrase-file", new))
        self.run_ok("encrypt", "--resume", "--passphrase-file", new, self.plain, self.sealed)

    def test_is_refused_where_nothing_would_open_or_nothing_is(self):
        self.encrypt()
        before = snapshot(self.sealed)
        key = ["--key-file", self.key]
        self.refused(2, "nobody is named", "rekey", *key, self.sealed)
        self.refused(2, "nobody is named", "rekey", *key, "--add", self.sealed)
        self.refused(2, "no directory", "rekey", *key, "--recipient", self.recipient("me"),
                     self.sealed / "f0")
        self.refused(1, ".tabane/keys", "rekey", *key, "--recipient", self.recipient("me"),
                     self.plain)
        self.assertEqual(snapshot(self.sealed), before)
        (self.sealed / ".tabane" / "keys").write_bytes(b"TBNKEYS")
        self.refused(1, "--resume writes it anew", "rekey", *key, "--recipient",
                     self.recipient("me"), self.sealed)
        result = self.refused(1, ".tabane/keys", "verify", "-q", *key, self.sealed)
        self.assertIn(b"at byte 7", result.stderr)
        self.encrypt("--resume")
        self.assertTrue(self.opens(*key))


if __name__ == "__main__":
    unittest.main()
