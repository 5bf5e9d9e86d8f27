"""tabane epub: licences, what they say, and what is refused of others."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
import epub_lcp
from epub_books import Case, contents_of, write_book, write_contents


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
        for text in ("Caf\u00e9 & more", "5 encrypted, 4 clear",
                     "NOT IN FORCE: ended on 2020-01-31", "The caf\u00e9's name",
                     "good, by CN=tabane test provider"):
            self.assertIn(text, shown.stdout)
        self.assertRegex(shown.stdout, r"valid until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")
        done = self.run_verb("unprotect", self.protected, self.opened)
        self.assertEqual(done.returncode, 0)
        self.assertIn("the rights of its licence ended on 2020-01-31", done.stderr)
        done = self.run_verb("protect", self.book, self.protected, "--force", "--start",
                             "2090-01-31T00:00:00+09:00")
        self.assertIn("NOT IN FORCE: begin only on", self.epub("inspect", self.protected).stdout)

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
        licence = json.loads(data[epub_lcp.LICENCE])
        changed = change(licence)
        data[epub_lcp.LICENCE] = (json.dumps(licence) if changed is None else changed).encode()
        return self.altered(data)

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
            write_contents(altered, {**data, name: content})
            self.refused(self.run_verb("unprotect", altered, self.opened), "is damaged", name)

    def test_a_list_that_is_nested_too_deep(self):
        write_book(self.book)
        self.protect()
        data = contents_of(self.protected)
        deep = b"<a>" * 1_000_000 + b"</a>" * 1_000_000
        data[epub_lcp.ENCRYPTION] = data[epub_lcp.ENCRYPTION].replace(
            b"</enc:EncryptedData>", deep + b"</enc:EncryptedData>", 1)
        self.refused(self.run_verb("unprotect", self.altered(data), self.opened),
                     "is nested more than")


if __name__ == "__main__":
    unittest.main()
