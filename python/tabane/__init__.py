"""Measures and tunes parallel machines, and works with teams of processes.

    limits = tabane.limits()                    # what can this machine do?
    tabane.time(["sort a", "LC_ALL=C sort a"])  # which command is faster?
    tabane.Team(processes=4).map(f, items)      # forked processes that share this one's memory

Functions that are named like commands of tabane run the command and return the JSON that it writes.
Further keywords are its options: `max_time="10s"` is --max-time 10s, `True` an option without a
value, a list repeats the option, and a tuple is several values of one. What the command says on
stderr is a warning.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import pickle
import subprocess
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ._team import LostError, TaskError, UsageError, __version__
from ._team import Team as _Team

if TYPE_CHECKING:
    import pathlib

    import numpy
    import pandas

__all__ = ["LostError", "ProgramError", "Record", "TaskError", "Team", "UsageError", "compare",
           "limits", "matmul", "scg", "survey", "time", "tune"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class ProgramError(RuntimeError):
    """The program tabane has failed; the text is what it says."""

    exit_status = 1


class Record(dict[str, Any]):
    """What a command has measured, as docs/record-format.md describes it."""

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a row for each result: its factors, figure, 95 % interval, and limit."""
        import pandas

        rows = []
        for result in self["results"]:
            low, high = result.get("interval") or (None, None)
            rows.append({"name": result["name"], **result.get("factors", {}),
                         "value": result["value"], "low": low, "high": high,
                         "unit": result["unit"], "limit": result.get("limit"),
                         "of_limit": result.get("of_limit")})
        return pandas.DataFrame(rows)


def survey(*, quick: bool = False, **options: Any) -> Record:
    """Measures this machine, in two minutes, or half a minute if quick."""
    return Record(_run("survey", quick=quick, **options))


def limits(*, refresh: bool = False) -> dict[str, dict[str, Any]]:
    """Returns what the cores and the memory of this machine can do at most.

    The keys are names of probes, such as "peak.fma.machine"; the values have "value", "unit" and
    "interval". Measures for a quarter of a minute when this machine is new, or with refresh, and
    keeps the answer below ~/.cache.
    """
    import pathlib

    this = [__version__, *_this_machine()]
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tabane"
    file = folder / f"limits-{os.uname().nodename}.json"
    if not refresh and file.exists():
        # A file that is damaged, or of another version, is replaced.
        with contextlib.suppress(ValueError, KeyError, TypeError):
            known = json.loads(file.read_text())
            if known["machine"] == this:
                return known["limits"]
    record = survey(quick=True, only="peak,memory.bandwidth,memory.latency")
    found = {result["name"]: {key: result[key] for key in ("value", "unit", "interval")}
             for result in record["results"]}
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f"limits-{os.getpid()}.new"
    new.write_text(json.dumps({"machine": this, "limits": found}))
    new.replace(file)
    return found


