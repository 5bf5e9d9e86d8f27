#!/usr/bin/env python3
"""The package tabane as Python sees it. Takes the program from the arguments."""
import gc
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from fractions import Fraction

TABANE = os.environ["TABANE"] = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, str(pathlib.Path(TABANE).parent / "python"))
import tabane  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


class Odd(Exception):
    """Can be pickled, and not be made again: its arguments are others."""

    def __init__(self, a, b):
        super().__init__(a + b)


class Mute(Odd):
    def __repr__(self):
        raise RuntimeError("it has no words")


def meet(folder, processes):
    """Waits until so many of a team are here; the process."""
    pathlib.Path(folder, str(os.getpid())).touch()
    end = time.monotonic() + 60
    while len(os.listdir(folder)) < processes:
        if time.monotonic() > end:
            raise TimeoutError(f"only {os.listdir(folder)} have a task")
        time.sleep(0.001)
    return os.getpid()


def square(x):
    return x * x


class Map(unittest.TestCase):
    def test_results_are_those_of_a_loop_in_this_order(self):
        for processes, threads in ((1, 1), (2, 1), (3, 2), (1, 4), (0, 1), (0, 0)):
            team = tabane.Team(processes, threads)
            for items in ([], [3], range(1000), {"a": 1}, "text"):
                with self.subTest(processes=processes, threads=threads, items=items):
                    items, again = itertools.tee(items)
                    self.assertEqual([2 * x for x in again], team.map(lambda x: 2 * x, items))
            self.assertEqual([0, 2, 4], team.map(lambda x: 2 * x, range(3)))

    def test_work_is_shared_by_processes_forked_for_the_call(self):
        data = {"key": "here"}
        team = tabane.Team(3)
        data["key"] = "changed before the call"
        pids = set()

        def task(i):
            pids.add(os.getpid())  # stays there
            return meet(folder, 3), data["key"]

        with tempfile.TemporaryDirectory() as folder:
            results = team.map(task, range(30))
        self.assertEqual({"changed before the call"}, {text for _, text in results})
        self.assertEqual(3, len({pid for pid, _ in results}))
        self.assertNotIn(os.getpid(), {pid for pid, _ in results})
        self.assertEqual(set(), pids)
        self.assertEqual((3, 1, 30), (team.report["processes"], team.report["threads"],
                                      sum(team.report["tasks"])))

    def test_threads_share_a_process(self):
        both = threading.Barrier(2)  # one that waits alone would wait for ever
        results = tabane.Team(1, 2).map(lambda i: both.wait(20) >= 0, range(2))
        self.assertEqual([True, True], results)
        with tempfile.TemporaryDirectory() as folder:
            results = tabane.Team(2, 2).map(lambda i: meet(folder, 2), range(8))
        self.assertEqual(2, len(set(results)))

    def test_an_exception_arrives_with_its_traceback(self):
        def fails_here(i):
            return {}["missing"] if i == 7 else i

        for processes in (1, 2):
            with self.subTest(processes=processes), self.assertRaises(KeyError) as caught:
                tabane.Team(processes).map(fails_here, range(10))
            self.assertEqual(("missing",), caught.exception.args)
            self.assertRegex(str(caught.exception.__cause__), r'task 7:\n(.|\n)*in fails_here\n')

    def test_an_exception_that_cannot_be_made_again_is_named(self):
        def fails(_):
            raise Odd("a", "b")

        with self.assertRaisesRegex(tabane.TaskError, r"task 0 failed: Odd\('ab'\)"):
            tabane.Team(2).map(fails, [1])

    def test_an_exception_that_cannot_even_be_named_is_a_failure(self):
        def fails(_):
            raise Mute("a", "b")

        with self.assertRaisesRegex(tabane.TaskError, "it has no words"):
            tabane.Team(2).map(fails, [1])

    def test_a_result_that_cannot_be_pickled_is_a_failure(self):
        with self.assertRaisesRegex(Exception, "pickle"):
            tabane.Team(2).map(lambda i: lambda: i, range(3))

    def test_a_lost_process_is_named_and_the_team_works_on(self):
        def dies(i):
            if i == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            return i

        team = tabane.Team(2)
        with self.assertRaisesRegex(tabane.LostError, r"task 5.*signal 9"):
            team.map(dies, range(10))
        self.assertEqual([0, 1, 2], team.map(lambda i: i, range(3)))
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_other_threads_forbid_a_fork_unless_they_are_allowed(self):
        end = threading.Event()
        other = threading.Thread(target=end.wait)
        other.start()
        try:
            with self.assertRaisesRegex(tabane.UsageError, "allow_other_threads"):
                tabane.Team(2).map(square, range(4))
            team = tabane.Team(2, allow_other_threads=True)
            self.assertEqual([0, 1, 4, 9], team.map(square, range(4)))
        finally:
            end.set()
            other.join()
        self.assertEqual([0, 1], tabane.Team(2).map(square, range(2)))

    def test_wrong_numbers_are_refused(self):
        with self.assertRaisesRegex(ValueError, "processes = -1"):
            tabane.Team(-1)

    def test_the_interpreter_knows_of_the_fork(self):
        seen = []
        os.register_at_fork(before=lambda: seen.append("before"),
                            after_in_parent=lambda: seen.append("parent"),
                            after_in_child=lambda: seen.append("child"))
        histories = tabane.Team(2).map(lambda i: (os.getpid(), list(seen)), range(4))
        for _, history in histories:
            self.assertEqual("child", history[-1])
        self.assertEqual(["before", "parent"], seen[:2])
        self.assertEqual(seen.count("before"), seen.count("parent"))

    def test_tasks_may_start_processes_and_teams(self):
        def task(i):
            said = subprocess.run(["echo", str(i)], capture_output=True, text=True, check=True)
            pid = os.fork()
            if pid == 0:
                os._exit(i)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            return said.stdout, status, tabane.Team(2).map(square, [i])

        expected = [(f"{i}\n", i, [i * i]) for i in range(4)]
        self.assertEqual(expected, tabane.Team(2).map(task, range(4)))

    def test_what_tasks_print_comes_once(self):
        code = (f"import sys; sys.path.insert(0, {sys.path[0]!r}); import tabane\n"
                "print('before'); tabane.Team(2).map(print, ['a', 'b']); print('after')")
        # -E: without PYTHONUNBUFFERED.
        done = subprocess.run([sys.executable, "-E", "-c", code], capture_output=True, text=True,
                              check=True)
        lines = done.stdout.split()
        self.assertEqual(["before", "after", 4], [lines[0], lines[-1], len(lines)])
        self.assertEqual({"a", "b"}, set(lines[1:3]))

    def test_objects_are_kept_from_collections_meanwhile(self):
        self.assertGreater(min(tabane.Team(2).map(lambda i: gc.get_freeze_count(), range(4))), 0)
        self.assertEqual(0, gc.get_freeze_count())


