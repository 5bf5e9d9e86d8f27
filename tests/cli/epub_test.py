"""tabane epub: what it makes is read by an independent script and by epubcheck, and comes back
byte for byte; and what it refuses."""

import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import epub_lcp  # noqa: E402  (found by the path above)

TABANE = sys.argv.pop(1)
PASSPHRASE = "correct horse battery"
EPUBCHECK = "/usr/share/java/epubcheck.jar"
# What epubcheck says of what it cannot decrypt: the resource itself, fragments inside it, and, in
# its version 4.2, style sheets.
ENCRYPTED_TO_EPUBCHECK = {"RSC-004", "RSC-012", "PKG-008"}
# Starts a program from a small one: a peak begins at that of the program that it was started from.
PEAK_KIB = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="{}" media-type="application/oebps-package+xml"/></rootfiles></container>"""
PACKAGE = """<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:x:1</dc:identifier>
<dc:title>Caf\u00e9 &amp; more</dc:title><dc:language>en</dc:language>
<meta property="dcterms:modified">2026-01-01T00:00:00Z</meta></metadata>
<manifest>{}</manifest><spine><itemref idref="c"/></spine></package>"""
PAGE = """<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">
<head><title>{0}</title></head><body>{1}</body></html>"""
NAV = PAGE.format("Nav", '<nav epub:type="toc"><ol><li><a href="a%20b/caf%C3%A9.xhtml">One</a></li>'
                  "</ol></nav>")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944"
                    "4154789c63f8cfc000000301010018dd8db00000000049454e44ae426082")


def noise(size, seed=1):
    block = bytes((i * i * 7 + seed * 31 + (i >> 8)) % 251 for i in range(65536))
    return (block * (size // 65536 + 1))[:size]


# name: (id, media type, properties, content)
RESOURCES = {
    "OPS/nav.xhtml": ("nav", "application/xhtml+xml", "nav", NAV.encode()),
    "OPS/a b/caf\u00e9.xhtml": ("c", "application/xhtml+xml", "",
                                PAGE.format("One", "<p>Text</p>" * 2000).encode()),
    "OPS/cover.png": ("cover", "image/png", "cover-image", PNG),
    "OPS/deep/er/pixel.png": ("p", "image/png", "", PNG + b"\0" * 40),
    "OPS/audio.mp3": ("m", "audio/mpeg", "", noise(100_000)),
    "OPS/font.otf": ("f", "font/otf", "", noise(30_000, 2)),
    "OPS/empty.css": ("e", "text/css", "", b""),
}
CLEAR = {"mimetype", "META-INF/container.xml", "OPS/package.opf", "OPS/nav.xhtml", "OPS/cover.png"}


def quote(path):
    return path.replace(" ", "%20").replace("\u00e9", "%C3%A9")


def write_book(path, resources=None, method=zipfile.ZIP_DEFLATED, more=(), leave_out=(), opf=None):
    """more: (name or ZipInfo, content) pairs."""
    resources = RESOURCES if resources is None else resources
    items = "".join(f'<item id="{i}" href="{quote(name)[4:]}" media-type="{t}"'
                    + (f' properties="{p}"' if p else "") + "/>"
                    for name, (i, t, p, _) in resources.items())
    contents = {"mimetype": b"application/epub+zip",
                "META-INF/container.xml": CONTAINER.format("OPS/package.opf").encode(),
                "OPS/package.opf": (opf or PACKAGE.format(items)).encode(),
                **{name: content for name, (*_, content) in resources.items()}}
    with zipfile.ZipFile(path, "w", method) as book:
        for name, content in contents.items():
            if name not in leave_out:
                book.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else method)
        for name, content in more:
            book.writestr(name, content)
    return path


def contents_of(path):
    with zipfile.ZipFile(path) as book:
        return {name: book.read(name) for name in book.namelist() if not name.endswith("/")}


def epubcheck(path):
    """{(severity, message)}, or None where it cannot be run."""
    if shutil.which("java") is None or not os.path.exists(EPUBCHECK):
        return None
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        subprocess.run(["java", "-jar", EPUBCHECK, path, "--quiet", "--json", report],
                       capture_output=True, timeout=120, check=False)
        return {(m["severity"], m["ID"]) for m in json.loads(report.read_text())["messages"]}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.book = self.folder / "book.epub"
        self.protected = self.folder / "protected.epub"
        self.opened = self.folder / "opened.epub"
        self.passphrase = self.folder / "pass"
        self.passphrase.write_text(PASSPHRASE + "\n")
        self.passphrase.chmod(0o600)

    def epub(self, *arguments, **options):
        return subprocess.run([TABANE, "epub", *map(str, arguments)], capture_output=True,
                              text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
                              start_new_session=True, **options)

    def run_verb(self, verb, book, out, *more):
        return self.epub(verb, book, "-o", out, "--passphrase-file", self.passphrase, *more)

    def protect(self, *more):
        done = self.run_verb("protect", self.book, self.protected, *more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done

    def assert_comes_back(self):
        """The protected book is what the specification says, and opens to the same files."""
        plain = contents_of(self.book)
        plain.pop("META-INF/encryption.xml", None)
        self.assertEqual(epub_lcp.read(self.protected, PASSPHRASE), plain)
        done = self.run_verb("unprotect", self.protected, self.opened)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(contents_of(self.opened), contents_of(self.book))
        self.assertEqual(subprocess.run(["unzip", "-tqq", self.opened], check=False).returncode, 0)

    def refused(self, done, *texts, code=1):
        self.assertEqual(done.returncode, code, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        left = {path.name for path in self.folder.rglob("*")}
        self.assertFalse({"protected.epub", "opened.epub"} & left, left)
        self.assertFalse([name for name in left if name.startswith(".tabane-")], left)


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
        messages = epubcheck(self.book)
        if messages is None:
            self.skipTest("epubcheck was not found")
        self.assertEqual(messages, set())
        self.assertEqual(epubcheck(self.opened), set())
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
        with zipfile.ZipFile(self.protected, "w", zipfile.ZIP_DEFLATED) as book:
            for name, content in data.items():
                book.writestr(name, content)
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


class Licences(Case):
    def test_terms_are_in_the_licence_and_shown(self):
        write_book(self.book)
        self.protect("--hint", "The caf\u00e9's name", "--user", "u-1", "--end", "2020-01-31",
                     "--print", "3", "--copy", "200", "--provider", "https://books.example")
        licence = json.loads(contents_of(self.protected)[epub_lcp.LICENCE])
        self.assertEqual(licence["rights"], {"end": "2020-01-31T00:00:00Z", "print": 3,
                                             "copy": 200})
        self.assertEqual((licence["user"], licence["provider"]),
                         ({"id": "u-1"}, "https://books.example"))
        epub_lcp.check_signature(licence)
        shown = self.epub("inspect", self.protected)
        self.assertEqual(shown.returncode, 0)
        for text in ("Caf\u00e9 & more", "5 encrypted, 4 clear", "THEY ended on 2020-01-31",
                     "The caf\u00e9's name", "good, by CN=tabane test provider"):
            self.assertIn(text, shown.stdout)
        done = self.run_verb("unprotect", self.protected, self.opened)
        self.assertEqual(done.returncode, 0)
        self.assertIn("the rights of its licence ended on 2020-01-31", done.stderr)
        done = self.run_verb("protect", self.book, self.protected, "--force", "--start",
                             "2090-01-31T00:00:00+09:00")
        self.assertIn("THEY begin only on", self.epub("inspect", self.protected).stdout)

    def test_a_provider_of_the_users(self):
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        epub_lcp.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
                         certificate, "-subj", "/CN=Ann's books")
        write_book(self.book)
        self.protect("--certificate", certificate, "--private-key", key)
        self.assertIn("CN=Ann's books", self.epub("inspect", self.protected).stdout)
        self.assert_comes_back()
        key.chmod(0o644)
        done = self.run_verb("protect", self.book, self.protected, "--force", "--certificate",
                             certificate, "--private-key", key)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"others may have access to {key}", done.stderr)
        self.protected.unlink()
        self.opened.unlink()
        other = self.folder / "other.pem"
        other.write_bytes(epub_lcp.openssl("genrsa", "2048"))
        for wrong, text in ((other, "is not the key of"), (certificate, "holds no RSA key")):
            self.refused(self.run_verb("protect", self.book, self.protected, "--certificate",
                                       certificate, "--private-key", wrong), text, code=2)
        self.refused(self.run_verb("protect", self.book, self.protected, "--certificate", key,
                                   "--private-key", key), "holds no certificate", code=2)
        self.refused(self.run_verb("protect", self.book, self.protected, "--private-key", key),
                     "go together", code=2)

    def change_licence(self, change):
        data = contents_of(self.protected)
        self.protected.unlink()
        licence = json.loads(data[epub_lcp.LICENCE])
        changed = change(licence)
        data[epub_lcp.LICENCE] = (json.dumps(licence) if changed is None else changed).encode()
        altered = self.folder / "altered.epub"
        with zipfile.ZipFile(altered, "w") as book:
            for name, content in data.items():
                book.writestr(name, content)
        return altered

    def test_altered_licences(self):
        write_book(self.book)
        elliptic = epub_lcp.base64.b64encode(epub_lcp.openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", self.folder / "ec.pem", "-outform", "DER", "-subj", "/CN=x")).decode()
        for change, text in (
                (lambda l: l["rights"].update(end="2099-01-01"), "was altered after it was signed"),
                (lambda l: l["signature"].update(value="AAAA"), "was altered after it was signed"),
                (lambda l: l["signature"].update(certificate="AAAA"), "certificate cannot be read"),
                (lambda l: l.pop("signature") and None, "there is none"),
                (lambda l: l["encryption"].update(profile="http://readium.org/lcp/profile-1.0"),
                 "only certified readers"),
                (lambda l: l.pop("id") and None, "is no licence: it lacks"),
                (lambda l: "[1]", "is not JSON"),
                (lambda l: "{" * 100_000, "is not JSON"),
                (lambda l: '{"a":' + "[" * 400_000 + "]" * 400_000 + "," + json.dumps(l)[1:],
                 "nested too deep"),
                (lambda l: l["signature"].update(certificate=elliptic), "has no RSA key")):
            with self.subTest(text=text):
                self.protect()
                altered = self.change_licence(change)
                self.refused(self.run_verb("unprotect", altered, self.opened), text)
                self.assertIn(self.epub("inspect", altered).returncode, (1, 4))

    def test_wrong_passphrase(self):
        write_book(self.book)
        self.protect("--hint", "it has a horse")
        self.passphrase.write_text("another one\n")
        done = self.run_verb("unprotect", self.protected, self.opened)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the passphrase is not the one of its licence; its hint is: it has a horse",
                      done.stderr)
        shown = self.epub("inspect", self.protected, "--passphrase-file", self.passphrase)
        self.assertEqual(shown.returncode, 4)
        self.assertIn("DOES NOT OPEN IT", shown.stdout)

    def test_altered_resources(self):
        write_book(self.book)
        self.protect()
        name = "OPS/a b/caf\u00e9.xhtml"
        data = contents_of(self.protected)
        self.protected.unlink()
        altered = self.folder / "altered.epub"
        for content in (data[name][:-16], data[name][:-1], b"", data[name][:40] + b"\0" * 40):
            with zipfile.ZipFile(altered, "w") as book:
                for each, was in data.items():
                    book.writestr(each, content if each == name else was)
            self.refused(self.run_verb("unprotect", altered, self.opened), "is damaged", name)


    def test_a_list_that_is_nested_too_deep(self):
        write_book(self.book)
        self.protect()
        data = contents_of(self.protected)
        self.protected.unlink()
        deep = b"<a>" * 1_000_000 + b"</a>" * 1_000_000
        data[epub_lcp.ENCRYPTION] = data[epub_lcp.ENCRYPTION].replace(
            b"</enc:EncryptedData>", deep + b"</enc:EncryptedData>", 1)
        altered = self.folder / "altered.epub"
        with zipfile.ZipFile(altered, "w", zipfile.ZIP_DEFLATED) as book:
            for name, content in data.items():
                book.writestr(name, content)
        self.refused(self.run_verb("unprotect", altered, self.opened), "is nested more than")


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
        self.protect_refused("is not a ZIP file")
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

    def test_outputs(self):
        write_book(self.book)
        self.refused(self.run_verb("protect", self.book, self.book), "is the book", code=2)
        self.refused(self.run_verb("protect", self.book, self.book, "--force"), "is the book",
                     code=2)
        for wrong, text in (("-", "not a stream"), ("/dev/null", "is not a regular file")):
            self.refused(self.run_verb("protect", self.book, wrong, "--force"), text, code=2)
        for wrong in (("--print", "-3"), ("--copy", "x"), ("--end", "2026-02-30"),
                      ("--start", "2026-02-03", "--end", "2026-02-03"), ("--threads", "0")):
            self.refused(self.run_verb("protect", self.book, self.protected, *wrong), wrong[0],
                         code=2)
        self.opened.write_bytes(b"mine")
        done = self.run_verb("protect", self.book, self.opened)
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists; --force replaces it", done.stderr)
        self.assertEqual(self.opened.read_bytes(), b"mine")
        self.opened.unlink()
        other = self.folder / "other"
        other.mkdir()
        twin = write_book(other / "book.epub")
        done = self.epub("protect", self.book, twin, "-o", self.folder / "out",
                         "--passphrase-file", self.passphrase)
        self.refused(done, "would both become", code=2)
        self.assertFalse((self.folder / "out").exists())
        for wrong, text in (("", "-o: the new book needs a name"), (other / "link", "regular")):
            (other / "link").unlink(missing_ok=True)
            (other / "link").symlink_to("nowhere")
            self.refused(self.run_verb("protect", self.book, wrong, "--force"), text, code=2)
        for wrong in ("", f"{self.book}/"):
            self.refused(self.run_verb("protect", wrong, self.folder / "out"),
                         f'BOOK "{wrong}": is not the name of a file', code=2)
        alias = self.folder / "alias"
        alias.symlink_to(twin)
        self.refused(self.epub("protect", self.book, alias, "-o", other, "--force",
                               "--passphrase-file", self.passphrase), "is the book", code=2)
        self.refused(self.run_verb("protect", self.book, self.folder / "no" / "where.epub"),
                     "No such file")

    def test_no_terminal_for_a_passphrase(self):
        write_book(self.book)
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

    def stopped_by(self, signal_number):
        with subprocess.Popen([TABANE, "epub", "protect", self.book, "-o", self.protected,
                               "--passphrase-file", self.passphrase, "-t", "1"],
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True, text=True) as running:
            while not list(self.folder.glob(".tabane-*")) and running.poll() is None:
                time.sleep(0.001)
            running.send_signal(signal_number)
            _, told = running.communicate(timeout=60)
        return running, told

    def test_stop_leaves_no_half_written_book(self):
        resources = dict(RESOURCES)
        for i in range(30):
            resources[f"OPS/{i}.mp3"] = (f"m{i}", "audio/mpeg", "", noise(12 << 20, i))
        write_book(self.book, resources, zipfile.ZIP_STORED)
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            for _ in range(5):  # on a busy machine a signal may come too late
                running, told = self.stopped_by(signal_number)
                if running.returncode != 0:
                    break
                self.protected.unlink()
            self.assertEqual(running.returncode, -signal_number, told)
            self.assertIn("no half-written book was left", told)
            self.assertFalse(self.protected.exists())
            self.assertFalse(list(self.folder.glob(".tabane-*")))


if __name__ == "__main__":
    unittest.main()
