"""What tabane says of wrong arguments, and that it says so before any work or question."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TABANE = sys.argv.pop(1)


def tabane(*arguments, **variables):
    """Runs without a terminal, so that nothing can wait for an answer."""
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | variables
    return subprocess.run([TABANE, *map(str, arguments)], env=environment, capture_output=True,
                          text=True, timeout=60, stdin=subprocess.DEVNULL, start_new_session=True)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, sentence, *arguments, code=2):
        with self.subTest(arguments):
            result = tabane(*arguments)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertIn(sentence, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


class Sentence(Case):
    def test_is_said_of_a_very_long_argument(self):
        result = tabane("study", "ap1000", "-n", "n" * 100_000)
        self.assertEqual(result.returncode, 2)
        self.assertIn("nnnn", result.stderr)


class Words(Case):
    def test_of_help_run_nothing(self):
        for arguments in (("--help", "run", "-q"), ("help", "run", "-q"), ("run", "--help")):
            result = tabane(*arguments, "touch", self.folder / "ran")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("Usage: tabane run", result.stdout)
            self.assertFalse((self.folder / "ran").exists())

    def test_in_brackets_are_a_command(self):
        for command in "[ 1 = 1 ]", "[ 1 = 2 ]":
            result = tabane("time", "-q", "-r", "+1", "-w", "0", command)
            self.assertEqual(result.returncode, 0 if "1 = 1" in command else 1, result.stderr)

    def test_that_are_empty_are_values(self):
        result = tabane("time", "-q", "-r", "1", "-w", "0", "--shell=", "true")
        self.assertIn("--shell", result.stderr)

    def test_of_grouped_letters_keep_their_value_from_the_command(self):
        result = tabane("run", "-ql", "-qt", "1", "echo", "-t")
        self.assertEqual(result.stdout, "-t\n", result.stderr)


class Lists(Case):
    def test_take_commas_and_repeated_options(self):
        def names(*only):
            lines = tabane("survey", "--list", "--wide", *only).stdout.splitlines()
            return [line.split()[0] for line in lines[1:]]
        both = names("--only", "clock,latency")
        self.assertEqual(both, names("--only", "clock", "--only", "latency"))
        self.assertEqual({name.split(".")[0] for name in both}, {"clock", "latency"})


class Paths(Case):
    def test_are_checked_before_a_passphrase_is_asked_for(self):
        # There is no terminal to ask on, which would be another sentence.
        (self.folder / "in").mkdir()
        (self.folder / "in" / "letter").write_text("plain")
        (self.folder / "full").mkdir()
        (self.folder / "full" / "letter").touch()
        source = self.folder / "in"
        missing = self.folder / "missing"
        for verb, out in (("encrypt", ["out"]), ("decrypt", ["out"]), ("verify", [])):
            self.refused("missing: ", verb, missing, *out, code=1)
        self.refused("is not empty", "encrypt", source, self.folder / "full")
        self.refused("there is no directory", "encrypt", source, missing / "out")
        self.refused("there is no directory", "encrypt", source / "letter", missing / "out")
        self.refused("is inside IN", "encrypt", source, source / "out")
        (self.folder / "file").touch()
        self.refused("IN is a directory, so OUT", "encrypt", source, self.folder / "file")
        self.refused("holds no sealed file", "verify", source, code=1)

    def test_of_plain_files_are_refused_by_decrypt_in_one_line(self):
        for i in range(150):
            folder = self.folder / "plain" / str(i)
            folder.mkdir(parents=True)
            (folder / "letter").write_text("not sealed" * 20)
        key = self.folder / "key"
        tabane("keygen", key)
        out = self.folder / "out"
        self.refused("holds no sealed file", "decrypt", "--key-file", key, self.folder / "plain",
                     out, code=1)
        self.assertFalse(out.exists())

    def test_that_the_system_refuses_are_told_in_plain_words(self):
        (self.folder / "in").mkdir()
        (self.folder / "in" / "letter").write_text("plain")
        key = self.folder / "key"
        tabane("keygen", key)
        long_name = self.folder / ("n" * 300)
        for arguments in (["keygen", long_name],
                          ["encrypt", "--key-file", key, self.folder / "in", long_name],
                          ["encrypt", "--key-file", key, self.folder / "in" / "letter", long_name],
                          ["report", long_name], ["rekey", "--list", long_name]):
            self.refused("File name too long", *arguments, code=1)
            result = tabane(*arguments)
            self.assertIn("n" * 300, result.stderr)
            for word in ("filesystem error", "symlink_status", "status:"):
                self.assertNotIn(word, result.stderr)

    def test_of_a_key_that_exists_are_kept(self):
        key = self.folder / "key"
        key.write_text("old")
        self.refused("never replaced", "keygen", key, code=1)
        self.assertEqual(key.read_text(), "old")

    def test_of_a_record_that_cannot_be_are_refused_with_its_name(self):
        record, page = self.folder / "record.json", self.folder / "page.html"
        for text, part in (("[" * 200_000 + "]" * 200_000, "deeper than 64"),
                           ('{"a":' * 200_000 + "1" + "}" * 200_000, "deeper than 64"),
                           ('{"details": [1e300]}', "beyond 1e+30"), ("{", "not JSON"),
                           ("", "not JSON"), ("{}", "no record of tabane"),
                           ("[]", "no record of tabane"),
                           ('{"schema_version": 99}', "this program reads 2")):
            record.write_text(text)
            self.refused("record.json: ", "report", record, "-o", "-")
            self.refused(part, "report", record, "-o", page)
            self.assertFalse(page.exists())
            self.refused(part, "compare", record, record)

    def test_of_a_page_are_checked_before_it_is_drawn(self):
        self.refused("/nowhere/page.html", "report", "missing.json", "-o", "/nowhere/page.html")


class Help(Case):
    def test_of_a_verb_comes_both_ways(self):
        for verb in ([], ["encrypt"], ["rekey"], ["run"], ["study", "aes-folder"]):
            asked = tabane("help", *verb)
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertEqual(asked.stdout, tabane(*verb, "--help").stdout)

    def test_fits_the_width_that_is_asked_for(self):
        for verb in ([], ["survey"], ["encrypt"], ["run"], ["study"], ["study", "aes-folder"]):
            for width in (40, 80, 100):
                text = tabane(*verb, "--help", COLUMNS=str(width)).stdout
                text = text[text.find("Options:"):]
                self.assertLessEqual(max(map(len, text.splitlines())), width, text)


if __name__ == "__main__":
    unittest.main()
