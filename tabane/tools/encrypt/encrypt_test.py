"""tabane encrypt, decrypt, verify and keygen as their users meet them."""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import CHUNK, SIZES, TABANE, Case, content, snapshot, tabane, without_home

OPENSSL = shutil.which("openssl")
CIPHERS = ("aes-256-gcm", "aes-128-cbc", "aes-256-cbc")
IV = "000102030405060708090a0b0c0d0e0f"


class RoundTrip(Case):
    def test_of_a_tree_gives_the_same_tree(self):
        self.make_tree()
        for cipher in CIPHERS:
            for more in ([], ["-t", "1"], ["-t", "3"], ["--engine", "openssl"], ["--fsync"]):
                with self.subTest(cipher=cipher, more=more):
                    for folder in (self.sealed, self.opened):
                        shutil.rmtree(folder, ignore_errors=True)
                    for verb, source, target in (("encrypt", self.plain, self.sealed),
                                                 ("decrypt", self.sealed, self.opened)):
                        self.run_ok(verb, *self.options(cipher), "--preserve", *more, source,
                                    target)
                    self.run_ok("verify", *self.options(cipher), self.sealed)
                    self.assertEqual(snapshot(self.opened), snapshot(self.plain))
                    for path, (_, _, _, data) in snapshot(self.plain).items():
                        if data and len(data) > 64:
                            self.assertNotIn(data[:48], snapshot(self.sealed)[path][3])

    def test_of_a_file_gives_the_same_file(self):
        for cipher in CIPHERS:
            for size in SIZES:
                with self.subTest(cipher=cipher, size=size):
                    self.plain.write_bytes(content(size))
                    self.plain.chmod(0o604)
                    self.run_ok("encrypt", *self.options(cipher), "--force", self.plain,
                                self.sealed)
                    self.run_ok("decrypt", *self.options(cipher), "--force", "--preserve",
                                self.sealed, self.opened)
                    self.assertEqual(self.opened.read_bytes(), content(size))
                    self.assertEqual(stat.S_IMODE(self.opened.stat().st_mode), 0o604)
                    self.assertEqual(self.opened.stat().st_mtime_ns,
                                     self.plain.stat().st_mtime_ns)

    def test_of_a_passphrase_in_a_file(self):
        self.make_tree()
        secret = self.folder / "passphrase"
        secret.write_text("correct horse\nsecond line\n")
        other = self.folder / "other"
        other.write_text("correct horse\r\n")
        self.run_ok("encrypt", "--passphrase-file", secret, self.plain, self.sealed)
        self.run_ok("decrypt", "--passphrase-file", other, "--preserve", self.sealed, self.opened)
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def test_with_any_key_that_keygen_makes(self):
        self.plain.write_bytes(b"text")
        key = self.folder / "new"
        self.run_ok("keygen", key)
        self.run_ok("encrypt", "--key-file", key, self.plain, self.sealed)
        hexadecimal = self.make_key("hexadecimal", 0)
        hexadecimal.write_text(key.read_bytes().hex() + "\n")
        self.run_ok("decrypt", "--key-file", hexadecimal, self.sealed, self.opened)
        self.assertEqual(self.opened.read_bytes(), b"text")

    def test_of_unusual_names(self):
        self.plain.mkdir()
        names = [b"new\nline", b"\xff\xfe", b"n" * 255, b"-rf", b"a b", b"\x1b[2J", b"'\"$(x)",
                 "漢字".encode(), b"*", b".hidden"]
        root = os.fsencode(self.plain)
        for name in names:
            os.mkdir(os.path.join(root, b"d" + name[1:]))
            for folder in (b".", b"d" + name[1:]):
                pathlib.Path(os.fsdecode(os.path.join(root, folder, name))).write_bytes(name)
        self.encrypt()
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))
        self.assertEqual(len(snapshot(self.opened)), 3 * len(names))

    def test_of_an_empty_directory(self):
        self.plain.mkdir()
        self.encrypt()
        self.assertEqual(without_home(snapshot(self.sealed)), {})
        self.run_ok("verify", *self.options(), self.sealed)

    def test_of_paths_longer_than_the_system_takes_at_once(self):
        self.plain.mkdir()
        here = os.open(self.plain, os.O_RDONLY)
        for _ in range(20):
            os.mkdir("d" * 250, dir_fd=here)
            deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = deeper
        with open(os.open("deep", os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
            file.write(b"text")
        os.close(here)
        self.addCleanup(subprocess.run, ["rm", "-rf", self.plain, self.sealed, self.opened])
        self.encrypt()
        self.decrypt()
        compare = subprocess.run(["find", ".", "-name", "deep", "-size", "4c"], cwd=self.opened,
                                 capture_output=True)
        self.assertTrue(compare.stdout.endswith(b"/deep\n"), compare)


class Modes(Case):
    """The mode of a sealed file is not authenticated."""

    def modes(self, root):
        return {path: entry[1] for path, entry in without_home(snapshot(root)).items()}

    def test_of_decrypted_files_open_them_to_nobody(self):
        self.make_tree()
        self.encrypt()
        for path, mode in (("f0", 0o4755), ("f1", 0o777), ("a/f2", 0o2666), ("a", 0o1777),
                           ("a/b", 0o2777), ("empty", 0o555)):
            (self.sealed / path).chmod(mode)
        result = tabane("decrypt", "--without-manifest", *self.options(), self.sealed, self.opened,
                        umask=0)
        self.assertEqual(result.returncode, 0, result.stderr)
        for path, mode in self.modes(self.opened).items():
            self.assertEqual(mode, self.modes(self.sealed)[path] & 0o700, path)
        shutil.rmtree(self.opened)
        result = tabane("decrypt", *self.options(), self.sealed, self.opened, umask=0o027)
        self.assertEqual(result.returncode, 0, result.stderr)
        for path, mode in self.modes(self.opened).items():
            self.assertEqual(mode, self.modes(self.plain)[path] & 0o750, path)
        result = tabane("decrypt", *self.options(), "--force", self.sealed / "f0",
                        self.opened / "f0", umask=0o277)
        self.assertEqual(stat.S_IMODE((self.opened / "f0").stat().st_mode), 0o500)

    def test_of_sealed_files_have_no_special_bits(self):
        self.make_tree()
        (self.plain / "f0").chmod(0o6755)
        (self.plain / "a").chmod(0o3777)
        self.encrypt()
        for path, mode in self.modes(self.sealed).items():
            self.assertEqual(mode, self.modes(self.plain)[path] & 0o777, path)

    def test_are_preserved_if_asked(self):
        self.make_tree()
        (self.plain / "f0").chmod(0o6755)
        (self.plain / "a").chmod(0o1777)
        self.encrypt("--preserve")
        self.decrypt("--preserve")
        self.assertEqual(self.modes(self.sealed), self.modes(self.plain))
        self.assertEqual(self.modes(self.opened), self.modes(self.plain))


@unittest.skipUnless(OPENSSL, "there is no openssl program")
class OpenSsl(Case):
    def openssl(self, direction, cipher, key, iv, data):
        return subprocess.run(
            [OPENSSL, "enc", direction, "-" + cipher, "-K", key.read_bytes().hex(), "-iv", iv],
            input=data, capture_output=True, check=True).stdout

    def test_makes_the_same_files_with_a_fixed_iv(self):
        for cipher, key in (("aes-128-cbc", self.key16), ("aes-256-cbc", self.key)):
            for size in SIZES:
                with self.subTest(cipher=cipher, size=size):
                    self.plain.write_bytes(content(size))
                    self.run_ok("encrypt", *self.options(cipher), "--iv", IV, "--force",
                                self.plain, self.sealed)
                    theirs = self.openssl("-e", cipher, key, IV, content(size))
                    self.assertEqual(self.sealed.read_bytes(), theirs)
                    self.sealed.write_bytes(theirs)
                    self.run_ok("decrypt", *self.options(cipher), "--iv", IV.upper(), "--force",
                                self.sealed, self.opened)
                    self.assertEqual(self.opened.read_bytes(), content(size))

    def test_opens_files_that_begin_with_their_iv(self):
        for cipher, key in (("aes-128-cbc", self.key16), ("aes-256-cbc", self.key)):
            for size in SIZES:
                with self.subTest(cipher=cipher, size=size):
                    self.plain.write_bytes(content(size))
                    self.run_ok("encrypt", *self.options(cipher), "--force", self.plain,
                                self.sealed)
                    data = self.sealed.read_bytes()
                    self.assertEqual(
                        self.openssl("-d", cipher, key, data[:16].hex(), data[16:]),
                        content(size))

    def test_makes_files_that_are_opened(self):
        for cipher, key in (("aes-128-cbc", self.key16), ("aes-256-cbc", self.key)):
            with self.subTest(cipher=cipher):
                self.sealed.write_bytes(bytes.fromhex(IV) +
                                        self.openssl("-e", cipher, key, IV, content(100000)))
                self.run_ok("decrypt", *self.options(cipher), "--force", self.sealed,
                            self.opened)
                self.assertEqual(self.opened.read_bytes(), content(100000))


class Coprocessor(Case):
    """Where there is one, files are those of the other engines; where not, the reason is told."""

    def encrypt_on(self, device, *more, **variables):
        environment = {**os.environ, **variables}
        return tabane("encrypt", *self.options("aes-128-cbc"), "--iv", IV, "--engine",
                      "opencl" + device, *more, self.plain, self.sealed, env=environment)

    def test_writes_the_same_files(self):
        self.make_tree()
        result = self.encrypt_on("")
        if b"there is no OpenCL device" in result.stderr:
            self.skipTest(result.stderr.decode())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b", opencl\n", result.stdout)
        other = self.folder / "other"
        self.run_ok("encrypt", *self.options("aes-128-cbc"), "--iv", IV, "--engine", "openssl",
                    self.plain, other)
        self.assertEqual(snapshot(self.sealed), snapshot(other))
        self.assertEqual(self.encrypt_on(":0", "--force").returncode, 0)
        result = self.encrypt_on(":abacus", "--force")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"no OpenCL device abacus, only 0: ", result.stderr)

    def test_is_not_there_without_its_module_or_a_driver(self):
        self.make_tree()
        for part, variables in (
                ("libtabane_opencl.so, is not in /nowhere", {"TABANE_OPENCL_MODULE": "/nowhere"}),
                ("OpenCL", {"OCL_ICD_VENDORS": "/nowhere"})):
            result = self.encrypt_on("", **variables)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("there is no OpenCL device: ", result.stderr.decode())
            self.assertIn(part, result.stderr.decode())
            self.assertFalse(self.sealed.exists())

    def test_opens_what_the_cpu_has_sealed_and_the_reverse(self):
        self.make_tree()
        on_device, on_cpu = ["--engine", "opencl"], ["--engine", "openssl"]
        for seals, opens in ((on_device, on_cpu), (on_cpu, on_device)):
            result = tabane("encrypt", *self.options(), *seals, "--force", self.plain, self.sealed)
            if b"there is no OpenCL device" in result.stderr:
                self.skipTest(result.stderr.decode())
            self.assertEqual(result.returncode, 0, result.stderr)
            self.run_ok("verify", *self.options(), *opens, self.sealed)
            self.run_ok("decrypt", *self.options(), *opens, "--force", self.sealed, self.opened)
            self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def test_does_not_decrypt_chains_or_work_on_streams(self):
        self.make_tree()
        for verb in ("decrypt", "verify"):
            places = [self.plain] + [self.opened] * (verb == "decrypt")
            self.refused(2, "decrypts and verifies only aes-256-gcm", verb,
                         *self.options("aes-128-cbc"), "--engine", "opencl", *places)
        self.refused(2, "--engine opencl works on files", "encrypt", *self.options(), "--engine",
                     "opencl", "-", self.sealed)


