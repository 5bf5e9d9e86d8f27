"""tabane epub: books that it refuses."""

import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest
import urllib.parse
import warnings
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
import epub_lcp
from epub_books import PASSPHRASE, Case, contents_of, noise, write_book, write_contents


class Refused(Case):
    def protect_refused(self, *texts, **options):
        self.refused(self.run_verb("protect", self.book, self.protected), *texts, **options)

    def test_no_zip(self):
        for content, text in ((b"", "is empty"), (b"hello", "is not a ZIP file"),
                              (os.urandom(100_000), "is not a ZIP file")):
            self.book.write_bytes(content)
            self.protect_refused(text)
        write_book(self.book)
        self.book.write_bytes(self.book.read_bytes()[:-30])
        self.protect_refused("is cut off: it begins as a ZIP file, but its end is missing")
        self.book.unlink()
        self.protect_refused("No such file")
        self.book.mkdir()
        self.protect_refused("is not a regular file")

    def test_no_book(self):
        for leave_out in ("META-INF/container.xml", "OPS/package.opf"):
            write_book(self.book, leave_out=(leave_out,))
            self.protect_refused(f"has no {leave_out}")
        write_book(self.book, opf="<package><metadata/></package>")
        self.protect_refused("has no manifest")
        write_book(self.book, opf="<package><manifest>")
        self.protect_refused("OPS/package.opf is no good XML")
        write_book(self.book, leave_out=("META-INF/container.xml",),
                   more=[("META-INF/container.xml", "<container/>")])
        self.protect_refused("names no package document")

    def test_missing_mimetype_is_told_and_mended(self):
        write_book(self.book, leave_out=("mimetype",))
        done = self.run_verb("protect", self.book, self.protected)
        self.assertEqual(done.returncode, 0)
        self.assertIn("its first file is to be mimetype", done.stderr)
        epub_lcp.read(self.protected, PASSPHRASE)

    def test_names_that_lead_out(self):
        for name in ("../evil", "/etc/evil", "OPS/../../evil", "OPS\\evil", "C:evil", "a\nb"):
            entry = zipfile.ZipInfo("x")
            entry.filename = name
            write_book(self.book, more=[(entry, b"x")])
            self.protect_refused("leads out of a book")

    def test_names_that_stand_twice(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write_book(self.book, more=[("OPS/nav.xhtml", b"other")])
        self.protect_refused("has two entries named OPS/nav.xhtml")

    def test_bombs(self):
        write_book(self.book, more=[("OPS/bomb.txt", b"\0" * (20 << 20))])
        self.protect_refused("OPS/bomb.txt would grow from", "a bomb")
        # Says that it is small, and is not.
        write_book(self.book, more=[("OPS/bomb.txt", b"\0" * (1 << 20))])
        data = self.book.read_bytes().replace(struct.pack("<I", 1 << 20), struct.pack("<I", 1000))
        self.book.write_bytes(data)
        self.protect_refused("OPS/bomb.txt is damaged")

    def test_damage(self):
        write_book(self.book, method=zipfile.ZIP_STORED)
        data = bytearray(self.book.read_bytes())
        at = data.index(noise(100_000)[:1000]) + 500
        data[at] ^= 1
        self.book.write_bytes(data)
        self.protect_refused("OPS/audio.mp3 is damaged")

    def test_bytes_behind_a_deflated_entry(self):
        """Stored there as they are, they would come back as damage."""
        for words in (b"few words", b"".join(b"%d words " % i for i in range(1_400_000))):
            deflater = zlib.compressobj(wbits=-15)
            stored = deflater.compress(words) + deflater.flush() + b"behind"
            write_book(self.book, method=zipfile.ZIP_STORED, more=[("OPS/words.txt", stored)])
            data = bytearray(self.book.read_bytes())
            for mark, method, behind in ((b"PK\3\4", 8, stored),
                                         (b"PK\1\2", 10, b"OPS/words.txt")):
                at = data.rindex(mark, 0, data.rindex(behind))
                struct.pack_into("<H", data, at + method, 8)
                struct.pack_into("<I", data, at + method + 6, zlib.crc32(words))
                struct.pack_into("<I", data, at + method + 14, len(words))
            self.book.write_bytes(data)
            self.assertEqual(contents_of(self.book)["OPS/words.txt"], words)
            self.protect_refused("OPS/words.txt is damaged")

    def test_zip_encryption_and_other_methods(self):
        write_book(self.book)
        subprocess.run(["zip", "-q", "-P", "x", "-r", self.book, "pass"], cwd=self.folder,
                       check=True)
        self.protect_refused("pass is encrypted by ZIP")
        write_book(self.book, method=zipfile.ZIP_BZIP2)
        self.protect_refused("is compressed by method 12")

    def test_changed_lists_of_what_is_encrypted(self):
        write_book(self.book)
        self.protect()
        contents = contents_of(self.protected)
        listed = contents["META-INF/encryption.xml"].decode()
        aes = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
        begin = listed.index("<enc:EncryptedData")
        end = listed.index("</enc:EncryptedData>") + len("</enc:EncryptedData>")
        one = re.search('CipherReference URI="([^"]*)"', listed).group(1)
        for name, changed in (
                ("OPS/", listed[:begin] + "</encryption>"),
                ("OPS/", None),
                (urllib.parse.unquote(one), listed[:begin] + listed[end:]),
                (urllib.parse.unquote(one), listed.replace(aes, aes.replace("256", "128"), 1)),
                (urllib.parse.unquote(one),
                 listed.replace(aes, "http://www.idpf.org/2008/embedding")),
                ("META-INF/license.lcpl", re.sub('CipherReference URI="[^"]*"',
                                                 'CipherReference URI="META-INF/license.lcpl"',
                                                 listed)),
                ("OPS/gone", listed.replace(one, "OPS/gone"))):
            altered = dict(contents)
            if changed is None:
                del altered["META-INF/encryption.xml"]
            else:
                altered["META-INF/encryption.xml"] = changed.encode()
            book = write_contents(self.folder / "altered.epub", altered, zipfile.ZIP_DEFLATED)
            done = self.run_verb("unprotect", book, self.opened)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"altered.epub: {name}", done.stderr)
            self.assertFalse(self.opened.exists())

    def test_already_protected(self):
        write_book(self.book)
        self.protect()
        done = self.run_verb("protect", self.protected, self.opened)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is protected by a licence already", done.stderr)
        self.assertFalse(self.opened.exists())
        self.protected.unlink()
        other = ('<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
                 '<e:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>'
                 '<e:CipherData><e:CipherReference URI="OPS/audio.mp3"/></e:CipherData>'
                 "</e:EncryptedData></encryption>")
        write_book(self.book, more=[("META-INF/encryption.xml", other)])
        self.protect_refused("OPS/audio.mp3 is encrypted by another system already")
        self.refused(self.run_verb("unprotect", self.book, self.opened), "has no META-INF/license")


if __name__ == "__main__":
    unittest.main()