class Program(unittest.TestCase):
    def test_survey_gives_a_record(self):
        record = tabane.survey(quick=True, only=["clock.tick_rate"])
        self.assertEqual(["clock.tick_rate"], [result["name"] for result in record["results"]])
        self.assertTrue(record["quick"])

    def test_time_gives_a_record_that_can_be_compared(self):
        records = [tabane.time(["true", "sleep 0.01"], runs=4, min_time="0s") for _ in range(2)]
        self.assertEqual("time", records[0]["name"])
        compared = tabane.compare(*records, threshold="1000%")
        self.assertEqual("comparison", compared["kind"])
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "-a.json").write_text(json.dumps(records[0]))
            before = os.getcwd()
            os.chdir(folder)
            try:
                self.assertEqual("comparison", tabane.compare("-a.json", records[1])["kind"])
            finally:
                os.chdir(before)

    def test_tune_gives_a_record(self):
        with tempfile.TemporaryDirectory() as folder:
            record = tabane.tune(["sleep", "0.01"], runs=18, only="threads",
                                 save=f"{folder}/tuned.json")
        self.assertEqual("tune", record["name"])
        self.assertTrue(record["results"])

    def test_a_refusal_has_the_sentence_and_the_exit_code(self):
        with self.assertRaisesRegex(tabane.ProgramError, "no-such-verb|--no-such") as caught:
            tabane.survey(no_such=1)
        self.assertEqual(2, caught.exception.exit_status)

    def test_limits_are_kept_for_this_machine_only(self):
        with tempfile.TemporaryDirectory() as folder:
            calls = []

            def measured(**options):
                calls.append(options)
                return {"results": [{"name": "peak", "value": len(calls), "unit": "FLOP/s",
                                     "interval": None, "samples": [1]}]}

            before, os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME"), folder
            survey, tabane.survey = tabane.survey, measured
            machine = tabane._this_machine
            try:
                first = {"peak": {"value": 1, "unit": "FLOP/s", "interval": None}}
                self.assertEqual([first] * 2, [tabane.limits(), tabane.limits()])
                self.assertEqual(2, tabane.limits(refresh=True)["peak"]["value"])
                tabane._this_machine = lambda: [machine()[0], "another", [0]]
                self.assertEqual(3, tabane.limits()["peak"]["value"])
                file, = pathlib.Path(folder).glob("tabane/limits-*.json")
                known = file.read_text()
                for damaged in ("", known[:-1], "[]", "{}",
                                known.replace(tabane.__version__, "0.0.0", 1)):
                    with self.subTest(damaged):
                        file.write_text(damaged)
                        self.assertEqual(len(calls) + 1, tabane.limits()["peak"]["value"])
                self.assertEqual(len(calls), tabane.limits()["peak"]["value"])
            finally:
                tabane.survey, tabane._this_machine = survey, machine
                os.environ.pop("XDG_CACHE_HOME")
                if before is not None:
                    os.environ["XDG_CACHE_HOME"] = before
        self.assertTrue(all(call["quick"] for call in calls))

    def test_what_a_command_says_on_stderr_is_a_warning(self):
        record = {"results": []}
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "tabane")
            program.write_text(f"#!/bin/sh\necho '{json.dumps(record)}'\necho careful >&2\n")
            program.chmod(0o700)
            with unittest.mock.patch.dict(os.environ, TABANE=str(program)):
                with self.assertWarnsRegex(UserWarning, "^careful$") as caught:
                    self.assertEqual(record, tabane.survey())
        self.assertEqual(__file__, caught.filename)

    def test_a_record_becomes_a_data_frame(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas")
        frame = tabane.Record(results=[
            {"name": "a", "value": 2.0, "interval": [1, 3], "unit": "s", "factors": {"n": 8}},
            {"name": "b", "value": None, "interval": None, "unit": "B"}]).to_pandas()
        self.assertEqual(["a", 8, 2.0, 1, 3, "s"],
                         list(frame.loc[0, ["name", "n", "value", "low", "high", "unit"]]))
        self.assertTrue(frame.loc[1, ["value", "low", "high"]].isna().all())


@unittest.skipIf(numpy is None, "no NumPy")
class Solvers(unittest.TestCase):
    def test_a_product_is_exact(self):
        left, right = numpy.array([[2**70, 0.1], [1, 0]]), [[2**70, 1], [3, 10]]
        product, report = tabane.matmul(left.astype(object), right, bits=256)
        exact = 2**140 + 3 * Fraction(0.1)
        self.assertLess(abs(Fraction(product[0, 0]) / exact - 1), Fraction(1, 2**255))
        self.assertEqual([2**70, 1], list(product[1]))
        self.assertTrue(report["passed"])
        numbers = [[2**53 + 1, 0.5], [numpy.int64(3), numpy.float32(0.25)]]
        product, _ = tabane.matmul(numbers, [[1, 0], [0, 1]])
        self.assertEqual([[2**53 + 1, 0.5], [3, 0.25]], product.tolist())

    def test_poisson_solves_its_equation(self):
        rows, columns = 5, 7
        f = numpy.arange(35.0).reshape(rows, columns)
        u, report = tabane.scg(f=f, boundary={"west": 1, "north": numpy.arange(7.0)})
        self.assertEqual((rows, columns), u.shape)
        around = numpy.zeros((rows + 2, columns + 2))
        around[1:-1, 1:-1], around[1:-1, 0], around[0, 1:-1] = u, 1, numpy.arange(7.0)
        minus = 4 * u - around[:-2, 1:-1] - around[2:, 1:-1] - around[1:-1, :-2] - around[1:-1, 2:]
        numpy.testing.assert_allclose(minus * (columns + 1)**2, f, atol=1e-8)
        self.assertTrue(report["converged"])

    def test_a_side_may_have_a_flow(self):
        u, _ = tabane.scg(n=4, f=0, k=numpy.full((4, 4), 2.0),
                          boundary={"west": 1, "east": ("neumann", 0.0), "north": "neumann",
                                    "south": "neumann"})
        numpy.testing.assert_allclose(u, 1)


if __name__ == "__main__":
    unittest.main()
