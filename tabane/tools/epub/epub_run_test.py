"""tabane epub: where new books go, and what is left of runs that end early."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from epub_books import RESOURCES, TABANE, Case, noise, write_book


class Places(Case):
    def setUp(self):
        super().setUp()
        write_book(self.book)

    def not_there(self, out, *texts, code=2):
        self.refused(self.run_verb("protect", self.book, out, "--force"), *texts, code=code)

    def test_what_is_no_place_for_a_book(self):
        link = self.folder / "link"
        link.symlink_to("nowhere")
        for wrong, text in (("-", "not a stream"), ("/dev/null", "is not a regular file"),
                            ("", "-o: the new book needs a name"), (link, "regular"),
                            (self.book, "is the book")):
            with self.subTest(out=wrong):
                self.not_there(wrong, text)
        self.refused(self.run_verb("protect", self.book, self.book), "is the book", code=2)
        self.not_there(self.folder / "no" / "where.epub", "No such file", code=1)

    def test_a_record_replaces_no_book(self):
        before = self.book.read_bytes()
        (self.folder / "link").symlink_to(self.book)
        (self.folder / "alias").hardlink_to(self.book)
        (self.folder / "here").symlink_to(".")
        (self.folder / "there").symlink_to(self.protected)
        for name in ("book.epub", "link", "alias", "here/book.epub", "protected.epub",
                     "here/protected.epub", "there"):
            json = f"--json={self.folder / name}"
            with self.subTest(json=json):
                for verb in ("protect", "unprotect"):
                    self.refused(self.run_verb(verb, self.book, self.protected, json),
                                 "is the book", code=2)
                if "protected" not in name and name != "there":
                    self.refused(self.epub("inspect", json, self.book), "is the book", code=2)
                self.assertEqual(self.book.read_bytes(), before)
        done = self.epub("inspect", f"--json={self.folder / 'json'}", self.book)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_no_name_of_a_book(self):
        for wrong in ("", f"{self.book}/"):
            self.refused(self.run_verb("protect", wrong, self.folder / "out"),
                         f'BOOK "{wrong}": is not the name of a file', code=2)

    def test_a_book_is_replaced_only_by_force(self):
        self.opened.write_bytes(b"mine")
        done = self.run_verb("protect", self.book, self.opened)
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists; --force replaces it", done.stderr)
        self.assertEqual(self.opened.read_bytes(), b"mine")

    def test_books_in_one_anothers_place(self):
        other = self.folder / "other"
        other.mkdir()
        twin = write_book(other / "book.epub")
        done = self.epub("protect", self.book, twin, "-o", self.folder / "out",
                         "--passphrase-file", self.passphrase)
        self.refused(done, "would both become", code=2)
        self.assertFalse((self.folder / "out").exists())
        alias = self.folder / "alias"
        alias.symlink_to(twin)
        self.refused(self.epub("protect", self.book, alias, "-o", other, "--force",
                               "--passphrase-file", self.passphrase), "is the book", code=2)

    def test_no_terminal_for_a_passphrase(self):
        self.refused(self.epub("protect", self.book, "-o", self.protected),
                     "no terminal to ask for a passphrase: give --passphrase-file FILE", code=2)

    def test_nobody_reads_the_results(self):
        books = [write_book(self.folder / f"{i}.epub") for i in range(9)]
        out = self.folder / "out"
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as pipe:
            done = subprocess.run([TABANE, "epub", "protect", *books, "-o", out,
                                   "--passphrase-file", self.passphrase], stdout=pipe,
                                  stderr=subprocess.PIPE, timeout=120, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"stdout: write", done.stderr)
        self.assertEqual({path.name for path in out.iterdir()}, {book.name for book in books})

    def test_what_another_run_writes_stays(self):
        """And what has such a name and is to be read."""
        busy, book, fresh = (self.folder / f".tabane-{i:016x}.part" for i in (1, 2, 3))
        os.link(self.book, book)
        fresh.touch()
        with open(busy, "wb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            for each in (busy, book):
                os.utime(each, (1, 1))
            done = self.run_verb("protect", self.book, self.protected, "--force")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual({*self.folder.glob(".tabane-*")}, {busy, book, fresh})


class EarlyEnds(Case):
    def setUp(self):
        super().setUp()
        resources = dict(RESOURCES)
        for i in range(30):
            resources[f"OPS/{i}.mp3"] = (f"m{i}", "audio/mpeg", "", noise(12 << 20, i))
        write_book(self.book, resources, zipfile.ZIP_STORED)

    def stopped_by(self, signal_number):
        with subprocess.Popen([TABANE, "epub", "protect", self.book, "-o", self.protected,
                               "--passphrase-file", self.passphrase, "-t", "1"],
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True, text=True) as running:
            while not self.temporaries() and running.poll() is None:
                time.sleep(0.001)
            running.send_signal(signal_number)
            _, told = running.communicate(timeout=60)
        return running, told

    def temporaries(self):
        return list(self.folder.glob(".tabane-*"))

    def ended_by(self, signal_number):
        """What it told."""
        for _ in range(5):  # on a busy machine a signal may come too late
            running, told = self.stopped_by(signal_number)
            if running.returncode != 0:
                break
            self.protected.unlink()
        self.assertEqual(running.returncode, -signal_number, told)
        self.assertFalse(self.protected.exists())
        return told

    def test_stop_leaves_no_half_written_book(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            self.assertIn("no half-written book was left", self.ended_by(signal_number))
            self.assertFalse(self.temporaries())

    def test_what_a_killed_run_leaves_goes_if_that_is_asked_for(self):
        self.ended_by(signal.SIGKILL)
        self.assertEqual(len(self.temporaries()), 1)
        os.utime(self.temporaries()[0], (1, 1))
        write_book(self.book)
        done = self.run_verb("protect", self.book, self.protected)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.temporaries()), 1)
        done = self.run_verb("protect", self.book, self.protected, "--force")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("removed: 1 temporary file of an interrupted run\n", done.stdout)
        self.assertFalse(self.temporaries())


if __name__ == "__main__":
    unittest.main()
