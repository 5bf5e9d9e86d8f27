"""What tabane encrypt leaves out, verify --list shows and decrypt restores by names."""

import json
import os
import pathlib
import shutil
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import Case, content, listed, snapshot, tabane

HOSTILE = (b"new\nline", b"\x1b[2J", "\u202egpj.exe".encode(), b"\xff\xfe", b"-rf", b"a\\b",
           b"x -> y")


class Listing(Case):
    def list(self, *more):
        return self.run_ok("verify", "--list", *self.options(), *more, self.sealed).stdout.decode()

    def test_shows_a_line_for_each_entry(self):
        (self.plain / "d").mkdir(parents=True)
        (self.plain / "d" / "f").write_bytes(content(12345))
        (self.plain / "link").symlink_to("d/f")
        (self.plain / "d" / "f").chmod(0o4751)
        (self.plain / "d").chmod(0o1775)
        for path in ("d/f", "d", "."):
            os.utime(self.plain / path, (10**9, 10**9))
        self.encrypt()
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(10**9))
        lines = self.list().splitlines()
        self.assertEqual(lines[1:3], [f"drwxrwxr-t     -  {when}  d",
                                      f"-rwsr-x--x 12345  {when}  d/f"])
        self.assertRegex(lines[0], r"^drwx.*  \.$")
        self.assertRegex(lines[3], r"^lrwxrwxrwx     - .*  link -> d/f$")
        self.assertEqual(len(lines), 4)
        self.assertEqual(self.list("--exclude", "d").count("\n"), 2)

    def test_is_json_of_all_that_the_manifest_has(self):
        self.make_tree()
        (self.plain / "link").symlink_to("a/f1")
        self.encrypt()
        record = json.loads(self.list("--json"))
        self.assertEqual(list(record), ["schema_version", "kind", "tabane_version", "root",
                                        "tree_id", "generation", "hidden_names", "entries"])
        self.assertEqual(record["kind"], "list")
        found = {entry["path"]: entry for entry in record["entries"]}
        wanted = snapshot(self.plain)
        self.assertEqual(set(found), {""} | {path.decode() for path in wanted})
        for path, (_, mode, when, data) in wanted.items():
            entry = found[path.decode()]
            self.assertEqual(entry["mode"], f"{mode:04o}")
            self.assertEqual(entry["seconds"] * 10**9 + entry["nanoseconds"], when)
            if entry["kind"] == "file":
                self.assertEqual(entry["bytes"], len(data))
        self.assertEqual((found["link"]["kind"], found["link"]["target"]), ("link", "a/f1"))
        file = self.folder / "record"
        done = self.run_ok("verify", "--list", *self.options(), f"--json={file}", self.sealed)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(json.loads(file.read_text()), record)

    def test_never_prints_control_characters_of_a_name(self):
        root = os.fsencode(self.plain)
        os.mkdir(root)
        for name in HOSTILE:
            pathlib.Path(os.fsdecode(os.path.join(root, name))).write_bytes(b"x")
        os.symlink(b"\x1b]0;title\x07\n", os.path.join(root, b"link"))
        self.encrypt("--hide-names")
        text = self.list()
        self.assertEqual(text.count("\n"), len(HOSTILE) + 2)
        self.assertTrue(text.replace("\n", "").isprintable(), text)
        for shown in ("new\\nline", "\\x1b[2J", "\\xe2\\x80\\xaegpj.exe", "\\xff\\xfe", "a\\\\b",
                      "link -> \\x1b]0;title\\x07\\n"):
            self.assertIn(f"  {shown}\n", text)
        entries = json.loads(self.list("--json"))["entries"]
        found = {entry["path_percent_encoded"] for entry in entries}
        self.assertIn("new%0Aline", found)
        self.assertIn("%FF%FE", found)

    def test_is_refused_where_there_is_no_manifest_or_no_key(self):
        self.make_tree()
        self.encrypt()
        other = self.make_key("other", 32, seed=9)
        lists = ["verify", "--list"]
        self.refused(1, "no key that was given opens it", *lists, "--key-file", other, self.sealed)
        self.refused(2, "is no directory", *lists, *self.options(), self.sealed / "f0")
        self.refused(2, "aes-256-gcm", *lists, *self.options("aes-256-cbc"), self.sealed)
        self.refused(2, "--quick", *lists, "--quick", *self.options(), self.sealed)
        self.refused(2, "inside", *lists, *self.options(), f"--json={self.sealed}/record",
                     self.sealed)
        self.refused(1, "the root of IN", *lists, "--root", "0" * 64, *self.options(), self.sealed)


