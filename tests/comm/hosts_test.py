#!/usr/bin/env python3
"""Runs the conformance suite over TCP between hosts: network namespaces with addresses, host names
and links of their own.

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


def command(network, work, program, ranks_a_host):
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
             str(ranks_a_host * len(network.hosts)), "-x", "TABANE_MPI_MODULE"]
    for name, value in parameters.items():
        words += ["--mca", name, str(value)]
    # The launcher itself runs on the first host.
    first = network.hosts[0]
    return ["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c",
            'hostname "$0"; exec "$@"', first, *words, program, "--transport", "mpi", "--quick"]


def run_suite(program, modules, hosts, ranks_a_host):
    environment = dict(os.environ, TABANE_MPI_MODULE=modules, OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory() as folder, Network(hosts) as network:
        words = command(network, Path(folder), program, ranks_a_host)
        with subprocess.Popen(words, env=environment, start_new_session=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as process:
            try:
                output, _ = process.communicate(timeout=240)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        print(f"{hosts} hosts, {ranks_a_host} ranks each: {output}", flush=True)
        wanted = f"checks hold on mpi with {hosts * ranks_a_host} ranks"
        if process.returncode != 0 or wanted not in output:
            sys.exit(f"the suite failed between hosts: exit {process.returncode}")
        traffic = "/sys/class/net/cable/statistics/tx_bytes"
        sent = subprocess.run(["ip", "netns", "exec", network.hosts[1], "cat", traffic],
                              capture_output=True, text=True, check=True).stdout
        if int(sent) < 1_000_000:
            sys.exit(f"the second host sent {sent.strip()} bytes only: they went another way")


def main():
    program, modules = sys.argv[1:3]
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
    run_suite(program, modules, hosts=2, ranks_a_host=1)
    run_suite(program, modules, hosts=3, ranks_a_host=2)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    main()