class Usage(Case):
    def test_is_refused_where_it_cannot_be_meant(self):
        self.make_tree()
        gcm, cbc = self.options(), self.options("aes-128-cbc")
        both = [self.plain, self.sealed]
        for part, arguments in (
                ("OUT", ["encrypt", *gcm, self.plain]),
                ("--bogus", ["encrypt", *gcm, "--bogus", *both]),
                ("aes-256-gcm", ["encrypt", "--key-file", self.key, "--cipher", "rot13", *both]),
                ("ipsec-mb", ["encrypt", *gcm, "--engine", "abacus", *both]),
                ("--threads", ["encrypt", *gcm, "-t", "0", *both]),
                ("--threads", ["encrypt", *gcm, "-t", "many", *both]),
                ("--iv", ["encrypt", *gcm, "--iv", IV, *both]),
                ("--iv", ["encrypt", *cbc, "--iv", IV[1:], *both]),
                ("--iv", ["encrypt", *cbc, "--iv", IV[1:] + "g", *both]),
                ("--iv", ["encrypt", *cbc, "--iv", "", *both]),
                ("--key-file", ["encrypt", "--cipher", "aes-128-cbc", *both]),
                ("--key-file", ["encrypt", "--cipher", "aes-128-cbc", "--passphrase-file",
                                self.key, *both]),
                ("--key-file", ["encrypt", *gcm, "--passphrase-file", self.key, *both]),
                ("32 raw bytes", ["encrypt", "--key-file", self.key16, *both]),
                ("--resume", ["encrypt", *gcm, "--resume", "--force", *both]),
                ("--json", ["encrypt", *gcm, "--json=/nowhere/a.json", *both]),
                ("inside", ["encrypt", *gcm, self.plain, self.plain / "a" / "new"]),
                ("inside", ["encrypt", *gcm, self.plain / "a", self.plain]),
                ("OUT is IN", ["encrypt", *gcm, "--force", self.plain, self.plain / "a" / ".."]),
                ("OUT is IN", ["encrypt", *gcm, "--force", self.plain / "f0",
                               self.plain / "f0"]),
                ("sealed", ["verify", *gcm, *both])):
            with self.subTest(arguments):
                before = snapshot(self.folder)
                result = tabane(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(part.lower(), result.stderr.decode().lower())
                self.assertEqual(result.stdout, b"")
                self.assertEqual(snapshot(self.folder), before)

    def test_of_out_inside_in_by_a_link_is_refused(self):
        self.make_tree()
        (self.folder / "link").symlink_to(self.plain)
        self.refused(2, "inside", "encrypt", *self.options(), self.plain,
                     self.folder / "link" / "new")

    def test_of_an_input_that_is_not_there_fails(self):
        self.refused(1, "nowhere", "encrypt", *self.options(), self.folder / "nowhere",
                     self.sealed)
        self.refused(1, "nokey", "encrypt", "--key-file", self.folder / "nokey", self.folder,
                     self.sealed)

    def test_never_prints_control_characters_of_a_name(self):
        result = self.refused(1, "\\x1b[2J\\n", "encrypt", *self.options(),
                              self.folder / "\x1b[2J\n", self.sealed)
        self.assertNotIn(b"\x1b", result.stderr)

    def test_shows_examples_first(self):
        for verb in ("encrypt", "decrypt", "verify", "keygen", "rekey"):
            self.assertTrue(self.run_ok(verb, "--help").stdout.startswith(b"Examples:\n"))


class Key(Case):
    def test_that_is_wrong_is_told_and_nothing_is_written(self):
        self.make_tree()
        self.encrypt()
        wrong = self.make_key("wrong", 32, seed=8)
        for arguments in (["decrypt", "--key-file", wrong, self.sealed, self.opened],
                          ["verify", "--key-file", wrong, self.sealed],
                          ["encrypt", "--resume", "--key-file", wrong, self.plain, self.sealed]):
            with self.subTest(arguments):
                before = without_home(snapshot(self.sealed))
                self.refused(1, "key", *arguments)
                self.assertFalse(self.opened.exists())
                self.assertEqual(without_home(snapshot(self.sealed)), before)

    def test_of_the_other_kind_is_told(self):
        self.make_tree()
        secret = self.folder / "passphrase"
        secret.write_text("secret")
        self.encrypt()
        self.refused(1, "key file", "decrypt", "--passphrase-file", secret, self.sealed,
                     self.opened)
        self.assertFalse(self.opened.exists())

    def with_parameters(self, log2_n, p):
        """Options and a sealed file of a passphrase whose header asks for other parameters."""
        secret = self.folder / "passphrase"
        secret.write_text("correct horse")
        secret.chmod(0o600)
        self.plain.write_bytes(b"text")
        options = ["--passphrase-file", secret]
        self.run_ok("encrypt", *options, self.plain, self.sealed)
        header = bytearray(self.sealed.read_bytes())
        at = 96 + 4 + 2 + 3  # behind the fixed part, the length and number of slots, one's head
        self.assertEqual(tuple(header[at:at + 3]), (18, 8, 1))
        header[at], header[at + 2] = log2_n, p
        self.sealed.write_bytes(header)
        return options

    def test_that_a_header_makes_costly_is_refused_and_the_file_named(self):
        options = self.with_parameters(18, 16)
        result = self.refused(1, "sealed: at byte 100: ", "decrypt", *options, self.sealed,
                              self.opened)
        self.assertIn(b"--allow-costly-passphrase", result.stderr)

    def test_that_is_costly_is_derived_where_it_is_allowed(self):
        options = self.with_parameters(18, 5)
        self.refused(1, "--allow-costly-passphrase", "verify", *options, self.sealed)
        self.refused(1, "at byte 100: wrong key", "verify", "--allow-costly-passphrase", *options,
                     self.sealed)

    def test_that_is_being_derived_ends_with_the_program(self):
        options = self.with_parameters(18, 4)
        process = subprocess.Popen([TABANE, "verify", *map(str, options), str(self.sealed)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        resident = 0  # KiB; the program alone has far less than the derivation
        while process.poll() is None and resident < 100 << 10:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            resident = int((re.findall(r"VmRSS:\s*(\d+)", status) or [0])[0])
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, -signal.SIGTERM, errors)

    def test_that_is_weak_is_refused_or_warned_of(self):
        self.plain.write_bytes(b"text")
        for part, text in (("zeros", bytes(32)), ("zeros", b"0" * 64 + b"\n"),
                           ("half of a key", b"0123456789abcdef" * 2)):
            weak = self.make_key("weak", 0)
            weak.write_bytes(text)
            self.refused(2, part, "encrypt", "--key-file", weak, self.plain, self.sealed)
            self.assertFalse(self.sealed.exists())
        weak.write_bytes(b"x\n")
        result = self.run_ok("encrypt", "--passphrase-file", weak, self.plain, self.sealed)
        self.assertIn(b"warning: the passphrase has less than 8 bytes", result.stderr)
        weak.chmod(0o644)
        result = self.run_ok("verify", "--passphrase-file", weak, self.sealed)
        self.assertIn(b"warning: others may have access to", result.stderr)
        self.assertNotIn(b"guessed", result.stderr)

    def test_that_others_can_read_warns(self):
        self.plain.write_bytes(b"text")
        self.assertEqual(self.encrypt().stderr, b"")
        self.key.chmod(0o644)
        result = self.encrypt("--force", "-q")
        self.assertIn(b"warning", result.stderr)
        self.assertIn(os.fsencode(self.key), result.stderr)

    def test_is_never_in_a_message(self):
        self.make_tree()
        hexadecimal = self.key.read_bytes().hex()
        broken = self.make_key("broken", 0)
        broken.write_text(hexadecimal[:-1])
        result = self.refused(2, "broken", "encrypt", "--key-file", broken, self.plain,
                              self.sealed)
        self.assertNotIn(hexadecimal[:16], result.stderr.decode())

    def test_file_that_keygen_makes_is_private_and_new(self):
        new = self.folder / "new"
        result = tabane("keygen", new, umask=0)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, b"")
        self.assertIn(b"new", result.stderr)
        self.assertEqual(stat.S_IMODE(new.stat().st_mode), 0o600)
        first = new.read_bytes()
        self.assertEqual(len(first), 32)
        self.refused(1, "exists", "keygen", new)
        self.assertEqual(new.read_bytes(), first)
        self.run_ok("keygen", self.folder / "newer")
        self.assertNotEqual((self.folder / "newer").read_bytes(), first)
        self.refused(2, "FILE", "keygen")


class Warnings(Case):
    def test_say_once_that_cbc_does_not_authenticate(self):
        self.make_tree()
        for more in ([], ["--iv", IV]):
            cbc = [*self.options("aes-128-cbc"), *more]
            for verb, where in (("encrypt", [self.plain, self.sealed]),
                                ("decrypt", [self.sealed, self.opened]),
                                ("verify", [self.sealed])):
                result = self.run_ok(verb, "-q", *cbc, *where)
                text = result.stderr.decode()
                self.assertEqual(text.count("aes-128-cbc does not authenticate"), 1, text)
                self.assertEqual("padding" in text, verb == "verify")
            shutil.rmtree(self.sealed)
            shutil.rmtree(self.opened)


    def test_name_an_iv_that_files_share_and_what_verify_cannot_know(self):
        self.make_tree()
        cbc = [*self.options("aes-128-cbc"), "--iv", IV]
        shared = "share the initialisation vector"
        self.assertIn(shared, self.run_ok("encrypt", *cbc, self.plain,
                                          self.sealed).stderr.decode())
        one = self.run_ok("encrypt", *cbc, self.plain / "f1", self.folder / "one")
        self.assertNotIn(shared, one.stderr.decode())
        path = self.sealed / "a" / "f9"
        data = bytearray(path.read_bytes())
        data[1000] ^= 1
        path.write_bytes(data)
        self.assertIn(b"not known: whether the content was changed",
                      self.run_ok("verify", *cbc, self.sealed).stdout)
        record = json.loads(self.run_ok("verify", "--json", *cbc, self.sealed).stdout)
        self.assertFalse(record["authenticated"])
        self.assertEqual(len(record["warnings"]), 1)
        record = json.loads(self.run_ok("verify", "--json", *cbc, self.folder / "one").stdout)
        self.assertIn("does not authenticate", record["warnings"][0])


class Selection(Case):
    def test_takes_links_leaves_out_special_files_and_counts_them(self):
        self.make_tree()
        (self.plain / "link").symlink_to("f1")
        (self.plain / "a" / "away").symlink_to("/etc")
        os.mkfifo(self.plain / "fifo")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.plain / "socket"))
        result = self.encrypt()
        self.assertIn(b" files, 2 symbolic links, ", result.stdout)
        self.assertIn(b"left out: 2 special files", result.stdout)
        names = {os.path.basename(path) for path in snapshot(self.sealed)}
        self.assertFalse(names & {b"link", b"away", b"fifo", b"socket"})
        self.decrypt()
        self.assertEqual(os.readlink(self.opened / "link"), "f1")
        self.assertEqual(os.readlink(self.opened / "a" / "away"), "/etc")

    def test_reserves_no_name_of_a_users_file(self):
        names = (".tabane-0000000000000000.part", ".tabane-0123456789abcdef.part")
        for folder in (self.plain, self.plain / "a"):
            folder.mkdir(exist_ok=True)
            for name in (*names, "f"):
                (folder / name).write_bytes(os.urandom(100))
        for cipher in ("aes-256-gcm", "aes-128-cbc"):
            options = self.options(cipher)
            self.run_ok("encrypt", *options, self.plain, self.sealed)
            for again in (["--force"], ["--resume"], ["--update"]):
                if again == ["--update"] and cipher != "aes-256-gcm":
                    continue
                self.run_ok("encrypt", *options, *again, self.plain, self.sealed)
            for again in ([], ["--force"], ["--resume"]):
                done = self.run_ok("decrypt", *options, "--preserve", *again, self.sealed,
                                   self.opened)
                self.assertNotIn(b"left out", done.stdout + done.stderr)
                self.assertEqual(snapshot(self.opened), snapshot(self.plain))
            # What only OUT has is not a leftover by its name alone.
            mine = self.opened / "a" / ".tabane-00000000000000ff.part"
            mine.write_bytes(b"mine")
            for again in ("--force", "--resume"):
                told = self.run_ok("decrypt", *options, again, self.sealed, self.opened).stderr
                self.assertIn(b"OUT keeps a/.tabane-00000000000000ff.part, named like", told)
                self.assertEqual(mine.read_bytes(), b"mine")
            shutil.rmtree(self.sealed)
            shutil.rmtree(self.opened)

    def test_takes_files_with_a_temporary_name_and_names_those_of_killed_jobs(self):
        self.make_tree()
        name = ".tabane-0123456789abcdef.part"
        (self.plain / "a" / name).write_bytes(b"a user's")
        self.encrypt()
        sealed = (self.sealed / "a" / name).read_bytes()
        self.assertTrue(sealed.startswith(b"TBNSEAL"))
        leftover = self.sealed / ".tabane-00000000000000aa.part"
        self.leave(leftover)
        self.encrypt("--resume")
        self.assertEqual((self.sealed / "a" / name).read_bytes(), sealed)
        self.assertFalse(leftover.exists())
        self.run_ok("verify", *self.options(), self.sealed)
        half = ".tabane-00000000000000cc.part"
        self.leave(self.sealed / "a" / half, sealed[:-1])
        self.leave(self.sealed / "a" / ".tabane-00000000000000dd.part", b"")
        for verb, more in (("verify", ["--without-manifest"]),
                           ("decrypt", ["--without-manifest", self.opened])):
            json_file = self.folder / "json"
            result = self.run_ok(verb, *self.options(), "-q", f"--json={json_file}", self.sealed,
                                 *more)
            self.assertIn(b"left out: a/" + os.fsencode(half), result.stderr)
            self.assertNotIn(os.fsencode(name), result.stderr)
            listed = json.loads(json_file.read_text())["temporary_files"]
            self.assertEqual([entry["path"] for entry in listed],
                             ["a/" + half, "a/.tabane-00000000000000dd.part"])
        self.assertEqual((self.opened / "a" / name).read_bytes(), b"a user's")
        self.assertEqual(self.names_of_temporaries(self.opened), [b"a/" + os.fsencode(name)])
        # What was decrypted is not taken for a leftover.
        self.run_ok("decrypt", *self.options(), "--without-manifest", "--resume", self.sealed,
                    self.opened)
        self.assertEqual((self.opened / "a" / name).read_bytes(), b"a user's")
        self.decrypt("--force")
        self.assertEqual((self.opened / "a" / name).read_bytes(), b"a user's")
        self.run_ok("decrypt", *self.options(), self.sealed / "a" / name, self.folder / "single")
        self.assertEqual((self.folder / "single").read_bytes(), b"a user's")
        (self.sealed / ".tabane-00000000000000bb.part").write_bytes(b"half")
        self.assertIn(b"left out: 3 temporary files", self.decrypt("--force").stdout)

    def test_excludes_names_and_paths(self):
        self.make_tree()
        result = self.encrypt("--exclude", "f[12]", "--exclude", "a/b")
        self.assertIn(b"excluded", result.stdout)
        names = snapshot(self.sealed)
        self.assertIn(b"a/f0", names)
        self.assertFalse(set(names) & {b"f1", b"a/f1", b"a/f2", b"a/b", b"a/b/f2"})

    def test_excludes_a_pattern_in_brackets(self):
        self.make_tree()
        self.encrypt("--exclude", "[a,e]*")
        self.assertTrue(snapshot(self.sealed))
        self.assertFalse(set(snapshot(self.sealed)) & {b"a", b"empty"})


