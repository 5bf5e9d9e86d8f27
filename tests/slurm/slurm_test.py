"""tabane under a real Slurm: a controller and two nodes, each a network, host-name and process
namespace with a /dev/shm of its own, which share files. Needs root, Slurm, MUNGE and Open MPI.

usage: slurm_test.py PROGRAM MODULE_DIR [TEST…]
"""

import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent / "comm")]
from tool_case import TABANE, Case, cpu_seconds
import hosts_test

MODULES = sys.argv.pop(1)
CONTROLLER, *NODES = range(3)
DOCUMENT = HERE.parents[1] / "docs/clusters.md"
SMALLER = {"40000": "200", "=16": "=2",
           "tabane survey": "tabane survey --quick --only clock.tick_rate"}
PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
WITH_TABANE = f"PATH={pathlib.Path(TABANE).parent}:{os.environ['PATH']}"
SETTINGS = """\
ClusterName=tabane
SlurmctldHost={controller}({address})
SlurmUser=root
AuthInfo=socket={folder}/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdTimeout=10
KillWait=10
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES
"""
# /sys shows the network of the node, and the control groups, which slurmd asks for, as they are.
BOOT = """
hostname "$0"
mount -t tmpfs shm /dev/shm
mount --rbind /sys/fs/cgroup "$1"
mount -t sysfs sysfs /sys
mount --rbind "$1" /sys/fs/cgroup
exec slurmd -D
"""


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.network = hosts_test.Network(1 + len(NODES))
        self.daemons = {}

    def __enter__(self):
        self.network.__enter__()
        try:
            self.write_settings()
            self.start("munged", "munged", "--foreground", "--force",
                       f"--key-file={self.folder}/key", f"--socket={self.folder}/socket",
                       *(f"--{what}-file={self.folder}/munge.{what}"
                         for what in ("pid", "log", "seed")))
            self.start("slurmctld", *self.on_controller("slurmctld", "-D"))
            for node in NODES:
                self.boot(node)
            self.wait_for_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
        self.network.remove()

    def write_settings(self):
        hosts = self.network.hosts
        key = self.folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        lines = SETTINGS.format(controller=hosts[CONTROLLER], folder=self.folder,
                                address=self.network.address(CONTROLLER))
        machine = subprocess.run(["slurmd", "-C"], capture_output=True, text=True, check=True)
        cores = machine.stdout.split()[1:6]  # CPUs=2 Boards=1 SocketsPerBoard=1 …
        for node in NODES:
            lines += " ".join([f"NodeName={hosts[node]} NodeAddr={self.network.address(node)}",
                               *cores, "\n"])
        (self.folder / "slurm.conf").write_text(lines)

    def start(self, name, *words):
        with (self.folder / f"{name}.out").open("w") as out:
            self.daemons[name] = subprocess.Popen(
                words, env=dict(os.environ, SLURM_CONF=f"{self.folder}/slurm.conf"),
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def boot(self, node):
        host = self.network.hosts[node]
        for folder in (host, f"{host}.cgroup"):
            (self.folder / folder).mkdir(exist_ok=True)
        self.start(host, "nsenter", f"--net=/run/netns/{host}", "unshare", "--uts", "--mount",
                   "--ipc", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-ec", BOOT,
                   host, f"{self.folder}/{host}.cgroup")

    def wait_for_nodes(self):
        def idle():
            said = subprocess.run(self.on_controller("sinfo", "-ho", "%T %D"), capture_output=True,
                                  text=True, check=False)
            return said.stdout.strip() == f"idle {len(NODES)}"
        hosts_test.wait_for("a node", idle)

    def on_controller(self, *words):
        """The words that run these, which may be commands of Slurm."""
        host = self.network.hosts[CONTROLLER]
        return ["nsenter", f"--net=/run/netns/{host}", "unshare", "--uts", "env",
                f"SLURM_CONF={self.folder}/slurm.conf", "sh", "-c", 'hostname "$0"; exec "$@"',
                host, *map(str, words)]

    def kill(self, node):
        """The node with all that it runs."""
        daemon = self.daemons[self.network.hosts[node]]
        daemon.kill()
        daemon.wait()

    def shared_memory(self, node):
        """The names in /dev/shm of the node."""
        host = self.daemons[self.network.hosts[node]].pid  # unshare; slurmd is its child
        slurmd = pathlib.Path(f"/proc/{host}/task/{host}/children").read_text().strip()
        return os.listdir(f"/proc/{slurmd}/root/dev/shm")


class OnSlurm(Case):
    cluster = None

    def srun(self, *options):
        return self.cluster.on_controller("srun", *options)

    def both(self):
        return self.srun("--nodes=2", "--ntasks=4", "--mpi=pmix")

    def run_verb(self, verb, *arguments, **options):
        self.tool = verb
        return self.run_tool(*arguments, **options)

    def told_by(self, verb, *arguments, **options):
        self.tool = verb
        return self.told(*arguments, **options)

    def write_tree(self, files, size):
        (self.folder / "in").mkdir()
        for number in range(files):
            (self.folder / "in" / str(number)).write_bytes(os.urandom(size))
        self.run_verb("keygen", "my.key", code=0)

    def expect_whole(self):
        self.run_verb("decrypt", "--key-file", "my.key", "sealed", "opened", code=0)
        for file in (self.folder / "in").iterdir():
            self.assertEqual(file.read_bytes(), (self.folder / "opened" / file.name).read_bytes())

    def expect_no_shared_memory(self, nodes=NODES):
        for node in nodes:
            self.assertEqual([], self.cluster.shared_memory(node))


class Ranks(OnSlurm):
    def test_of_both_nodes_solve_a_system(self):
        for solver in ("linpack", "scg"):
            told = self.told_by(solver, "-n", 64, before=self.both())
            self.assertEqual((4, True), (told["ranks"], told["passed"]))
        self.expect_no_shared_memory()

    def test_of_both_nodes_mine(self):
        self.file("data", "1 2 3\n1 2\n2 3\n1 2 4\n" * 50)
        found = ("--min-support", 0.4, "data")
        alone = self.told_by("mine", *found)
        told = self.told_by("mine", *found, before=self.both())
        self.assertEqual(alone["itemsets"], told["itemsets"])

    def test_of_both_nodes_encrypt(self):
        self.write_tree(40, 100_000)
        told = self.told_by("encrypt", "--key-file", "my.key", "in", "sealed", before=self.both())
        self.assertEqual((4, 40), (told["ranks"], told["files_done"]))
        self.expect_whole()

    def test_that_nothing_connects_name_the_remedy(self):
        done = self.run_verb("linpack", "-n", 8, before=self.srun("--ntasks=2"), code=2)
        self.assertIn("start them by srun --mpi=pmix", done.stderr)
        self.assertEqual("", done.stdout)


class OneCpu(OnSlurm):
    def test_is_all_that_a_task_takes(self):
        self.write_tree(40, 1_000_000)
        one = {"before": self.srun("--ntasks=1", "--cpus-per-task=1")}
        self.assertEqual(1, self.told_by("linpack", "-n", 8, **one)["ranks"])
        told = self.told_by("encrypt", "--key-file", "my.key", "in", "sealed", **one)
        self.assertEqual(1, told["threads"])
        survey = self.told_by("survey", "--quick", "--only", "clock.tick_rate", **one)
        self.assertEqual(1, survey["machine"]["pus"])
        self.run_verb("tune", "-q", "-r", 24, "--only", "threads", "--", "sleep", "0.01", **one)
        tuned = json.loads((self.folder / "tuned.json").read_text())
        self.assertEqual(1, tuned["machine"]["pus"])
        two = self.srun("--ntasks=1", "--cpus-per-task=2")
        self.assertEqual(2, self.told_by("linpack", "-n", 8, before=two)["ranks"])

    def test_of_each_task_is_another(self):
        done = self.run_verb("run", "--part", "launcher", "--dry-run", "--", "true", code=0,
                             before=self.srun("--nodes=1", "--ntasks=2", "--cpus-per-task=1"))
        pus = [line for line in done.stdout.splitlines() if line.startswith("process -> PUs ")]
        self.assertEqual((2, 2), (len(pus), len(set(pus))), done.stdout)


class Batch(OnSlurm):
    def submit(self, script):
        """Runs it as a job, to its end; its number."""
        self.file("job", script)
        submit = self.cluster.on_controller("env", WITH_TABANE, f"SCRATCH={self.folder}", "sbatch",
                                            "--wait", "--parsable", "job")
        done = subprocess.run(submit, cwd=self.folder, text=True, timeout=200, check=False, **PIPES)
        said = [file.read_text() for file in self.folder.glob("slurm-*.out")]
        self.assertEqual(0, done.returncode, done.stderr + "".join(said))
        return done.stdout.strip()

    def test_runs_what_tune_exports(self):
        work = "test {processes} = 1 && sleep 0.08; touch $SLURM_JOB_ID.{index}.of.{processes}"
        done = self.run_verb("tune", "-q", "-r", 24, "--repeat", 1, "--shards", "--only",
                             "processes", "--most-processes", 2, "--ignore-output", "--export",
                             "slurm", "--", "sh", "-c", work, code=0)
        job = self.submit(done.stdout[done.stdout.index("#!/bin/sh"):])
        made = {file.name for file in self.folder.glob(f"{job}.*")}
        self.assertEqual({f"{job}.0.of.2", f"{job}.1.of.2"}, made)

    def test_runs_the_scripts_of_the_documentation(self):
        """In small; those of PBS and LSF in a shell with what these systems set."""
        scripts = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
        self.assertEqual(4, len(scripts))
        self.write_tree(4, 1000)
        (self.folder / "in").rename(self.folder / "results")
        hosts = self.folder / self.file("hosts", "localhost\nlocalhost\n")
        elsewhere = ("env", WITH_TABANE, f"PBS_O_WORKDIR={self.folder}", f"PBS_NODEFILE={hosts}",
                     f"LSB_DJOB_HOSTFILE={hosts}", "OMPI_ALLOW_RUN_AS_ROOT=1",
                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
        for script in scripts:
            for large, small in SMALLER.items():
                script = script.replace(large, small)
            (self.folder / "linpack.json").unlink(missing_ok=True)
            with self.subTest(script):
                job = self.submit(script) if "#SBATCH" in script else None
                if job is None:
                    subprocess.run([*elsewhere, "bash", "-ec", script], cwd=self.folder, check=True,
                                   timeout=60, **PIPES)
                if "linpack" in script:
                    told = json.loads((self.folder / "linpack.json").read_text())
                    self.assertEqual((4 if job else 2, True), (told["ranks"], told["passed"]))
                else:
                    self.assertTrue((self.folder / f"survey-{job}" / "report.html").exists())
        self.assertTrue((self.folder / "sealed" / "3").exists())


class Interrupted(OnSlurm):
    def seal(self, *options):
        return [*self.both(), TABANE, "encrypt", *options, "--key-file", "my.key", "in", "sealed"]

    def end_and_resume(self, act, mend=lambda: None):
        """`act` ends the job in the middle, again if it was too fast; `mend` puts things right."""
        self.write_tree(24, 16 << 20)
        for _ in range(9):
            shutil.rmtree(self.folder / "sealed", ignore_errors=True)
            with subprocess.Popen(self.seal(), cwd=self.folder, text=True, **PIPES) as process:
                while process.poll() is None and not any(self.folder.glob("sealed/[0-9]*")):
                    time.sleep(0.001)
                try:
                    act()
                    _, errors = process.communicate(timeout=100)
                finally:
                    mend()
                    self.cluster.wait_for_nodes()
            if process.returncode != 0:
                break
        else:
            self.fail("the job was always done before its end")
        self.assertIn("what is done is whole, and --resume does the rest", errors)
        self.expect_no_shared_memory()
        done = subprocess.run(self.seal("--resume"), cwd=self.folder, text=True, timeout=100,
                              check=False, **PIPES)
        self.assertEqual(0, done.returncode, done.stderr)
        self.expect_whole()

    def test_by_scancel(self):
        self.end_and_resume(lambda: subprocess.run(
            self.cluster.on_controller("scancel", "--user=root"), check=True))

    def test_by_a_lost_node(self):
        self.end_and_resume(lambda: self.cluster.kill(NODES[1]),
                            lambda: self.cluster.boot(NODES[1]))

    def test_a_solver_by_a_lost_node(self):
        """It names the node that is off, before Slurm does."""
        cable = f"port{NODES[1]}"
        program = os.path.realpath(TABANE)

        def set_cable(state):
            hosts_test.ip("-n", self.cluster.network.switch, "link", "set", cable, state)

        def put_back():
            set_cable("up")
            self.cluster.boot(NODES[1])
            self.cluster.wait_for_nodes()

        with subprocess.Popen([*self.both(), "env", "TABANE_SILENCE_LIMIT=2", program, "linpack",
                               "-n", "12000"], text=True, **PIPES) as process:
            def ranks():
                return hosts_test.processes_of(self.cluster.network, program)
            while len(ranks()) < 4 or min(map(cpu_seconds, ranks())) < 1:
                self.assertIsNone(process.poll())
                time.sleep(0.1)
            self.addCleanup(put_back)
            set_cable("down")
            self.cluster.kill(NODES[1])
            out, errors = process.communicate(timeout=100)
        self.assertNotEqual(0, process.returncode)
        self.assertEqual("", out)
        self.assertIn(f"its host {self.cluster.network.hosts[NODES[1]]} has been silent for 2 s",
                      errors)
        self.expect_no_shared_memory(NODES[:1])


class Start(OnSlurm):
    @unittest.skipUnless(shutil.which("mpicc.openmpi"), "needs mpicc.openmpi")
    def test_takes_about_what_mpi_takes(self):
        """A figure, no check."""
        self.file("empty.c", "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || "
                             "MPI_Barrier(MPI_COMM_WORLD) || MPI_Finalize(); }\n")
        subprocess.run(["mpicc.openmpi", "empty.c", "-o", "empty"], cwd=self.folder, check=True)
        both = self.srun("--nodes=2", "--ntasks=2", "--cpu-bind=none", "--mpi=pmix")
        seconds = {("./empty",): [], (TABANE, "linpack", "-n", "4"): []}
        for _ in range(9):
            for program, samples in seconds.items():
                begin = time.monotonic()
                subprocess.run([*both, *program], cwd=self.folder, check=True, timeout=60,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                samples.append(time.monotonic() - begin)
        empty, ours = map(statistics.median, seconds.values())
        print(f"from start to end of 4 equations on 2 nodes {ours:.2f} s, of an empty MPI program "
              f"{empty:.2f} s: {ours / empty:.2f} times")


def main():
    for program in ("slurmctld", "slurmd", "srun", "munged"):
        if not shutil.which(program):
            hosts_test.skip(f"there is no {program} (make test-slurm installs it)")
    hosts_test.require_network(MODULES)
    if len(os.sched_getaffinity(0)) < 2:
        hosts_test.skip("two tasks of a node need two CPUs")
    with tempfile.TemporaryDirectory() as folder, Cluster(pathlib.Path(folder)) as OnSlurm.cluster:
        return unittest.main(exit=False).result.wasSuccessful()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    sys.exit(0 if main() else 1)
