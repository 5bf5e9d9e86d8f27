"""tabane run as its users meet it: exit codes, arguments, environment, messages."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

TABANE = sys.argv.pop(1)
OURS = ("OMP_", "OPENBLAS_", "MKL_", "BLIS_", "HWLOC_", "GLIBC_TUNABLES", "MALLOC_CONF")
FIRST = min(os.sched_getaffinity(0))


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    environment.update(variables)
    return subprocess.run([TABANE, "run", *arguments], env=environment, capture_output=True,
                          text=True, timeout=60)


class ExitCode(unittest.TestCase):
    def test_of_the_command_is_passed_through(self):
        for code in (0, 1, 7, 125):
            self.assertEqual(run("--", "sh", "-c", f"exit {code}").returncode, code)

    def test_of_a_command_killed_by_a_signal_is_the_signal(self):
        self.assertEqual(run("--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_is_127_if_not_found(self):
        result = run("--", "/nonexistent/command")
        self.assertEqual(result.returncode, 127)
        self.assertIn("/nonexistent/command", result.stderr)

    def test_is_126_if_not_executable(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("text\n")
            file.flush()
            self.assertEqual(run("--", file.name).returncode, 126)

    def test_is_125_for_what_tabane_itself_refuses(self):
        for bad, words in ((["-c", "65000"], "CPU 65000"), (["-m", "60000"], "60000"),
                           (["--bogus"], "no option '--bogus'"), (["-t", "999999999"], "--threads"),
                           (["--tuned", "/nowhere"], "/nowhere")):
            with self.subTest(bad):
                result = run(*bad, "--", "true")
                self.assertEqual(result.returncode, 125, result.stderr)
                self.assertIn(words, result.stderr)


class Command(unittest.TestCase):
    def test_keeps_its_options_where_the_mark_was_left_out(self):
        for ours in ([], ["-q"], ["-c", str(FIRST)], ["-t1"], ["--threads=1", "-l"]):
            result = run(*ours, "sh", "-c", "echo $0 $1", "-q", "-c")
            self.assertEqual(result.stdout, "-q -c\n", result.stderr)

    def test_gets_its_arguments_unchanged(self):
        arguments = ["a b", "new\nline", "", "[1,2]", "--", "-c", "study", "*", "$HOME", '"']
        show = "import sys; print(repr(sys.argv[1:]))"
        result = run("-q", "--", sys.executable, "-c", show, *arguments)
        self.assertEqual(result.stdout, repr(arguments) + "\n")

    def test_is_bound(self):
        show = "import os; print(sorted(os.sched_getaffinity(0)))"
        result = run("-c", str(FIRST), "--", sys.executable, "-c", show)
        self.assertEqual(result.stdout, f"[{FIRST}]\n", result.stderr)

    def test_gets_the_environment(self):
        show = "echo $OMP_NUM_THREADS $OMP_PLACES $OMP_PROC_BIND $OPENBLAS_NUM_THREADS"
        result = run("-c", str(FIRST), "--", "sh", "-c", show)
        self.assertEqual(result.stdout, f"1 {{{FIRST}}} close 1\n", result.stderr)

    def test_keeps_the_variables_of_the_user(self):
        show = "echo $OMP_NUM_THREADS $OMP_PLACES $OMP_PROC_BIND $MKL_NUM_THREADS"
        result = run("-v", "-c", str(FIRST), "--", "sh", "-c", show, OMP_NUM_THREADS="3",
                     OMP_PLACES="cores", OMP_PROC_BIND="false", MKL_NUM_THREADS="5")
        self.assertEqual(result.stdout, "3 cores false 5\n")
        self.assertIn("kept: OMP_PLACES=cores", result.stderr)
        self.assertIn("oversubscribed", result.stderr)

    def test_gets_tunables_added_to_its_own(self):
        result = run("--huge-pages", "--", "sh", "-c", "echo $GLIBC_TUNABLES",
                     GLIBC_TUNABLES="glibc.malloc.arena_max=2")
        self.assertEqual(result.stdout, "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1\n")

    def test_runs_with_a_memory_policy(self):
        for policy in (["-l"], ["-i", "all"], ["-m", "all"], ["--preferred", "all"]):
            self.assertEqual(run(*policy, "--", "true").returncode, 0)


class Output(unittest.TestCase):
    def test_is_two_lines_on_stderr_a_map_if_asked_or_nothing(self):
        short = run("-t", "1", "-c", str(FIRST), "--", "true")
        self.assertEqual(short.stdout, "")
        self.assertEqual(len(short.stderr.splitlines()), 2, short.stderr)
        self.assertIn(f"1 thread on PUs {FIRST} (1 core)", short.stderr)
        loud = run("-v", "-t", "1", "--", "true")
        self.assertIn("worker 0 -> PU", loud.stderr)
        self.assertEqual(run("-q", "--", "true").stderr, "")

    def test_dry_run_is_on_stdout_and_runs_nothing(self):
        result = run("--dry-run", "--", "sh", "-c", "exit 7")
        self.assertEqual(result.returncode, 0)
        self.assertIn("set: OMP_NUM_THREADS=", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_names_the_usable_cpus_when_one_is_not(self):
        result = run("-c", "65000", "--", "true")
        self.assertIn("CPU 65000 is not usable: usable are", result.stderr)

    def test_lists_the_hardware_without_a_command(self):
        result = run("--hardware", HWLOC_SYNTHETIC="numa:2 core:2 pu:1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("available: 2 nodes (0-1)\nnode 0 cpus: 0-1\n"),
                        result.stdout)
        self.assertRegex(run("--hardware").stdout, r"node \d+ free: ")
        for more in (["--nosuch"], ["foo"], ["-t", "1"], ["--", "true"]):
            result = run("--hardware", *more)
            self.assertEqual((result.returncode, result.stdout), (125, ""), more)
            self.assertIn("nothing goes with --hardware", result.stderr)

    def test_help_starts_with_examples(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.startswith("Examples:"), result.stdout)


if __name__ == "__main__":
    unittest.main()
