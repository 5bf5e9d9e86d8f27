"""tabane epub: what it makes is read by an independent script and by epubcheck, and comes back
byte for byte."""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
import epub_lcp
from epub_books import (PASSPHRASE, RESOURCES, TABANE, Case, contents_of, epubcheck, noise,
                        write_book, write_contents)
from tool_case import unless_sanitized

# What epubcheck says of what it cannot decrypt: the resource itself, fragments inside it, and, in
# its version 4.2, style sheets.
ENCRYPTED_TO_EPUBCHECK = {"RSC-004", "RSC-012", "PKG-008"}
# Starts a program from a small one: a peak begins at that of the program that it was started from.
PEAK_KIB = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
CLEAR = {"mimetype", "META-INF/container.xml", "OPS/package.opf", "OPS/nav.xhtml", "OPS/cover.png"}


class RoundTrip(Case):
    def test_book_by_hand(self):
        for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            with self.subTest(method=method):
                write_book(self.book, method=method)
                self.protect("--force")
                self.opened.unlink(missing_ok=True)
                self.assert_comes_back()

    def test_what_must_stay_clear_stays_clear(self):
        write_book(self.book)
        self.protect()
        before, after = contents_of(self.book), contents_of(self.protected)
        self.assertEqual({name for name in before if before[name] == after[name]}, CLEAR)

    def test_media_are_not_deflated_and_text_is(self):
        for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            write_book(self.book, method=method)
            self.protect("--force")
            sizes = {name: len(data) for name, data in contents_of(self.protected).items()}
            self.assertEqual(sizes["OPS/audio.mp3"], 16 + 100_000 // 16 * 16 + 16)
            self.assertLess(sizes["OPS/a b/caf\u00e9.xhtml"], 1000)

    def test_pandoc_and_epubcheck(self):
        if shutil.which("pandoc") is None:
            self.skipTest("pandoc was not found")
        text = self.folder / "book.md"
        text.write_text("---\ntitle: A title\nlang: en\n---\n" +
                        "".join(f"\n# Chapter {i}\n\nWords.\n" for i in range(9)))
        subprocess.run(["pandoc", text, "-o", self.book], check=True)
        self.protect()
        self.assert_comes_back()
        messages = epubcheck(self.opened)
        if messages is None:
            self.skipTest("epubcheck was not found")
        self.assertEqual(messages, set())
        self.assertLessEqual({m for _, m in epubcheck(self.protected)}, ENCRYPTED_TO_EPUBCHECK)


class Kinds(Case):
    def test_large_resources_are_streamed(self):
        """Of each kind: as they are, deflated and not."""
        words = b"".join(b"%d words " % i for i in range(1_400_000))
        large = {"OPS/nav.xhtml": RESOURCES["OPS/nav.xhtml"],
                 "OPS/a b/caf\u00e9.xhtml": RESOURCES["OPS/a b/caf\u00e9.xhtml"],
                 "OPS/large.txt": ("t", "text/plain", "", words),
                 "OPS/large.mp3": ("m", "audio/mpeg", "", noise(17 << 20))}
        self.assertGreater(len(words), 16 << 20)
        for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            with self.subTest(method=method):
                write_book(self.book, large, method)
                self.protect("--force")
                self.opened.unlink(missing_ok=True)
                self.assert_comes_back()

    @unless_sanitized
    def test_large_resources_take_little_memory(self):
        sound = ("m", "audio/mpeg", "", noise(200 << 20))
        write_book(self.book, {**RESOURCES, "OPS/large.mp3": sound}, zipfile.ZIP_STORED)
        for verb, book, out in (("protect", self.book, self.protected),
                                ("unprotect", self.protected, self.opened)):
            used = subprocess.run([sys.executable, "-c", PEAK_KIB, TABANE, "epub", verb, book, "-o",
                                   out, "-q", "--passphrase-file", self.passphrase],
                                  capture_output=True, check=True)
            self.assertLess(int(used.stdout), 64 << 10)
        with zipfile.ZipFile(self.book) as old, zipfile.ZipFile(self.opened) as new:
            self.assertEqual([(e.filename, e.file_size, e.CRC) for e in old.infolist()],
                             [(e.filename, e.file_size, e.CRC) for e in new.infolist()])

    def test_zip64(self):
        write_book(self.book)
        with zipfile.ZipFile(self.book, "a", zipfile.ZIP_DEFLATED) as book:
            with book.open("OPS/zip64.txt", "w", force_zip64=True) as entry:
                entry.write(b"text " * 1000)
        self.protect()
        self.assert_comes_back()

    def test_obfuscated_fonts_stay_as_they_are(self):
        for encoding in ("utf-8", "utf-16"):
            with self.subTest(encoding=encoding):
                self.obfuscated_font_stays(encoding)
                self.opened.unlink()

    def obfuscated_font_stays(self, encoding):
        listed = (f'<?xml version="1.0" encoding="{encoding}"?>'
                  '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
                  'xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
                  '<e:EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/>'
                  '<e:CipherData><e:CipherReference URI="OPS/font.otf"/></e:CipherData>'
                  "</e:EncryptedData></encryption>")
        write_book(self.book, more=[("META-INF/encryption.xml", listed.encode(encoding))])
        done = self.protect("--force")
        self.assertIn("1 obfuscated font left as they are", done.stdout)
        self.assertEqual(contents_of(self.protected)["OPS/font.otf"],
                         contents_of(self.book)["OPS/font.otf"])
        plain = contents_of(self.book)
        del plain["META-INF/encryption.xml"]
        self.assertEqual(epub_lcp.read(self.protected, PASSPHRASE), plain)
        self.assertEqual(self.run_verb("unprotect", self.protected, self.opened).returncode, 0)
        again = contents_of(self.opened)
        self.assertIn("2008/embedding", again["META-INF/encryption.xml"].decode())
        self.assertNotIn("lcp", again["META-INF/encryption.xml"].decode())
        del again["META-INF/encryption.xml"]
        self.assertEqual(again, plain)

    def test_books_of_others(self):
        """Padded by noise, not compressed, without a length, and deflated after encryption."""
        key, user = bytes(range(32)), epub_lcp.hashlib.sha256(PASSPHRASE.encode()).digest()
        write_book(self.book)
        self.protect()
        data = contents_of(self.protected)
        licence = json.loads(data[epub_lcp.LICENCE])
        old = epub_lcp.decrypt(user, epub_lcp.base64.b64decode(
            licence["encryption"]["content_key"]["encrypted_value"]))
        self.assertNotEqual(old, key)
        page = contents_of(self.book)["OPS/deep/er/pixel.png"]
        data["OPS/deep/er/pixel.png"] = epub_lcp.encrypt(old, b"i" * 16, page)
        data[epub_lcp.ENCRYPTION] = data[epub_lcp.ENCRYPTION].replace(
            b'Method="0" OriginalLength="%d"' % len(page), b'Method="0"')
        write_contents(self.protected, data, zipfile.ZIP_DEFLATED)
        done = self.run_verb("unprotect", self.protected, self.opened)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(contents_of(self.opened), contents_of(self.book))

    def test_many_books(self):
        books = [write_book(self.folder / f"{i}.epub", method=i % 2 * 8) for i in range(9)]
        broken = self.folder / "broken.epub"
        broken.write_bytes(b"no book")
        out = self.folder / "out"
        done = self.epub("protect", *books, broken, "-o", out, "--passphrase-file",
                         self.passphrase, "--json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("broken.epub: is not a ZIP file", done.stderr)
        told = json.loads(done.stdout)["books"]
        self.assertEqual([book["resources_encrypted"] for book in told], [5] * 9 + [0])
        self.assertIsNone(told[-1]["out_bytes"])
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         sorted(book.name for book in books))
        for book in books:
            self.assertEqual(epub_lcp.read(out / book.name, PASSPHRASE), contents_of(book))


if __name__ == "__main__":
    unittest.main()