class Existing(Case):
    def setUp(self):
        super().setUp()
        self.make_tree()

    def test_empty_directory_is_used(self):
        self.sealed.mkdir()
        self.encrypt()

    def test_directory_that_another_program_has_locked_is_used(self):
        """As by flock(1) around the command."""
        for path in (self.sealed, self.opened):
            path.mkdir()
            directory = os.open(path, os.O_RDONLY)
            self.addCleanup(os.close, directory)
            fcntl.flock(directory, fcntl.LOCK_EX)
        self.encrypt()
        self.decrypt()
        self.run_ok("encrypt", *self.options(), self.plain / "f1", self.sealed / "more")
        for path in (self.sealed, self.opened):
            self.assertEqual(self.names_of_temporaries(path), [])

    def test_output_is_refused(self):
        self.encrypt()
        before = snapshot(self.sealed)
        self.refused(2, "--force", "encrypt", *self.options(), self.plain, self.sealed)
        self.assertEqual(snapshot(self.sealed), before)

    def test_file_is_refused_and_replaced_by_force(self):
        self.opened.write_bytes(b"precious")
        self.refused(2, "--force", "encrypt", *self.options(), self.plain / "f1", self.opened)
        self.assertEqual(self.opened.read_bytes(), b"precious")
        self.run_ok("encrypt", *self.options(), "--force", self.plain / "f1", self.opened)
        self.assertNotEqual(self.opened.read_bytes(), b"precious")

    def test_output_is_replaced_by_force(self):
        self.encrypt()
        before = snapshot(self.sealed)
        self.encrypt("--force")
        for path, (kind, _, _, data) in snapshot(self.sealed).items():
            if kind == stat.S_IFREG:  # each file has a salt of its own
                self.assertNotEqual(data, before[path][3])
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def test_dry_run_writes_nothing(self):
        before = snapshot(self.folder)
        result = self.encrypt("--dry-run")
        self.assertIn(b"would encrypt", result.stdout)
        self.assertEqual(snapshot(self.folder), before)

    def test_update_does_what_changed_and_removes_what_is_gone(self):
        self.encrypt()
        before = snapshot(self.sealed)
        record = json.loads(self.encrypt("--update", "--json").stdout)
        self.assertEqual(record["files_kept"], record["files_total"])
        self.assertEqual(snapshot(self.sealed).keys(), before.keys())
        (self.plain / "a" / "f4").unlink()
        (self.plain / "a" / "f6").write_bytes(content(CHUNK, 99))
        record = json.loads(self.encrypt("--update", "--json").stdout)
        self.assertEqual((record["files_done"], record["removed"]), (1, 1))
        self.assertNotIn(b"a/f4", snapshot(self.sealed))
        root = record["root"]
        self.assertIn(root.encode(), self.run_ok("verify", "--root", root, *self.options(),
                                                 self.sealed).stdout)
        self.run_ok("verify", "--quick", *self.options(), self.sealed)
        self.refused(1, "replaced by another state", "verify", "--root", "0" * 64,
                     *self.options(), self.sealed)
        self.refused(2, "--root", "verify", "--root", "zz", *self.options(), self.sealed)
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))

    def answer(self, typed, *arguments):
        """Runs on a terminal where this is typed."""
        ours, theirs = pty.openpty()
        os.write(ours, typed)
        done = subprocess.run([TABANE, *map(str, arguments)], stdin=theirs, stdout=subprocess.PIPE,
                              stderr=theirs, start_new_session=True, timeout=60)
        os.close(theirs)
        os.close(ours)
        return done.returncode

    def test_update_removes_most_of_a_tree_only_if_that_is_meant(self):
        shutil.rmtree(self.plain)
        gone = self.plain / "gone"
        for hide in ([], ["--hide-names"]):
            gone.mkdir(parents=True)
            for i in range(11):
                (gone / f"f{i}").write_bytes(b"x")
            self.encrypt(*hide)
            shutil.rmtree(gone)
            before = without_home(snapshot(self.sealed))
            update = ["encrypt", "--update", *self.options(), self.plain, self.sealed]
            self.refused(2, "--delete", *update)
            listed = self.run_ok(*update, "--dry-run").stdout
            for i in range(11):
                self.assertIn(b"would remove: gone/f%d\n" % i, listed)
            record = json.loads(self.run_ok(*update, "--dry-run", "--json").stdout)
            paths = [entry["path"] for entry in record["would_remove"]]
            self.assertEqual(len(paths), 11 if hide else 12)
            self.assertEqual(self.answer(b"no\n", *update), 2)
            self.assertEqual(without_home(snapshot(self.sealed)), before)
            if hide:
                self.assertEqual(self.answer(b"yes\n", *update), 0)
            else:
                self.run_ok(*update, "--delete")
            self.run_ok("verify", *self.options(), self.sealed)
            self.assertEqual(list(self.run_ok(*update, "--dry-run").stdout.split(b"\n")[1:]), [b""])
            shutil.rmtree(self.sealed)

    def test_reads_a_tree_where_no_directory_for_temporary_files_is(self):
        self.encrypt()
        environment = os.environ | {"TMPDIR": str(self.folder / "missing")}
        for verb, more in (("verify", []), ("verify", ["--quick"]), ("decrypt", [self.opened])):
            result = tabane(verb, *self.options(), self.sealed, *more, env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_no_configuration_of_openssl_is_read(self):
        self.make_tree()
        # Without AES, hashes and random numbers.
        (self.folder / "null").write_text("openssl_conf = all\n[all]\nproviders = some\n"
                                          "[some]\nnull = on\n[on]\nactivate = 1\n")
        environment = os.environ | {"OPENSSL_CONF": str(self.folder / "null")}
        for verb, paths in (("encrypt", [self.plain, self.sealed]), ("verify", [self.sealed]),
                            ("decrypt", [self.sealed, self.opened])):
            result = tabane(verb, *self.options(), "--engine", "openssl", *paths, env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(snapshot(self.opened).keys(), snapshot(self.plain).keys())

    def test_resume_does_what_is_missing_and_what_changed(self):
        self.encrypt()
        before = snapshot(self.sealed)
        (self.sealed / "a" / "f4").unlink()
        os.truncate(self.sealed / "a" / "f5", 1000)
        (self.plain / "a" / "f6").write_bytes(content(CHUNK, 99))
        leftover = self.sealed / "a" / ".tabane-0123456789abcdef.part"
        self.leave(leftover)
        result = self.encrypt("--resume", f"--json={self.folder / 'json'}")
        record = json.loads((self.folder / "json").read_text())
        self.assertEqual(record["files_done"], 3, result.stdout)
        self.assertEqual(record["files_kept"], record["files_total"] - 3)
        self.assertEqual(record["leftovers_removed"], 1)
        self.assertFalse(leftover.exists())
        changed = {path for path, entry in snapshot(self.sealed).items()
                   if entry[3] != before[path][3]}
        self.assertEqual(changed, {b"a/f4", b"a/f5", b"a/f6", b".tabane/manifest"})
        self.decrypt()
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))
        (self.opened / "a" / "f4").unlink()
        self.decrypt("--resume")
        self.assertEqual(snapshot(self.opened), snapshot(self.plain))


