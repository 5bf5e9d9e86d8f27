#!/usr/bin/env python3
"""Weakens each memory order of the lock-free parts in turn, takes each fence away, and looks
whether a test of that part notices, compiled with ThreadSanitizer and without.

usage: mutants.py BUILD [PART…]   all parts below, or these; BUILD has the libraries, built
       mutants.py --self-test     proves that it tells what dies from what survives

A mutant that survives must be named in a comment of the part's files, "No test can see NAME weaker
(or missing): why", where NAME is variable.operation or a fence; else, and if a comment names what
is not mutated, this exits with 1. ThreadSanitizer follows what C++ says, whatever the processor
does, but knows no fences, and takes sequentially consistent for acquire and release. Such mutants
can only die without it, by what the processor does: x86 lets a load pass an earlier store and
nothing else. Such meetings take nanoseconds, so the machine should have nothing else to do.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

SHM, BOARD, TEAM = "tabane/comm/transport/shm/", "tabane/comm/collective/", "tabane/team/"
# Part -> files whose orders are weakened, the test's sources, its suites, seconds for each mutant;
# "plain" where all that matters is a fence.
PARTS = {
    "channel": ([SHM + "channel.h", SHM + "channel.cc"], [SHM + "channel_test.cc"], "Channel.*", 4),
    "wait": ([SHM + "wait.h", SHM + "wait.cc"], [SHM + "wait_fork_test.cc"], "Wait.*Right*", 8,
             "plain"),
    "window": ([SHM + "window.h"], [SHM + "window_test.cc"], "Window.*", 4),
    "direct_copy": ([SHM + "direct_copy.cc"], [SHM + "direct_copy_test.cc",
                                               SHM + "threaded_ranks_test.cc"], "DirectCopy.*", 4),
    "page_set": ([SHM + "page_set.cc"], [SHM + "page_set_test.cc"], "PageSet.*", 4),
    "board": ([BOARD + "board.h", BOARD + "board.cc", BOARD + "call_records.h",
               BOARD + "call_records.cc"], [BOARD + "board_test.cc"], "BoardOnThreads.*", 6),
    "control": ([TEAM + "control.h", TEAM + "control.cc"], [TEAM + "control_test.cc"],
                "ControlOnThreads.*", 4),
    "world": ([SHM + "world.cc"], [SHM + "world_test.cc"], "World.*", 4),
}
# Of these files, only operations on these: the others order nothing, or meet forked ranks alone.
ONLY = {SHM + "world.cc": {"claimed", "written", "failed_rank"}}
FLAVOURS = {"ThreadSanitizer": ["-O1", "-g1", "-fsanitize=thread", "-Wno-tsan",
                                "-DTABANE_RANKS_ARE_THREADS"],
            "plain": ["-O2"]}
CALL = re.compile(r"(\w+)(?:\[[^\]]*\]|\(\))?(?:\.|->)"
                  r"(load|store|exchange|fetch_\w+|compare_exchange_\w+)\(")
FENCE = re.compile(r"(?:std::)?(atomic_thread_fence|atomic_signal_fence|syscall)\(")
ORDER = re.compile(r"std::memory_order_(\w+)")
EXPLAINED = re.compile(r"No test (?:of right programs )?can see (.*?)(?:missing|weaker)")


NO_CODE = re.compile(r"//[^\n]*|(?s:#if defined\(__SANITIZE_THREAD__\).*?\n#(?:else|endif))")


def end_of_call(code, begin):
    """Where the parenthesis is closed that is open before `begin`."""
    depth = 1
    while depth > 0:
        depth += (code[begin] == "(") - (code[begin] == ")")
        begin += 1
    return begin - 1


def weaker_than(order, operation):
    if order == "seq_cst":
        return [{"load": "acquire", "store": "release"}.get(operation, "acq_rel")]
    return {"acquire": ["relaxed"], "release": ["relaxed"],
            "acq_rel": ["acquire", "release"]}.get(order, [])


def mutants(text, only=None):
    """Yields (line, name, what, mutated text); only: variables."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)

    def mutant(begin, end, name, what, new):
        return (text.count("\n", 0, begin) + 1, name, f"{name}: {what}",
                text[:begin] + new + text[end:])

    for call in sorted([*CALL.finditer(code), *FENCE.finditer(code)], key=re.Match.start):
        end = end_of_call(code, call.end())
        is_fence = call.re is FENCE
        if call[1] == "syscall" and "MEMBARRIER_CMD_GLOBAL_EXPEDITED" not in code[call.end():end]:
            continue
        if only and call[1] not in only:
            continue
        name, operation = (call[1], "fence") if is_fence else (f"{call[1]}.{call[2]}", call[2])
        orders = list(ORDER.finditer(code, call.end(), end))
        for order in orders:
            for weaker in weaker_than(order[1], operation):
                yield mutant(*order.span(), name, f"{order[1]} -> {weaker}",
                             f"std::memory_order_{weaker}")
        if is_fence:
            yield mutant(call.start(), end + 1, name, "away", "(void)0")
        elif not orders:
            weaker = weaker_than("seq_cst", operation)[0]
            comma = ", " if code[call.end():end].strip() else ""
            yield mutant(end, end, name, f"seq_cst -> {weaker}",
                         f"{comma}std::memory_order_{weaker}")


def explained(texts):
    """The names that comments say no test can see."""
    prose = " ".join(" ".join(re.findall(r"//\s?([^\n]*)", text)) for text in texts)
    return {name for some in EXPLAINED.findall(prose)
            for name in re.findall(r"[\w.]+\w", some)} - {"or", "and"}


