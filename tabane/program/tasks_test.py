"""What a batch system starts: one of several tasks that no MPI connects; a process on one CPU."""
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/lib"))
from tool_case import Case

SEVERAL = ("env", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4", "SLURM_LOCALID=1",
           "SLURM_TASKS_PER_NODE=4")
SHARED = {  # verbs of whose work each task would do the whole
    "linpack": ("-n", 8), "scg": (), "slalom": (), "matmul": ("-n", 8),
    "mine": ("data", "--min-support", 0.5), "encrypt": ("--key-file", "my.key", "in", "out"),
    "decrypt": ("--key-file", "my.key", "in", "out"), "verify": ("--key-file", "my.key", "in")}


class Test(Case):
    def run_verb(self, verb, *arguments, **options):
        self.tool = verb
        return self.run_tool(*arguments, **options)


class Tasks(Test):
    def test_that_nothing_connects_share_no_work(self):
        self.file("data", "1 2\n")
        self.run_verb("keygen", "my.key", code=0)
        for verb, arguments in SHARED.items():
            with self.subTest(verb):
                done = self.run_verb(verb, *arguments, before=SEVERAL, code=2)
                self.assertIn("start them by srun --mpi=pmix", done.stderr)
                self.assertEqual("", done.stdout)
        self.assertEqual(["data", "my.key"], sorted(os.listdir(self.folder)))

    def test_run_where_nothing_is_shared(self):
        self.run_verb("linpack", "-n", 8, "--transport", "shm", before=SEVERAL, code=0)
        self.run_verb("time", "true", "--runs", 2, before=SEVERAL, code=0)
        self.run_verb("survey", "--quick", "--only", "clock.tick_rate", "--json", before=SEVERAL,
                      code=0)
        done = self.run_verb("run", "--part", "launcher", "--dry-run", "--", "true", before=SEVERAL)
        self.assertNotIn("several tasks", done.stderr)


@unittest.skipUnless(shutil.which("taskset"), "needs taskset")
class OneCpu(Test):
    def setUp(self):
        super().setUp()
        self.one = ("taskset", "-c", str(max(os.sched_getaffinity(0))))

    def test_gives_one_rank_and_one_thread(self):
        (self.folder / "in").mkdir()
        for name in map(str, range(40)):
            (self.folder / "in" / name).write_bytes(bytes(1 << 20))
        self.run_verb("keygen", "my.key", code=0)
        self.tool = "linpack"
        self.assertEqual(1, self.told("-n", 8, before=self.one)["ranks"])
        self.tool = "encrypt"
        tree = ("--key-file", "my.key", "in")
        self.assertEqual(1, self.told(*tree, "out", before=self.one)["threads"])
        self.assertEqual(2, self.told(*tree, "again", "--threads", 2, before=self.one)["threads"])


if __name__ == "__main__":
    unittest.main()