class Json(Case):
    KEYS = ["schema_version", "kind", "tabane_version", "cipher", "engine", "threads", "ranks",
            "dry_run", "complete", "files_total", "input_bytes_total", "directories", "files_done",
            "input_bytes_done", "files_kept", "files_sealed_anew", "links", "symlinks",
            "special_files", "excluded", "temporary_files", "removed", "would_remove",
            "leftovers_removed", "free_bytes",
            "seconds", "bytes_per_second", "files_per_second", "copy_bytes_per_second",
            "copy_files_per_second", "share_of_copy_speed", "share_of_copy_speed_interval",
            "authenticated", "warnings", "root", "failures"]

    def test_is_alone_on_stdout_and_complete(self):
        self.make_tree()
        record = json.loads(self.encrypt("--json").stdout)
        self.assertEqual(list(record), self.KEYS)
        self.assertEqual(record["schema_version"], 1)
        self.assertEqual(record["kind"], "encrypt")
        self.assertTrue(record["complete"])
        self.assertEqual(record["files_done"], record["files_total"])
        self.assertEqual(record["files_total"], sum(
            entry[0] == stat.S_IFREG for entry in snapshot(self.plain).values()))
        self.assertEqual(record["input_bytes_done"], sum(
            len(entry[3] or b"") for entry in snapshot(self.plain).values()))
        self.assertGreater(record["bytes_per_second"], 0)
        self.assertIsNone(record["copy_bytes_per_second"])  # too few to measure
        self.assertIsNone(record["share_of_copy_speed"])
        self.assertEqual(record["failures"], [])

    def test_tells_an_error_that_ends_the_program(self):
        self.make_tree()
        self.encrypt()
        record = self.folder / "record"
        other = self.make_key("other", 32, seed=9)
        wrong = ["verify", "--key-file", other, self.sealed]
        full = ["encrypt", *self.options(), self.plain, self.sealed]
        nowhere = ["decrypt", *self.options(), self.folder / "nowhere\nat all", self.opened]
        long_name = ["verify", *self.options(), self.folder / ("n" * 300)]
        for code, part, arguments in ((1, "wrong key", wrong), (2, "is not empty", full),
                                      (1, "nowhere\nat all: ", nowhere),
                                      (1, "File name too long", long_name)):
            to_stdout = tabane(*arguments, "--json")
            to_file = tabane(*arguments, f"--json={record}")
            self.assertEqual(to_stdout.returncode, code, to_stdout.stderr)
            self.assertEqual(to_file.returncode, code)
            self.assertEqual(to_file.stdout, b"")
            found = json.loads(to_stdout.stdout)
            if "key" in part:
                self.assertEqual(found, json.loads(record.read_text()))
                record.unlink()
            else:  # before it is known that the file lies in no tree
                self.assertFalse(record.exists())
            self.assertEqual((found["kind"], found["command"], found["exit_status"]),
                             ("error", arguments[0], code))
            self.assertIn(part, found["error"])
            self.assertRegex(to_stdout.stderr, b"^tabane[ a-z]*: ")
        self.refused(2, "--json", "decrypt", *self.options(), "--json", self.sealed / "f1", "-")

    def test_is_null_for_what_a_dry_run_does_not_measure(self):
        self.make_tree()
        record = json.loads(self.encrypt("--json", "--dry-run").stdout)
        self.assertEqual(list(record), self.KEYS)
        self.assertIsNone(record["seconds"])
        self.assertIsNone(record["files_done"])

    def test_lists_failures_with_any_name(self):
        self.make_tree()
        self.encrypt()
        names = [b"bad\xff\n\x1b[2J", b"short"]
        for name in names:
            path = os.path.join(os.fsencode(self.sealed), name)
            pathlib.Path(os.fsdecode(path)).write_bytes(b"TBN")
        result = tabane("verify", *self.options(), "--json", self.sealed)
        self.assertEqual(result.returncode, 1)
        record = json.loads(result.stdout)
        found = {failure["path_percent_encoded"]: failure for failure in record["failures"]}
        self.assertEqual(set(found), {"bad%FF%0A%1B%5B2J", "short"})
        self.assertEqual(found["bad%FF%0A%1B%5B2J"]["path"], "bad\ufffd\n\x1b[2J")
        self.assertTrue(all(failure["reason"] for failure in record["failures"]))
        self.assertIn(b"bad\\xff\\n\\x1b[2J: ", result.stderr)
        self.assertNotIn(b"\x1b", result.stderr)

    def test_lists_all_failures_and_stderr_only_some(self):
        self.plain.mkdir()
        (self.plain / "good").write_bytes(b"text")
        self.encrypt()
        for i in range(120):
            (self.sealed / f"bad{i:03}").write_bytes(b"TBN")
        result = tabane("verify", *self.options(), "--json", self.sealed)
        self.assertEqual(len(json.loads(result.stdout)["failures"]), 120)
        self.assertEqual(result.stderr.count(b"bad"), 100)
        self.assertIn(b"and 20 more", result.stderr)
        result = tabane("verify", *self.options(), "-v", self.sealed)
        self.assertEqual(result.stderr.count(b"bad"), 120)


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