class Restoring(Case):
    def restore(self, *paths, code=0, part="", more=()):
        shutil.rmtree(self.opened, ignore_errors=True)
        done = tabane("decrypt", *self.options(), *more, self.sealed, self.opened, *paths)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(part, done.stderr.decode())
        return set(snapshot(self.opened)) if self.opened.exists() else None

    def test_takes_files_folders_and_patterns(self):
        self.make_tree()
        self.encrypt()
        self.assertEqual(self.restore("f1", "a/b"),
                         {b"f1", b"a", b"a/b", b"a/b/f0"})
        self.assertEqual(self.restore("a/f[12]"), {b"a", b"a/f1", b"a/f2"})
        self.assertEqual(self.restore("--exclude", "f2", "a/f[12]"), {b"a", b"a/f1"})
        self.assertEqual(self.restore("empty/"), {b"empty"})

    def test_of_nothing_is_told_and_nothing_is_written(self):
        self.make_tree()
        self.encrypt()
        for path in ("a/f99", "F1", "../in/f1", "/f1", "f1/x"):
            self.assertIsNone(self.restore("f1", path, code=2, part=f"fits {path};"))
        self.assertIsNone(self.restore("f1", code=2, part="exclude each other",
                                       more=["--without-manifest"]))
        for cipher, source, reason in (("aes-256-gcm", self.sealed / "f1", "is a file"),
                                       ("aes-256-gcm", "-", "a stream"),
                                       ("aes-256-cbc", self.sealed, "AES-CBC")):
            for more in (["f1"], ["--xattrs"]):
                self.refused(2, reason, "decrypt", *self.options(cipher), source,
                             self.folder / "f1", *more)

    def test_of_hostile_names_takes_them_as_they_are(self):
        root = os.fsencode(self.plain)
        os.mkdir(root)
        for name in HOSTILE + (b"[z]*",):
            pathlib.Path(os.fsdecode(os.path.join(root, name))).write_bytes(name)
        self.encrypt()
        for name in (b"new\nline", b"\xff\xfe", b"[z]*", b"a\\b"):
            self.assertEqual(self.restore(os.fsdecode(name)), {name})

    def test_does_not_count_the_rest_as_left_out(self):
        self.make_tree()
        self.encrypt()
        done = self.run_ok("decrypt", *self.options(), self.sealed, self.opened, "f1")
        self.assertNotIn(b"excluded", done.stdout)
        self.assertIn(b"decrypted 1 file", done.stdout)


class Excluding(Case):
    def patterns(self, text):
        file = self.folder / "patterns"
        file.write_text(text)
        return file

    def test_takes_patterns_from_a_file_before_those_of_the_line(self):
        self.make_tree()
        file = self.patterns("# f0\n\nf[12]\n/a/b/\n!f2\n")
        self.encrypt("--exclude", "/f2", "--exclude-from", file)
        self.assertEqual(listed(self.sealed), ["a", "empty", "f0"])
        names = listed(self.sealed / "a")
        self.assertIn("f2", names)
        self.assertNotIn("f1", names)
        self.assertNotIn("b", names)

    def test_of_directories_leaves_files_of_that_name(self):
        (self.plain / "cache").mkdir(parents=True)
        (self.plain / "cache" / "x").write_bytes(b"x")
        (self.plain / "a").mkdir()
        (self.plain / "a" / "cache").write_bytes(b"y")
        self.encrypt("--exclude", "cache/")
        self.assertEqual(set(listed(self.sealed)), {"a"})
        self.assertEqual(listed(self.sealed / "a"), ["cache"])

    def test_from_a_file_that_is_not_there_is_refused(self):
        self.make_tree()
        result = tabane("encrypt", *self.options(), "--exclude-from", self.folder / "nothing",
                        self.plain, self.sealed)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"nothing", result.stderr)
        self.assertFalse(self.sealed.exists())

    def test_counts_as_removed_what_an_update_leaves_out(self):
        self.make_tree()
        for i in range(20):
            (self.plain / f"{i}.tmp").write_bytes(b"x")
        self.encrypt()
        self.encrypt("--update", "--exclude", "f2")
        self.assertFalse((self.sealed / "f2").exists())
        self.refused(2, "--update would remove 20 of", "encrypt", *self.options(), "--update",
                     "--exclude", "*.tmp", self.plain, self.sealed)
        record = json.loads(self.encrypt("--update", "--exclude", "*.tmp", "--delete",
                                         "--one-file-system", "--json").stdout)
        self.assertEqual(record["removed"], 20)
        self.assertEqual(record["excluded"], 20)


class DryRun(Case):
    def test_says_how_many_bytes_there_are_and_how_much_is_free(self):
        self.make_tree()
        record = json.loads(self.encrypt("--dry-run", "--json").stdout)
        self.assertEqual(record["input_bytes_total"], sum(
            len(entry[3] or b"") for entry in snapshot(self.plain).values()))
        free = os.statvfs(self.folder)
        self.assertGreater(record["free_bytes"], 0)
        self.assertLessEqual(record["free_bytes"], 2 * free.f_bavail * free.f_frsize)
        self.assertRegex(self.encrypt("--dry-run").stdout, rb"; [\d.]+ .iB free where OUT is\n")
        self.assertIsNone(json.loads(self.encrypt("--json").stdout)["free_bytes"])

    def test_warns_where_too_little_is_free(self):
        self.plain.mkdir()
        with open(self.plain / "large", "wb") as file:
            file.truncate(1 << 43)
        self.assertRegex(self.encrypt("--dry-run").stderr, b"are free, and IN has 8 TiB")


if __name__ == "__main__":
    unittest.main()