class Part:
    def __init__(self, root, compiler, libraries, files, tests, suites, seconds, *flavours):
        self.root, self.compiler, self.libraries = root, compiler, libraries
        self.files = files
        self.suites, self.seconds = suites, seconds
        self.folder = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.folder.name)
        self.sources = [file for file in files if file.endswith(".cc")] + tests
        for file in [*files, *tests]:
            self.write(file)
        flavours = flavours or FLAVOURS
        for flavour in flavours:
            self.write(f"{flavour}/gtest.h", "#include <gtest/gtest.h>\n")
            self.compile(flavour, "-xc++-header", f"{flavour}/gtest.h", f"-o{flavour}/gtest.h.gch")
        self.original = {flavour: self.objects(flavour, self.sources) for flavour in flavours}

    def write(self, file, text=None):
        (self.at / file).parent.mkdir(parents=True, exist_ok=True)
        (self.at / file).write_text(text or (self.root / file).read_text())

    def compile(self, flavour, *words):
        subprocess.run([self.compiler, "-std=c++20", *FLAVOURS[flavour], *words], cwd=self.at,
                       check=True)

    def objects(self, flavour, sources):
        """Source -> its object's bytes."""
        made = {}
        for source in sources:
            self.compile(flavour, f"-I{self.at}", f"-I{self.root}", "-include",
                         f"{flavour}/gtest.h", "-c", source, "-oone.o")
            made[source] = (self.at / "one.o").read_bytes()
        return made

    def end(self, flavour, objects):
        """What ends the test within the part's seconds; None: nothing does."""
        names = [f"{number}.o" for number in range(len(objects))]
        for name, content in zip(names, objects.values()):
            (self.at / name).write_bytes(content)
        self.compile(flavour, *names, "-Wl,--allow-multiple-definition", *self.libraries, "-lgtest",
                     "-lgtest_main", "-pthread", "-otest")
        with open(self.at / "out", "w", encoding="utf-8") as out:
            with subprocess.Popen(["./test", f"--gtest_filter={self.suites}", "--gtest_repeat=-1",
                                   "--gtest_break_on_failure"], cwd=self.at, stdout=out, stderr=out,
                                  start_new_session=True,
                                  env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}) as test:
                try:
                    for _ in range(20):  # on a busy machine it may be slow
                        try:
                            test.wait(self.seconds)
                            return f"dies: {flavour}"
                        except subprocess.TimeoutExpired:
                            if "(iteration 3)" in (self.at / "out").read_text():
                                return None
                    return f"hangs: {flavour}"
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(test.pid, 9)

    def fate(self, file, text):
        """What kills this mutant, or "survives"."""
        self.write(file, text)
        try:
            for flavour, original in self.original.items():
                again = [file] if file.endswith(".cc") else self.sources
                objects = {**original, **self.objects(flavour, again)}
                end = self.end(flavour, objects) if objects != original else None
                if end:
                    return end
            return "survives"
        finally:
            self.write(file)

    def run(self):
        """Prints the fate of each mutant. Returns how many are not as they should be."""
        for flavour, original in self.original.items():
            if end := self.end(flavour, original):
                print((self.at / "out").read_text()[-4000:],
                      f"\n{self.suites}: {end}, without any mutation")
                return 1
        may_survive = explained((self.root / file).read_text() for file in self.files)
        all_mutants = [(file, *mutant) for file in self.files
                       for mutant in mutants((self.root / file).read_text(), ONLY.get(file))]
        unknown = may_survive - {name for _, _, name, *_ in all_mutants}
        if unknown:
            print(f"{self.files[0]}: a comment explains what is not mutated:", *sorted(unknown))
        wrong = len(unknown)
        for file, line, name, what, text in all_mutants:
            fate = self.fate(file, text)
            if fate == "survives":
                wrong += name not in may_survive
                fate = "survives, as a comment explains" if name in may_survive else "SURVIVES"
            print(f"{file}:{line}: {what}: {fate}", flush=True)
        return wrong


SAMPLE = """#include <atomic>
#include <thread>
// No test can see quiet.store or quiet.load weaker: nobody loads it.
TEST(Sample, IsSentWhole) {
  int message = 0;
  std::atomic<int> flag{0}, quiet{0}, extra{0};
  std::thread other([&] { message = 1; flag.store(1, std::memory_order_release); });
  quiet.store(1, std::memory_order_release);
  extra.store(1);  // quiet.load(std::memory_order_acquire): none, in a comment
  while (flag.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  EXPECT_EQ(message, 1);
  other.join();
}
"""


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "sample.cc").write_text(SAMPLE)
        part = Part(pathlib.Path(folder), os.environ.get("CXX", "c++"), [], ["sample.cc"], [],
                    "Sample.*", 2)
        fates = [part.fate("sample.cc", text) for *_, text in mutants(SAMPLE)]
        dies = "dies: ThreadSanitizer"
        assert fates == [dies, "survives", "survives", dies], fates
        assert part.run() == 2  # nothing explains that `extra` survives; there is no quiet.load


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the test that runs ends, too
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    build, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parents[1]
    parts = sys.argv[2:] or PARTS
    if unknown := set(parts) - PARTS.keys():
        sys.exit(f"mutants.py: no part {', '.join(sorted(unknown))}: give {', '.join(PARTS)}")
    cache = (build / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)", cache, re.MULTILINE)[1]
    libraries = [*(next(build.rglob(f"libtabane_{name}.a")) for name in ("comm", "team", "core")),
                 "-lfmt", "-lhwloc", "-ldl"]
    return sum(Part(root, compiler, libraries, *PARTS[name]).run() for name in parts) != 0


if __name__ == "__main__":
    sys.exit(main())
