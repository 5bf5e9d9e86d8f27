#!/usr/bin/env python3
"""Runs the tests of ranks over TCP between hosts: network namespaces with addresses, host names
and links of their own. Then cuts a host's link: the ranks of all hosts must end, and name one.

usage: hosts_test.py PROGRAM MODULE_DIR

                 bridge (in a namespace of its own)
               /          |          \\
    10.83.P.1 host 0   .2 host 1   .3 host 2

Exits 77, with the reason, where namespaces are not allowed or Open MPI is not there.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)


class Network:
    """Hosts that see each other, and nothing else; gone at the end of the block."""

    def __init__(self, hosts):
        tag = f"tb{os.getpid() % 100000}"
        self.switch = f"{tag}s"
        self.hosts = [f"{tag}h{number}" for number in range(hosts)]
        self.subnet = f"10.83.{os.getpid() % 250}"

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "switch", "type", "bridge")
        ip("-n", self.switch, "link", "set", "dev", "switch", "up")
        for number, host in enumerate(self.hosts):
            ip("netns", "add", host)
            ip("-n", self.switch, "link", "add", f"port{number}", "type", "veth",
               "peer", "name", "cable", "netns", host)
            ip("-n", self.switch, "link", "set", "dev", f"port{number}",
               "master", "switch", "up")
            ip("-n", host, "address", "add", f"{self.address(number)}/24", "dev", "cable")
            ip("-n", host, "link", "set", "dev", "lo", "up")
            ip("-n", host, "link", "set", "dev", "cable", "up")

    def remove(self):
        for name in [*self.hosts, self.switch]:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def address(self, number):
        return f"{self.subnet}.{number + 1}"


AGENT = """#!/bin/sh
# Open MPI's way to another host: AGENT HOST COMMAND…
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; eval "$1"' "$host" "$*"
"""


def launcher():
    for name in ("mpirun.openmpi", "orterun", "mpirun"):
        if not shutil.which(name):
            continue
        version = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
        if "Open MPI" in version.stdout:
            return name
    return skip("there is no Open MPI")


def launched(network, work, ranks_a_host, options=()):
    """The words that start ranks on all hosts, before those of the program. options: of mpirun."""
    agent = work / "agent"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    hosts = ",".join(f"{host}:{ranks_a_host}" for host in network.hosts)
    parameters = {
        "plm_rsh_agent": agent,
        "plm_rsh_no_tree_spawn": "1",  # hosts cannot start something on each other
        "btl": "tcp,self",
        "btl_tcp_if_include": f"{network.subnet}.0/24",
        "oob_tcp_if_include": f"{network.subnet}.0/24",
        "orte_keep_fqdn_hostnames": "1",
    }
    words = [launcher(), "--oversubscribe", "--host", hosts, "-n",
             str(ranks_a_host * len(network.hosts)), "-x", "TABANE_MPI_MODULE", *options]
    for name, value in parameters.items():
        words += ["--mca", name, str(value)]
    # The launcher itself runs on the first host.
    first = network.hosts[0]
    return ["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c",
            'hostname "$0"; exec "$@"', first, *words]


def command(network, work, program, ranks_a_host, tests):
    words = launched(network, work, ranks_a_host)
    return [*words, program, f"--gtest_filter={tests}", "--gtest_also_run_disabled_tests"]


def environment_for(modules):
    return dict(os.environ, TABANE_MPI_MODULE=modules, OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def run_suite(program, modules, hosts, ranks_a_host):
    with tempfile.TemporaryDirectory() as folder, Network(hosts) as network:
        words = command(network, Path(folder), program, ranks_a_host,
                        "-Mpi*:Worlds.*:*OnRanks.*:NonBlocking.*")
        with subprocess.Popen(words, env=environment_for(modules), start_new_session=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as process:
            try:
                output, _ = process.communicate(timeout=240)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        print(f"{hosts} hosts, {ranks_a_host} ranks each: {output}", flush=True)
        wanted = f"On {hosts * ranks_a_host} ranks:"
        if process.returncode != 0 or wanted not in output or "[  PASSED  ]" not in output:
            sys.exit(f"the suite failed between hosts: exit {process.returncode}")
        traffic = "/sys/class/net/cable/statistics/tx_bytes"
        sent = subprocess.run(["ip", "netns", "exec", network.hosts[1], "cat", traffic],
                              capture_output=True, text=True, check=True).stdout
        if int(sent) < 1_000_000:
            sys.exit(f"the second host sent {sent.strip()} bytes only: they went another way")


def processes_of(network, program):
    """Those on all hosts that run this program."""
    found = []
    for host in network.hosts:
        pids = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True,
                              check=True).stdout.split()
        for pid in pids:
            try:
                if os.readlink(f"/proc/{pid}/exe") == program:
                    found.append(int(pid))
            except OSError:
                pass  # it has ended
    return found


def wait_for(what, condition):
    until = time.monotonic() + 60
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"cut link: {what} did not come")
        time.sleep(0.2)


def cut_link(program, modules):
    program = os.path.realpath(program)
    with tempfile.TemporaryDirectory() as folder, Network(3) as network:
        output = Path(folder, "output")
        words = command(network, Path(folder), program, 2, "MpiSilence.*Endless*")
        with output.open("w") as out, \
             subprocess.Popen(words, env=environment_for(modules), start_new_session=True,
                              stdout=out, stderr=subprocess.STDOUT) as launched:
            try:
                wait_for("the start of the ranks", lambda: len(processes_of(network, program)) == 6)
                time.sleep(3)
                if len(processes_of(network, program)) != 6:
                    sys.exit(f"the ranks ended too soon: {output.read_text()}")
                ip("-n", network.switch, "link", "set", "dev", "port1", "down")
                # The launcher itself may wait for the host that it does not reach.
                wait_for("the end of the ranks", lambda: not processes_of(network, program))
            finally:
                os.killpg(launched.pid, signal.SIGKILL)
                for pid in processes_of(network, program):
                    os.kill(pid, signal.SIGKILL)
        print(output.read_text())
        if f"its host {network.hosts[1]} has been silent for 2 s" not in output.read_text():
            sys.exit("nobody named the host whose link was cut")


def require_network(modules):
    if os.geteuid() != 0:
        skip("only root may make network namespaces")
    if not shutil.which("ip") or not shutil.which("unshare"):
        skip("there is no ip (iproute2) or no unshare")
    launcher()
    if not Path(modules, "libtabane_mpi_openmpi.so").exists():
        skip("tabane was built without Open MPI")
    try:
        with Network(1):
            pass
    except subprocess.CalledProcessError as error:
        skip(f"network namespaces are not allowed here: {error.stderr.strip()}")


def main():
    program, modules = sys.argv[1:3]
    require_network(modules)
    run_suite(program, modules, hosts=2, ranks_a_host=1)
    run_suite(program, modules, hosts=3, ranks_a_host=2)
    cut_link(program, modules)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    main()
