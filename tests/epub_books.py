"""What the tests of epub share: books and their contents. Takes the program from the arguments."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import epub_lcp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
import tool_case
from tool_case import TABANE

PASSPHRASE = "correct horse battery"
EPUBCHECK = "/usr/share/java/epubcheck.jar"
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


def write_contents(path, contents, method=zipfile.ZIP_STORED):
    """The reverse of contents_of()."""
    with zipfile.ZipFile(path, "w", method) as book:
        for name, content in contents.items():
            book.writestr(name, content)
    return path


def epubcheck(path):
    """{(severity, message)}, or None where it cannot be run."""
    if shutil.which("java") is None or not os.path.exists(EPUBCHECK):
        return None
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        # What runs once for a few seconds is not worth Java's second compiler.
        subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", EPUBCHECK,
                        path, "--quiet", "--json", report],
                       capture_output=True, timeout=120, check=False)
        return {(m["severity"], m["ID"]) for m in json.loads(report.read_text())["messages"]}


class Case(tool_case.Case):
    tool = "epub"

    def setUp(self):
        super().setUp()
        self.book = self.folder / "book.epub"
        self.protected = self.folder / "protected.epub"
        self.opened = self.folder / "opened.epub"
        self.passphrase = self.folder / "pass"
        self.passphrase.write_text(PASSPHRASE + "\n")
        self.passphrase.chmod(0o600)

    def epub(self, *arguments, **options):
        return self.run_tool(*arguments, start_new_session=True, **options)

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

    def altered(self, contents):
        """A book with these contents, in the protected one's place."""
        self.protected.unlink()
        return write_contents(self.folder / "altered.epub", contents, zipfile.ZIP_DEFLATED)

    def refused(self, done, *texts, code=1):
        self.assertEqual(done.returncode, code, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        left = {path.name for path in self.folder.rglob("*")}
        self.assertFalse({"protected.epub", "opened.epub"} & left, left)
        self.assertFalse([name for name in left if name.startswith(".tabane-")], left)