def compare(*records: Record | str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Compares records, or files of them, with the first one."""
    with _folder() as folder:
        files: list[str | os.PathLike[str]] = []
        for record in records:
            if isinstance(record, Mapping):
                path = folder / f"{len(files) + 1}.json"
                path.write_text(json.dumps(record))
                record = path
            files.append(record)
        # With a threshold, 1 means that something is worse.
        good = (0, 1) if "threshold" in options else (0,)
        return _run("compare", "--", *files, _good=good, **options)


def time(commands: Sequence[str], **options: Any) -> Record:
    """Runs command lines in turn, until it is known how their times differ from the first one's."""
    return Record(_run("time", "--", *commands, **options))


def tune(argv: Sequence[str], **options: Any) -> Record:
    """Finds what makes a command fastest on this machine, by default in five minutes."""
    return Record(_run("tune", "--", *argv, **options))


def matmul(left: Any, right: Any, *, bits: int = 512,
           **options: Any) -> tuple[numpy.ndarray, dict[str, Any]]:
    """Multiplies matrices of numbers of `bits` bits; each element is rounded once.

    Takes int, float and Decimal. Returns an array of Decimal, and how it was computed and checked.
    """
    import decimal

    import numpy

    def exact(x: Any) -> str:  # unlike the text of a float
        return str(decimal.Decimal(x.item() if isinstance(x, numpy.generic) else x))

    with _folder() as folder:
        for name, matrix in (("left", left), ("right", right)):
            if not isinstance(matrix, numpy.ndarray):
                matrix = numpy.asarray(matrix, dtype=object)  # ints beside floats remain ints
            rows = (" ".join(map(exact, row)) for row in matrix.tolist())
            (folder / name).write_text("".join(f"{row}\n" for row in rows))
        report = _run("matmul", left=folder / "left", right=folder / "right", bits=bits,
                      output=folder / "product", **options)
        lines = (folder / "product").read_text().splitlines()
        return numpy.array([[decimal.Decimal(x) for x in line.split()] for line in lines]), report


def scg(*, f: Any = 1, k: Any = 1, boundary: Mapping[str, Any] | None = None,
        **options: Any) -> tuple[numpy.ndarray, dict[str, Any]]:
    """Solves -div(k grad u) = f on a rectangle of width 1, and returns u and how it was solved.

    f, k: numbers, or arrays with one for each unknown; n=400 or n="300x600" gives their number
    where there is no array. boundary: what is known on the sides "north" (row 0), "south", "west"
    and "east": u, as a number or an array, "neumann", or ("neumann", k du/dn); by default u is 0.
    """
    import numpy

    with _folder() as folder:
        def word(value: Any) -> str:
            if isinstance(value, str):
                return value
            if isinstance(value, tuple):
                return f"{value[0]}:{word(value[1])}"
            if numpy.ndim(value) == 0:
                return repr(float(value))
            path = folder / f"{len(list(folder.iterdir()))}.npy"
            numpy.save(path, numpy.asarray(value, dtype=float))
            return str(path)

        sides = [f"{side}={word(value)}" for side, value in (boundary or {}).items()]
        report = _run("scg", f=word(f), k=word(k), boundary=",".join(sides) or None,
                      output=folder / "u.npy", **options)
        return numpy.load(folder / "u.npy"), report


class Team:
    """Processes x threads that are forked for each call and share the memory of this process.

    What a task changes stays in its process; only results come back. processes=0: as many as a
    sample of the tasks says. Threads of one process take turns, except in functions that release
    the interpreter's lock, as many of NumPy's do.

    A fork is refused while other threads of Python run, as they do in notebooks, for a lock that
    one of them holds would stay locked; not with allow_other_threads. Threads of libraries are not
    looked at: those of OpenBLAS, and so of NumPy, are made again after a fork, but a task must not
    use OpenMP if this process has.

    prepare_memory puts the memory into huge pages first, once, so that forks take less time.
    """

    def __init__(self, processes: int = 0, threads: int = 1, *, allow_other_threads: bool = False,
                 prepare_memory: bool = False) -> None:
        self._teams = [_Team(processes, threads, allowed, prepare_memory)
                       for allowed in (allow_other_threads, True)]
        self._last = self._teams[0]

    def map(self, f: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Returns f(item) for each item, in this order.

        Raises what f raises first, with the traceback as its cause; LostError, which says what the
        process did, if one ends before its work does; UsageError if other threads run.
        """
        if not isinstance(items, Sequence):
            items = list(items)
        failures = _Failures()

        def task(i: int) -> bytes:
            try:
                return pickle.dumps(f(items[i]), pickle.HIGHEST_PROTOCOL)
            except BaseException as error:
                failures.add(error, i)
                raise
            finally:
                print(end="", flush=True)  # a process of a team ends without this

        print(end="", flush=True)
        # A collection would write to all objects, and so copy them into each process.
        frozen = gc.get_freeze_count() == 0
        if frozen:
            gc.freeze()
        try:
            self._last = self._teams[threading.active_count() == 1]
            results = self._last.map(len(items), task)
        except TaskError:
            failures.raise_first()
            raise
        finally:
            if frozen:
                gc.unfreeze()
        return [pickle.loads(result) for result in results]

    @property
    def report(self) -> dict[str, Any]:
        """What the last call did: processes, threads, seconds, tasks of each worker, remarks."""
        return self._last.report()


class _Failures:
    """Exceptions of tasks: a file to which all processes append whole ones."""

    def __init__(self) -> None:
        self._file = open(os.memfd_create("tabane failures"), "rb+", buffering=0)
        fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)

    def add(self, error: BaseException, task: int) -> None:
        text = f"\ntask {task}:\n" + "".join(
            traceback.format_exception(type(error), error, error.__traceback__))
        try:
            data = pickle.dumps((error, text))
            pickle.loads(data)
        except Exception:  # of a class that pickle cannot make again
            data = pickle.dumps((TaskError(f"task {task} failed: {error!r}"), text))
        self._file.write(data)

    def raise_first(self) -> None:
        """Returns if there is none: add() has failed, too."""
        self._file.seek(0)
        try:
            error, text = pickle.load(self._file)
        except EOFError:
            return
        raise error from TaskError(text)


def _run(verb: str, *words: Any, _good: tuple[int, ...] = (0,), **options: Any) -> dict[str, Any]:
    """Runs a command of tabane and returns its JSON."""
    command = [_program(), verb, "--json=-", *_option_words(options), *map(str, words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode not in _good:
        error = ProgramError(done.stderr.strip())
        error.exit_status = done.returncode
        raise error
    if done.stderr.strip():
        warnings.warn(done.stderr.strip(), stacklevel=3)
    return json.loads(done.stdout)


def _option_words(options: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        flag = f"-{name}" if len(name) == 1 else "--" + name.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one is not False:
                values = () if one is True else one if isinstance(one, tuple) else (one,)
                words += [flag, *map(str, values)]
    return words


def _program() -> str:
    """The program in this package, or else $TABANE, or the one on the PATH."""
    own = os.path.join(os.path.dirname(__file__), "bin", "tabane")
    return own if os.path.exists(own) else os.environ.get("TABANE", "tabane")


@contextlib.contextmanager
def _folder() -> Iterator[pathlib.Path]:
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tabane-") as path:
        yield pathlib.Path(path)


def _this_machine() -> list[Any]:
    """What tells machines apart that share a home directory, as JSON has it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = sorted({line for line in file if line.startswith(("model name", "CPU part"))})
    return [os.uname().nodename, models, sorted(os.sched_getaffinity(0))]
