"""The study pc-cluster as a program: what it refuses, launchers that fail, Ctrl-C, and comparing.

usage: pc_cluster_test.py PROGRAM [MODULE_DIR hosts]   hosts: between two network namespaces instead
"""
# CTest: PROCESSORS 1 COST 30
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[3] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "comm")]
import hosts_test

TABANE = sys.argv.pop(1)
WITHOUT_MPI = {name: value for name, value in os.environ.items()
               if not name.startswith(("OMPI_", "PMI"))}


def study(*arguments, env=WITHOUT_MPI, timeout=200):
    return subprocess.run([TABANE, "study", "pc-cluster", *arguments], env=env, text=True,
                          capture_output=True, check=False, timeout=timeout)


def skipped_in(record):
    return {one["name"]: one["reason"] for one in record["skipped"]}


def value_of(record, name):
    return next(one["value"] for one in record["results"] if one["name"] == name)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.json = self.folder / "study.json"

    def script(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def finished(self):
        return json.loads(self.json.read_text(encoding="utf-8"))


class PcCluster(Case):
    def test_hosts_that_are_not_reached_are_refused(self):
        launcher = self.script("launcher", 'case "$*" in *--version*) echo some;; *) echo '
                               '"ssh: connect to host b port 22: No route to host" >&2; exit 255;;'
                               " esac")
        done = study("--quick", "--hosts", "a,b", "--launcher", launcher, f"--json={self.json}")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--hosts a,b: no answer", done.stderr)
        self.assertIn("No route to host", done.stderr)
        self.assertIn("without --hosts", done.stderr)

    def test_ctrl_c_keeps_what_is_known_and_ends_soon(self):
        """Also while a launcher hangs that ignores it."""
        launcher = self.script("launcher", "trap '' INT TERM; while :; do sleep 0.2; done")
        process = subprocess.Popen(
            [TABANE, "study", "pc-cluster", "--quick", "--launcher", launcher,
             f"--json={self.json}"], env=WITHOUT_MPI, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until = time.monotonic() + 100
        while not self.hangs(launcher) and time.monotonic() < until:
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertIn("stopped; what was measured is shown", errors)
        self.assertIn("Square matrix product", output)
        record = self.finished()
        self.assertFalse(record["complete"])
        self.assertGreater(value_of(record, "pc_cluster.product.dgemm.n1000"), 0)
        self.assertFalse(self.hangs(launcher))

    @staticmethod
    def hangs(launcher):
        found = subprocess.run(["pgrep", "-f", f"^/bin/sh {launcher}"], capture_output=True,
                               check=False)
        return found.returncode == 0

    def test_a_launcher_that_is_not_there_is_told_and_the_record_compared_or_refused(self):
        done = study("--quick", "--launcher", "/no/such/launcher", f"--json={self.json}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/no/such/launcher", skipped_in(self.finished())["MPI inside the node"])
        compared = subprocess.run([TABANE, "compare", self.json, "pc-cluster", "--json"],
                                  capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        found = json.loads(compared.stdout)
        self.assertIn("PC clusters of 2006/memcpy", [one["name"] for one in found["results"]])
        chart = next(one for one in found["views"] if one["name"] == "pc_cluster.inside.bandwidth")
        self.assertEqual(len(chart["marks"]), 3)
        text = self.json.read_text(encoding="utf-8")
        for name, content, said in (
                ("truncated.json", text[:len(text) // 2], "not JSON"),
                ("empty.json", "", "not JSON"),
                ("newer.json", text.replace('"schema_version": 2', '"schema_version": 99', 1),
                 "99")):
            (self.folder / name).write_text(content, encoding="utf-8")
            with self.subTest(name):
                bad = subprocess.run([TABANE, "compare", self.json, self.folder / name],
                                     capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(bad.returncode, 2, bad.stderr)
                self.assertIn(name, bad.stderr)
                self.assertIn(said, bad.stderr)


class BetweenHosts(Case):
    """Two namespaces with a link of 1 Gbit/s and 50 µs."""

    def setUp(self):
        super().setUp()
        self.network = hosts_test.Network(2)
        self.network.make()
        self.addCleanup(self.network.remove)
        self.delayed = all([self.shape(number) for number in range(2)])

    def shape(self, number):
        """Slows one end of the link; whether it has a delay, too: some kernels know none."""
        def tc(*words):
            return subprocess.run(["ip", "netns", "exec", self.network.hosts[number], "tc",
                                   "qdisc", "add", "dev", "cable", *words], capture_output=True,
                                  text=True, check=False)
        rate = tc("root", "handle", "1:", "tbf", "rate", "1gbit", "burst", "64kb", "latency",
                  "20ms")
        if rate.returncode != 0:
            self.skipTest(f"tc cannot limit the rate here: {rate.stderr.strip()}")
        delay = tc("parent", "1:1", "handle", "10:", "netem", "delay", "50us", "limit", "10000")
        return delay.returncode == 0

    def words(self):
        """The words that start the study on the first host, and those of the launcher."""
        words = hosts_test.launched(self.network, self.folder, 1)
        inside = words.index("--oversubscribe") - 1
        before, launcher = words[:inside], words[inside:]
        for option in ("--host", "-n"):  # the study says these itself
            at = launcher.index(option)
            del launcher[at:at + 2]
        return before, " ".join(map(str, launcher))

    def start(self):
        before, launcher = self.words()
        # Hosts are named by their addresses, which both TCP and the launcher's agent understand.
        agent = self.folder / "agent"
        names = "".join(f"{self.network.address(number)}) set -- {host} \"$@\";; "
                        for number, host in enumerate(self.network.hosts))
        agent.write_text(agent.read_text(encoding="utf-8").replace(
            "host=$1\nshift\n", f"host=$1\nshift\ncase $host in {names}esac\nhost=$1\nshift\n"),
            encoding="utf-8")
        environment = dict(WITHOUT_MPI, TABANE_MPI_MODULE=MODULES, TABANE_SILENCE_LIMIT="3")
        return subprocess.Popen(
            [*before, TABANE, "study", "pc-cluster", "--quick", f"--json={self.json}",
             "--seconds", "1", "--launcher", launcher + " -x TABANE_SILENCE_LIMIT",
             "--hosts", f"{self.network.address(0)},{self.network.address(1)}"],
            env=environment, text=True, start_new_session=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def finish(self, process):
        try:
            return process.communicate(timeout=200)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise

    def test_measures_the_link(self):
        process = self.start()
        output, errors = self.finish(process)
        self.assertEqual(process.returncode, 0, errors)
        record = self.finished()
        for way in ("tcp", "mpi"):
            # 1 Gbit/s, less headers, of the largest messages: short ones fit into the burst that
            # the limiter lets through.
            times = {int(one["factors"]["bytes"]): one["value"] for one in record["results"]
                     if one["name"].startswith(f"pc_cluster.between.{way}.bytes")}
            bandwidth = max(times) / times[max(times)]
            self.assertLess(bandwidth, 1.1 * 125e6, errors)
            self.assertGreater(bandwidth, 1e6, errors)
            self.assertGreater(value_of(record, f"pc_cluster.between.{way}.bytes1"),
                               50e-6 if self.delayed else 1e-6)
            self.assertGreaterEqual(
                len(next(one for one in record["results"]
                         if one["name"].startswith(f"pc_cluster.watch.{way}.bytes"))["samples"]), 2)
        self.assertIn("whether the rate stays", output)
        for result in ("cpu_between.tcp", "parallel_between.loop.bits4096.n64.ranks2"):
            self.assertGreater(value_of(record, f"pc_cluster.{result}"), 0)
        self.assertNotIn("the hosts", " ".join(skipped_in(record)))

    def test_a_host_that_is_lost_in_the_middle_costs_the_rest_of_its_part(self):
        process = self.start()
        sent = "/sys/class/net/cable/statistics/tx_bytes"

        def busy():
            out = subprocess.run(["ip", "netns", "exec", self.network.hosts[1], "cat", sent],
                                 capture_output=True, text=True, check=False).stdout
            return int(out or 0) > 3_000_000 or process.poll() is not None
        until = time.monotonic() + 150
        while not busy() and time.monotonic() < until:
            time.sleep(0.1)
        hosts_test.ip("-n", self.network.switch, "link", "set", "dev", "port1", "down")
        _, errors = self.finish(process)
        self.assertEqual(process.returncode, 0, errors)
        record = self.finished()
        self.assertTrue(any("between the hosts" in name for name in skipped_in(record)), errors)
        self.assertGreater(value_of(record, "pc_cluster.inside.tcp.bandwidth"), 0)


def main():
    global MODULES
    if sys.argv[2:3] == ["hosts"]:
        MODULES = sys.argv.pop(1)
        sys.argv.pop(1)
        hosts_test.require_network(MODULES)
        globals().pop("PcCluster")
    else:
        globals().pop("BetweenHosts")
    unittest.main()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    main()