@unittest.skipUnless(has_terminals(), "this system gives no pseudo-terminals")
class Terminal(Case):
    """The prompt, through a pseudo-terminal that is the controlling terminal."""

    def setUp(self):
        super().setUp()
        self.plain.write_bytes(b"text")

    def talk(self, arguments, conversation, script='exec "$@"'):
        """conversation: (prompt, answer, or a function that gets the process and returns it) in
        turn. script: of the shell, which runs the program. Returns the exit code and all that
        was shown."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv("/bin/sh", ["sh", "-c", script, "sh", TABANE, *map(str, arguments)])
        shown = b""
        deadline = time.monotonic() + 60  # against a hang only
        for prompt, answer in [*conversation, (None, b"")]:
            start = len(shown)
            while prompt is None or prompt not in shown[start:]:
                ready, _, _ = select.select([terminal], [], [], deadline - time.monotonic())
                self.assertTrue(ready, shown)
                try:
                    more = os.read(terminal, 4096)
                except OSError:  # closed at its other side
                    more = b""
                if not more:
                    break
                shown += more
            if answer:
                os.write(terminal, answer(pid) if callable(answer) else answer)
        _, status = os.waitpid(pid, 0)
        self.assertTrue(termios.tcgetattr(terminal)[3] & termios.ECHO, "no echo afterwards")
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), shown

    def test_asks_twice_to_encrypt_and_once_to_decrypt_without_echo(self):
        code, shown = self.talk(["encrypt", self.plain, self.sealed],
                                [(b"assphrase: ", b"s3cret\n"), (b"again: ", b"s3cret\n")])
        self.assertEqual(code, 0, shown)
        self.assertNotIn(b"s3cret", shown)
        code, shown = self.talk(["decrypt", self.sealed, self.opened],
                                [(b"assphrase: ", b"s3cret\n")])
        self.assertEqual(code, 0, shown)
        self.assertNotIn(b"s3cret", shown)
        self.assertEqual(self.opened.read_bytes(), b"text")

    def test_asks_the_terminal_where_the_input_is_a_pipe(self):
        for verb, source, target, questions in (("encrypt", self.plain, self.sealed, 2),
                                                ("decrypt", self.sealed, self.opened, 1)):
            code, shown = self.talk([verb, "-", "-"], [(b"assphrase", b"s3cret\n")] * questions,
                                    f"cat '{source}' | \"$@\" > '{target}'")
            self.assertEqual(code, 0, shown)
            self.assertNotIn(b"s3cret", shown)
        self.assertEqual(self.opened.read_bytes(), b"text")

    def test_asks_for_the_old_and_twice_for_the_new_one_to_rekey(self):
        tree = self.folder / "tree"
        tree.mkdir()
        (tree / "file").write_bytes(b"text")
        code, shown = self.talk(["encrypt", tree, self.sealed],
                                [(b"assphrase: ", b"s3cret old\n"), (b"again: ", b"s3cret old\n")])
        self.assertEqual(code, 0, shown)
        code, shown = self.talk(["rekey", "--new-passphrase", self.sealed],
                                [(b"Passphrase: ", b"s3cret old\n"),
                                 (b"New passphrase: ", b"s3cret new\n"),
                                 (b"again: ", b"s3cret new\n")])
        self.assertEqual(code, 0, shown)
        self.assertNotIn(b"s3cret", shown)
        code, shown = self.talk(["decrypt", self.sealed, self.opened],
                                [(b"assphrase: ", b"s3cret new\n")])
        self.assertEqual(code, 0, shown)
        self.assertEqual((self.opened / "file").read_bytes(), b"text")

    def test_refuses_two_that_differ_and_an_empty_one(self):
        code, shown = self.talk(["encrypt", self.plain, self.sealed],
                                [(b"assphrase: ", b"one\n"), (b"again: ", b"two\n")])
        self.assertEqual(code, 2, shown)
        self.assertIn(b"not the same", shown)
        code, shown = self.talk(["encrypt", self.plain, self.sealed], [(b"assphrase: ", b"\n")])
        self.assertEqual(code, 2, shown)
        self.assertIn(b"empty", shown)
        self.assertFalse(self.sealed.exists())

    def test_core_dumps_are_off_before_a_key_is_there(self):
        limits = []

        def look(pid):
            limits.append(pathlib.Path(f"/proc/{pid}/limits").read_text())
            return b"\x03"

        self.talk(["decrypt", self.plain, self.opened], [(b"assphrase: ", look)])
        self.assertRegex(limits[0], r"Max core file size +0 +0 ")

    def test_takes_ctrl_c_and_gives_the_echo_back(self):
        code, shown = self.talk(["encrypt", self.plain, self.sealed],
                                [(b"assphrase: ", b"se\x03")])
        self.assertEqual(code, -2, shown)
        self.assertFalse(self.sealed.exists())

    def test_without_it_both_options_are_named(self):
        result = self.refused(2, "--key-file", "encrypt", self.plain, self.sealed)
        self.assertIn(b"--passphrase-file", result.stderr)
        self.assertFalse(self.sealed.exists())

    def test_shows_progress_only_there(self):
        self.plain.write_bytes(content(100 << 20))
        code, shown = self.talk(["encrypt", "--key-file", self.key, self.plain, self.sealed], [])
        self.assertEqual(code, 0, shown)
        self.assertIn(b"encrypted 1 file", shown)
        self.assertEqual(self.encrypt("--force").stderr, b"")


if __name__ == "__main__":
    unittest.main()
