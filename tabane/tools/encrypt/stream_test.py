"""`-` as IN or OUT is standard input or output: one stream, sealed and opened chunk by chunk."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import CHUNK, SIZES, TABANE, Case, content, snapshot, tabane

HEADER = 96 + 4 + 2 + 67  # with the slot of one key file
STRIDE = CHUNK + 16


def piped(data, *arguments, **options):
    """Runs with the data coming through a pipe, without a terminal."""
    return subprocess.run([TABANE, *map(os.fsencode, arguments)], input=data, capture_output=True,
                          start_new_session=True, timeout=120, **options)


class StreamCase(Case):
    def piped_ok(self, data, *arguments):
        result = piped(data, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def seal(self, data):
        return self.piped_ok(data, "encrypt", *self.options(), "-", "-").stdout

    def refused_stream(self, part, *arguments, data=b"text"):
        result = piped(data, *arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(part, result.stderr.decode())
        self.assertEqual(result.stdout, b"")


class Whole(StreamCase):
    def test_streams_come_back_at_every_size(self):
        for size in SIZES:
            with self.subTest(size=size):
                sealed = self.seal(content(size))
                self.assertEqual(len(sealed), HEADER + size + 16 * max(1, -(-size // CHUNK)))
                opened = self.piped_ok(sealed, "decrypt", *self.options(), "-", "-")
                self.assertEqual(opened.stdout, content(size))
                self.assertIn(b"decrypted 1 file", opened.stderr)
                verified = self.piped_ok(sealed, "verify", *self.options(), "-")
                self.assertIn(b"verified 1 file", verified.stdout)

    def test_streams_and_files_are_one_format(self):
        data = content(3 * CHUNK + 1000)
        self.sealed.write_bytes(self.seal(data))
        self.run_ok("decrypt", *self.options(), self.sealed, self.opened)
        self.assertEqual(self.opened.read_bytes(), data)
        self.plain.write_bytes(data)
        self.encrypt("--force")
        result = self.piped_ok(self.sealed.read_bytes(), "decrypt", *self.options(), "-", "-")
        self.assertEqual(result.stdout, data)
        self.assertEqual(self.run_ok("decrypt", *self.options(), self.sealed, "-").stdout, data)
        sealed = self.run_ok("encrypt", *self.options(), self.plain, "-").stdout
        self.assertEqual(self.piped_ok(sealed, "decrypt", *self.options(), "-", "-").stdout, data)

    def test_a_tree_goes_through_tar(self):
        self.make_tree()
        quoted = [f"'{part}'" for part in (TABANE, self.key, self.plain, self.sealed, self.opened)]
        program, key, plain, sealed, opened = quoted
        self.opened.mkdir()
        subprocess.run(
            ["bash", "-ec", f"""set -o pipefail
            tar -C {plain} -c . | {program} encrypt -q --key-file {key} - {sealed}
            {program} decrypt -q --key-file {key} {sealed} - | tar -C {opened} -x"""], check=True)
        self.assertEqual({path: entry[3] for path, entry in snapshot(self.opened).items()},
                         {path: entry[3] for path, entry in snapshot(self.plain).items()})

    def test_passphrases_and_recipients_open_streams(self):
        secret = self.folder / "passphrase"
        secret.write_text("a long passphrase")
        secret.chmod(0o600)
        identity = self.folder / "identity"
        recipient = self.run_ok("keygen", "--pair", identity).stdout.decode().split()[-1]
        sealed = self.piped_ok(b"text", "encrypt", "--passphrase-file", secret, "--recipient",
                               recipient, "-", "-").stdout
        for key in (["--passphrase-file", secret], ["--identity", identity]):
            self.assertEqual(self.piped_ok(sealed, "decrypt", *key, "-", "-").stdout, b"text")

    def test_files_get_the_modes_that_nobody_vouches_for(self):
        self.piped_ok(b"text", "encrypt", *self.options(), "-", self.sealed)
        result = piped(self.sealed.read_bytes(), "decrypt", *self.options(), "-", self.opened,
                       umask=0)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.opened.stat().st_mode & 0o7777, 0o600)
        self.assertEqual(self.opened.read_bytes(), b"text")
        self.refused_stream("--force", "decrypt", *self.options(), "-", self.opened)
        self.piped_ok(self.seal(b"more"), "decrypt", *self.options(), "--force", "-", self.opened)
        self.assertEqual(self.opened.read_bytes(), b"more")

    def test_what_a_killed_run_left_beside_the_file_goes_if_that_is_asked_for(self):
        self.plain.write_bytes(b"text")
        leftover, fresh = (self.folder / f".tabane-{i:016x}.part" for i in (1, 2))
        self.leave(fresh, b"another host's")
        for arguments in ((self.plain, self.sealed), ("-", self.opened)):
            self.leave(leftover)
            os.utime(leftover, (1, 1))
            result = self.piped_ok(b"text", "encrypt", *self.options(), *arguments)
            self.assertNotIn(b"removed", result.stdout)
            self.assertTrue(leftover.exists())
            result = self.piped_ok(b"text", "encrypt", *self.options(), "--force", *arguments)
            self.assertIn(b"removed: 1 temporary file of an interrupted run", result.stdout)
            self.assertFalse(leftover.exists())
        self.assertTrue(fresh.exists())

    def test_what_is_read_is_no_leftover(self):
        """By whatever name."""
        self.plain.write_bytes(b"text")
        inputs = [self.folder / f".tabane-{i:016x}.part" for i in (1, 2)]
        for each in inputs:
            self.leave(each, b"text")
            os.utime(each, (1, 1))
        alias = self.folder / "alias"
        os.link(inputs[0], alias)
        with open(inputs[1], "rb") as given:
            done = subprocess.run([TABANE, "encrypt", *self.options(), "--force", alias,
                                   self.sealed], stdin=given, capture_output=True, timeout=60,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(all(each.exists() for each in inputs))
        os.unlink(inputs[0])
        with open(inputs[1], "rb") as given:
            done = subprocess.run([TABANE, "encrypt", *self.options(), "--force", "-",
                                   self.sealed], stdin=given, capture_output=True, timeout=60,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(inputs[1].exists())

    def test_summary_and_json_stay_out_of_the_stream(self):
        record = self.folder / "record"
        sealed = self.piped_ok(content(100000), "encrypt", *self.options(), f"--json={record}",
                               "-", "-")
        self.assertIn(b"encrypted 1 file", sealed.stderr)
        found = json.loads(record.read_text())
        self.assertEqual((found["files_done"], found["input_bytes_done"]), (1, 100000))
        verified = self.piped_ok(sealed.stdout, "verify", *self.options(), "--json", "-")
        self.assertEqual(json.loads(verified.stdout)["files_done"], 1)

    def test_a_file_of_that_name_is_reached_by_its_folder(self):
        (self.folder / "-").write_bytes(b"text")
        sealed = tabane("encrypt", *self.options(), "./-", "sealed", cwd=self.folder)
        self.assertEqual(sealed.returncode, 0, sealed.stderr)
        (self.folder / "-").unlink()
        opened = tabane("decrypt", *self.options(), "sealed", "./-", cwd=self.folder)
        self.assertEqual(opened.returncode, 0, opened.stderr)
        self.assertEqual((self.folder / "-").read_bytes(), b"text")


class Damaged(StreamCase):
    """What reaches stdout is authenticated, and the exit code says that it was not all."""

    SIZE = 3 * CHUNK + 1000

    def check(self, sealed, chunks, part):
        """chunks: how many of them are given out."""
        result = piped(sealed, "decrypt", *self.options(), "-", "-")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(part, result.stderr.decode())
        self.assertIn("standard input", result.stderr.decode())
        self.assertEqual(result.stdout, content(self.SIZE)[:chunks * CHUNK])
        result = piped(sealed, "decrypt", *self.options(), "-", self.opened)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertFalse(self.opened.exists())
        self.assertEqual(self.names_of_temporaries(self.folder), [])
        self.assertEqual(piped(sealed, "verify", *self.options(), "-").returncode, 1)

    def test_chunks_are_told_with_their_place(self):
        whole = self.seal(content(self.SIZE))
        for chunk in range(4):
            with self.subTest(chunk=chunk):
                data = bytearray(whole)
                data[HEADER + chunk * STRIDE + 5] ^= 1
                self.check(bytes(data), chunk, f"at byte {HEADER + chunk * STRIDE}")

    def test_a_cut_is_told_at_every_place(self):
        whole = self.seal(content(self.SIZE))
        for chunks in range(1, 4):
            for more in (0, 1, 15, 16, 17, 1000):
                with self.subTest(chunks=chunks, more=more):
                    # A chunk that may have been the last waits until it is known that it is not.
                    self.check(whole[:HEADER + chunks * STRIDE + more],
                               chunks - (more == 0), "at byte")
        for size in (0, 1, 8, 95, 96, 99, 100, HEADER - 1):
            self.check(whole[:size], 0, "standard input")
        self.check(whole[:HEADER], 0, "ends inside a chunk")
        self.check(whole + b"x", 3, "at byte")
        self.check(whole + whole, 3, "at byte")

    def test_a_wrong_key_is_told_before_the_output_is_made(self):
        sealed = self.seal(b"text")
        other = self.make_key("other", 32, 9)
        result = piped(sealed, "decrypt", "--key-file", other, "-", self.opened)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"no key that was given opens it", result.stderr)
        self.assertFalse(self.opened.exists())

    def test_a_job_that_waits_for_its_input_can_be_stopped(self):
        process = subprocess.Popen(
            [TABANE, "encrypt", *map(str, self.options()), "-", str(self.sealed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(content(3 << 20))
        process.stdin.flush()
        while not self.names_of_temporaries(self.folder):
            pass
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)  # the pipe is open all the time
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertNotIn(b"--resume", process.stderr.read())
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
        self.assertFalse(self.sealed.exists())
        self.assertEqual(self.names_of_temporaries(self.folder), [])

    def test_a_full_stdout_is_told(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TABANE, "encrypt", *map(str, self.options()), "-", "-"],
                                  input=content(100000), stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)


class Refused(StreamCase):
    def test_options_that_no_stream_can_have(self):
        for option in ("--dry-run", "--resume", "--update"):
            self.refused_stream(option, "encrypt", *self.options(), option, "-", self.sealed)
            self.plain.write_bytes(b"text")
            self.refused_stream(option, "encrypt", *self.options(), option, self.plain, "-")
        self.refused_stream("--quick", "verify", *self.options(), "--quick", "-")
        self.refused_stream("--root", "verify", *self.options(), "--root", "0" * 64, "-")
        self.refused_stream("--hide-names", "encrypt", *self.options(), "--hide-names", "-", "-")
        self.refused_stream("--json", "encrypt", *self.options(), "--json", "-", "-")
        self.refused_stream("--cipher", "encrypt", *self.options("aes-256-cbc"), "-", "-")

    def test_places_that_no_stream_can_have(self):
        self.plain.mkdir()
        self.refused_stream("tar c", "encrypt", *self.options(), self.plain, "-")
        self.refused_stream("is a directory", "encrypt", *self.options(), "-", self.plain)
        self.refused_stream("--key-file", "encrypt", "--key-file", "/dev/stdin", "-", "-")

    def test_what_is_no_sealed_stream_is_told(self):
        for data, why in ((b"x" * 1000, b"not a sealed file"), (b"x" * 95, b"inside its header"),
                          (b"TBNSEAL\x03" + b"x" * 1000, b"it says 3")):
            for verb, out in (("decrypt", ["-"]), ("verify", [])):
                result = piped(data, verb, *self.options(), "-", *out)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(why, result.stderr)
                self.assertEqual(result.stdout, b"")

    def test_out_that_is_in(self):
        self.plain.write_bytes(b"text")
        for target in (self.plain, "-"):
            with open(self.plain, "r+b") as both:
                done = subprocess.run(
                    [TABANE, "encrypt", *map(str, self.options()), "--force", "-", str(target)],
                    stdin=both, stdout=both, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"OUT is IN", done.stderr)
        self.assertEqual(self.plain.read_bytes(), b"text")

    def test_a_terminal_gets_sealed_bytes_only_by_force(self):
        try:
            main, side = pty.openpty()
        except OSError as error:
            self.skipTest(f"this system gives no pseudo-terminals: {error}")
        self.plain.write_bytes(b"text")
        for source in ("-", str(self.plain)):
            for force, code in (([], 2), (["--force"], 0)):
                command = [TABANE, "encrypt", "-q", *map(str, self.options()), *force, source, "-"]
                done = subprocess.run(command, input=b"text", stdout=side, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(b"terminal" in done.stderr, code == 2)
        self.assertTrue(os.read(main, 4096).startswith(b"TBNSEAL"))
        os.close(main)
        os.close(side)


if __name__ == "__main__":
    unittest.main()
