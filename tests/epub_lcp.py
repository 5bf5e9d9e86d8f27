"""An independent reader of books under Readium LCP's basic profile: the standard library, and
openssl for what it lacks. Shares nothing with tabane."""

import base64
import datetime
import hashlib
import json
import pathlib
import subprocess
import tempfile
import urllib.parse
import xml.etree.ElementTree as ElementTree
import zipfile
import zlib

ENC = "{http://www.w3.org/2001/04/xmlenc#}"
DS = "{http://www.w3.org/2000/09/xmldsig#}"
COMPRESSION = "{http://www.idpf.org/2016/encryption#compression}Compression"
AES = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
OBFUSCATIONS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
LICENCE, ENCRYPTION = "META-INF/license.lcpl", "META-INF/encryption.xml"


def openssl(*arguments, data=b""):
    done = subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.decode())
    return done.stdout


def decrypt(key, data):
    """AES-256-CBC: the IV in front, the length of the padding in the last byte."""
    if len(data) < 32 or len(data) % 16:
        raise ValueError("not whole blocks")
    plain = openssl("enc", "-d", "-aes-256-cbc", "-nopad", "-K", key.hex(), "-iv", data[:16].hex(),
                    data=data[16:])
    if not 1 <= plain[-1] <= 16:
        raise ValueError("the padding is wrong")
    return plain[:-plain[-1]]


def encrypt(key, iv, data):
    pad = 16 - len(data) % 16
    return iv + openssl("enc", "-aes-256-cbc", "-nopad", "-K", key.hex(), "-iv", iv.hex(),
                        data=data + b"\xa5" * (pad - 1) + bytes([pad]))


def canonical(licence):
    rest = {key: value for key, value in licence.items() if key != "signature"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def check_signature(licence):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "der").write_bytes(base64.b64decode(licence["signature"]["certificate"]))
        (folder / "value").write_bytes(base64.b64decode(licence["signature"]["value"]))
        (folder / "key").write_bytes(
            openssl("x509", "-inform", "DER", "-in", folder / "der", "-pubkey", "-noout"))
        openssl("dgst", "-sha256", "-verify", folder / "key", "-signature", folder / "value",
                data=canonical(licence))


def read(path, passphrase):
    """{name: content} of every file of a protected book but licence and list; ValueError,
    KeyError or AssertionError for what the specification forbids."""
    user_key = hashlib.sha256(passphrase.encode()).digest()
    with zipfile.ZipFile(path) as book:
        first = book.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        assert not first.extra and book.read("mimetype") == b"application/epub+zip"
        assert len(set(book.namelist())) == len(book.namelist())
        licence = json.loads(book.read(LICENCE))
        assert licence["encryption"]["profile"] == "http://readium.org/lcp/basic-profile"
        assert {link["rel"] for link in licence["links"]} >= {"hint", "publication"}
        datetime.datetime.fromisoformat(licence["issued"].replace("Z", "+00:00"))
        check_signature(licence)
        user, content = licence["encryption"]["user_key"], licence["encryption"]["content_key"]
        assert user["algorithm"] == "http://www.w3.org/2001/04/xmlenc#sha256"
        assert content["algorithm"] == AES
        if decrypt(user_key, base64.b64decode(user["key_check"])) != licence["id"].encode():
            raise ValueError("another passphrase")
        key = decrypt(user_key, base64.b64decode(content["encrypted_value"]))
        assert len(key) == 32
        contents = {name: book.read(name) for name in book.namelist()
                    if name not in (LICENCE, ENCRYPTION) and not name.endswith("/")}
        for data in ElementTree.fromstring(book.read(ENCRYPTION)).iter(ENC + "EncryptedData"):
            if data.find(ENC + "EncryptionMethod").get("Algorithm") in OBFUSCATIONS:
                continue
            retrieval = data.find(f"{DS}KeyInfo/{DS}RetrievalMethod")
            assert retrieval.get("URI") == "license.lcpl#/encryption/content_key"
            assert retrieval.get("Type") == "http://readium.org/2014/01/lcp#EncryptedContentKey"
            assert data.find(ENC + "EncryptionMethod").get("Algorithm") == AES
            uri = data.find(f"{ENC}CipherData/{ENC}CipherReference").get("URI")
            name = urllib.parse.unquote(uri)
            assert urllib.parse.quote(name, safe="/") == uri
            assert book.getinfo(name).compress_type == zipfile.ZIP_STORED
            plain = decrypt(key, contents[name])
            compression = next(data.iter(COMPRESSION))
            if compression.get("Method") == "8":
                inflater = zlib.decompressobj(-15)
                plain = inflater.decompress(plain) + inflater.flush()
                assert inflater.eof and not inflater.unused_data
            assert len(plain) == int(compression.get("OriginalLength"))
            contents[name] = plain
    return contents
