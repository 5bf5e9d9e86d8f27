#!/usr/bin/env python3
"""Checks who may know whom: includes point left, and some calls belong to one module alone.

usage: check_layers.py [FILE…]        checks these sources (paths from the repository root)
       check_layers.py --self-test    proves that each rule fires, and stays quiet where it must

Inside a module, includes point to the same room or to one above it; rooms.txt has the rooms. Of
some modules, no chain of files, each of which includes the next, is longer than FLOORS says.
Tests (x_test.cc, x_fork_test.cc, tests/), questions (bench.cc, bench_x.cc, bench/) and examples/
may include and call anything.
"""

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

MAY_INCLUDE = {
    "core": set(),
    "simd": {"core"},
    "team": {"core"},
    "comm": {"core", "team"},
    "device": {"core"},
    "crypto": {"core", "device"},
    "solver": {"core", "simd", "comm"},
    "lab": {"core", "simd", "team", "comm", "device"},
}
LIBRARIES = set(MAY_INCLUDE)
MAY_INCLUDE["program"] = LIBRARIES
MAY_INCLUDE["tools"] = LIBRARIES | {"program"}
MAY_INCLUDE["studies"] = MAY_INCLUDE["tools"] | {"tools"}

HWLOC_FILES = {f"tabane/core/{name}.cc" for name in ("topology", "placement", "memory")}
FLOORS = {"tools/encrypt": 8}  # x.h and x.cc count as one file
ENCRYPT = "tabane/tools/encrypt/"
FACTS = [  # of tools/encrypt: what code calls them, and the files in which it may
    ("hidden names", re.compile(r"hid(?:e|es|den)_names|HidesNames|[Ss]tored_?[Nn]ame"),
     ("hidden_names", "job_text", "manifest_format", "request", "verb")),
    ("ranks", re.compile(r"\branks?_?\b|\bComm\b|[Cc]oordinator"),
     ("coordinator", "job_text", "letters", "request", "verb", "worker"))]
JSON_FILES = {"tabane/lab/record/json.cc", "tabane/tools/epub/licence.cc"}
MPI_FOLDER = "tabane/comm/transport/mpi/"
OPENCL_FOLDER = "tabane/device/opencl/"
ASSERTION = "tabane/core/error.cc"  # ends the process where the programmer was wrong
COMMAND_LINE = "tabane/program/args.cc"
VERB = re.compile(r"/verb(_\w+)?\.(cc|h)$")  # of a slice
FORKING = "tabane/team/process_tree.cc"  # empties the streams, so that no child prints twice
SPAWNING = "tabane/lab/commands/spawn.cc"  # starts the commands of the user

CALL = r"(?<![\w.])(?<!->)(?:{})\s*\("
FORKS = re.compile(CALL.format("v?fork|clone3?|popen|system") + r"|\bSYS_v?(?:fork|clone)")
PRINTS = re.compile(CALL.format("v?printf|puts|putchar|perror|print|println") +
                    r"|\b(?:stdout|stderr)\b|\bstd::(?:cout|cerr|clog)\b"
                    r"|\bSTD(?:OUT|ERR)_FILENO\b")
# Comm::abort() ends a job of ranks, as users ask it to.
EXITS = re.compile(r"(?<!void )(?<!Comm::)" + CALL.format("exit|quick_exit|abort") +
                   r"|\bstd::terminate\b")
LEAVES_CHILD = re.compile(CALL.format("_exit|_Exit"))
READS_ARGV = re.compile(r"\bargc\b|\bint\s+main\s*\(|\bchar\s*(?:const\s*)?\*\s*\*\s*argv\b"
                        r"|\bprogram_invocation_(?:short_)?name\b")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                   r"(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.DOTALL)


def without(text, strings):
    """Blanks comments, and also literals if strings; lines keep their numbers."""
    def blank(match):
        token = match.group()
        if token[0] == "/" or strings:
            return "\n" * token.count("\n") or " "
        return token
    return TOKEN.sub(blank, text)


def is_free(path):
    return (re.search(r"_(test|fuzz|fuzz_main)\.(cc|h)$", path) or not path.startswith("tabane/")
            or "/bench." in path or "/bench_" in path)


def include_findings(path, quote, name):
    module = path.split("/")[1]
    if quote == "<" and name.startswith("tabane/"):
        yield f'own headers are included as "{name}"'
    if quote == '"' and "/" not in name:
        yield f'own headers are included as "tabane/…", not "{name}"'
    if name.startswith("../") or "/../" in name:
        yield f'own headers are included as "tabane/…", not "{name}"'
    if is_free(path):
        return
    if name == "mpi.h" and not path.startswith(MPI_FOLDER):
        yield "only comm/transport/mpi/ includes mpi.h"
    if name.startswith("CL/") and not path.startswith(OPENCL_FOLDER):
        yield "only device/opencl/ includes OpenCL"
    if name.endswith("_test.h"):
        yield "only tests include x_test.h"
    if name.startswith("CLI/") and path != COMMAND_LINE:
        yield "only program/args.cc includes CLI11"
    if re.match(r"hwloc[./]", name) and path not in HWLOC_FILES:
        yield "only core/topology.cc, placement.cc and memory.cc include hwloc"
    if name.startswith("nlohmann/") and path not in JSON_FILES:
        yield "only lab/record/json.cc and epub/licence.cc include nlohmann/json"
    parts = name.split("/")
    if parts[0] != "tabane" or len(parts) < 3:
        return
    if module not in MAY_INCLUDE:
        yield f"{module}/ is not a module that the rules know"
    elif parts[1] == "studies" and path == "tabane/tools/study/verb.cc":
        return  # it knows all studies
    elif parts[1] != module and parts[1] not in MAY_INCLUDE[module]:
        yield f"{module}/ may not include {parts[1]}/"
    elif module == parts[1] and module in ("tools", "studies"):
        if module_of(path) != module_of(name):
            yield f"{module} do not include each other"


def call_findings(path, line):
    module = path.split("/")[1]
    if module != "team" and path != SPAWNING and FORKS.search(line):
        yield "only team/ makes processes"
    if module == "program" or VERB.search(path) or path == ASSERTION:
        return
    if path != FORKING and PRINTS.search(line):
        yield "only program/ and verbs print"
    leaves = module != "team" and path != SPAWNING and LEAVES_CHILD.search(line)
    if EXITS.search(line) or leaves:
        yield "only program/ and verbs end the program"
    if READS_ARGV.search(line):
        yield "only program/ and verbs read argv"


def fact_findings(path, line):
    if not path.startswith(ENCRYPT):
        return
    for fact, words, files in FACTS:
        if words.search(line) and not path[len(ENCRYPT):].startswith(tuple(f"{x}." for x in files)):
            yield f"of tools/encrypt only {', '.join(files)} know of {fact}"


def read_rooms(text):
    """Returns {module: [(room, [pattern, …]), …]}, rooms in their order."""
    modules = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            rooms = modules.setdefault(line.strip(), [])
        else:
            room, colon, patterns = line.strip().partition(":")
            if colon:
                rooms.append((room, patterns.split()))
            else:  # more files of the room above
                rooms[-1][1].extend(line.split())
    return modules


def module_of(path):
    """Returns the module whose rooms hold the path; each slice has its own."""
    parts = path.split("/")
    return "/".join(parts[1:3] if parts[1] in ("tools", "studies") else parts[1:2])


def fits(name, pattern):
    """Whether a path fits a pattern; as in the shell, * stops at a slash."""
    names, patterns = name.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


def rooms_of(path, rooms):
    """Returns the positions of the rooms that hold the path."""
    name = path[len(f"tabane/{module_of(path)}/"):]
    return [i for i, (_, patterns) in enumerate(rooms)
            if any(fits(name, pattern) for pattern in patterns)]


def room_findings(path, text, modules):
    """Yields (line number, sentence); nothing for a module that has no rooms."""
    module = module_of(path)
    if is_free(path) or module not in modules:
        return
    rooms = modules[module]
    here = rooms_of(path, rooms)
    if len(here) != 1:
        names = " and ".join(rooms[i][0] for i in here) or "none"
        yield 1, f"belongs to exactly one room of {module}/ (cmake/rooms.txt), not to {names}"
        return
    for number, line in enumerate(without(text, strings=False).split("\n"), 1):
        match = INCLUDE.match(line)
        if not match or not match.group(2).startswith(f"tabane/{module}/"):
            continue
        for there in rooms_of(match.group(2), rooms):
            if there > here[0]:
                yield number, (f'room "{rooms[here[0]][0]}" of {module}/ may not include '
                               f'room "{rooms[there][0]}", which stands below it')


def longest_chain(module, texts):
    """Returns the longest chain of files of a module, without suffixes; {path: text}."""
    below = {}
    for path, text in texts.items():
        if path.startswith(f"tabane/{module}/") and not is_free(path):
            names = map(INCLUDE.match, without(text, strings=False).split("\n"))
            below.setdefault(path.rpartition(".")[0], set()).update(
                name.group(2).rpartition(".")[0] for name in names if name)

    def chain_from(here, on_the_way=frozenset()):
        on_the_way |= {here}
        others = below[here] & below.keys() - on_the_way
        return [here, *max((chain_from(there, on_the_way) for there in sorted(others)),
                           key=len, default=[])]
    return max(map(chain_from, sorted(below)), key=len, default=[])


def stale_rooms(modules, exists):
    """Yields a sentence for each pattern that no file matches."""
    for module, rooms in modules.items():
        for room, patterns in rooms:
            for pattern in patterns:
                if not exists(module, pattern):
                    yield f'{module}/{pattern} in room "{room}": there is no such file'


def findings(path, text):
    """Yields (line number, sentence)."""
    if path.startswith("tabane/"):
        for number, line in enumerate(without(text, strings=False).split("\n"), 1):
            match = INCLUDE.match(line)
            if match:
                for sentence in include_findings(path, *match.groups()):
                    yield number, sentence
    if not is_free(path):
        for number, line in enumerate(without(text, strings=True).split("\n"), 1):
            for sentence in (*call_findings(path, line), *fact_findings(path, line)):
                yield number, sentence


# path, source, part of the sentence that must be found; None: nothing may be found.
CASES = [
    ("tabane/core/a.cc", '#include "tabane/simd/reduction.h"', "core/ may not include simd/"),
    ("tabane/tools/encrypt/job.cc", "if (request.hide_names) return;", "know of hidden names"),
    ("tabane/tools/encrypt/job.cc", "int run(comm::Comm* ranks);", "know of ranks"),
    ("tabane/tools/encrypt/worker.cc", "int run(comm::Comm* ranks);  // hide_names", None),
    ("tabane/tools/encrypt/job_test.cc", "request.hide_names = true;", None),
    ("tabane/simd/a.cc", '#include "tabane/team/fork.h"', "simd/ may not include team/"),
    ("tabane/team/a.cc", '#include "tabane/simd/reduction.h"', "team/ may not include simd/"),
    ("tabane/team/a.h", '#  include "tabane/comm/comm.h"', "team/ may not include comm/"),
    ("tabane/comm/a.cc", '#include "tabane/tools/slalom/a.h"', "may not include tools/"),
    ("tabane/crypto/a.cc", '#include "tabane/lab/record.h"', "crypto/ may not include lab/"),
    ("tabane/tools/time/verb.cc", 'std::printf("x"); std::exit(1);', None),
    ("tabane/tools/time/time.cc", 'std::printf("x");', "print"),
    ("tabane/studies/a/a.cc", '#include "tabane/tools/scg/solve.h"', None),
    ("tabane/tools/scg/a.cc", '#include "tabane/studies/a/a.h"', "tools/ may not include studies/"),
    ("tabane/lab/a.cc", '#include "tabane/program/command.h"', "lab/ may not include program/"),
    ("tabane/odd/a.cc", '#include "tabane/core/error.h"', "not a module"),
    ("tabane/lab/probes/a.cc", '#include "tabane/lab/probe.h"', None),
    ("tabane/program/a.cc", '#include "tabane/lab/record.h"', None),
    ("tabane/core/a_test.cc", '#include "tabane/lab/record.h"', None),
    ("tabane/core/a.cc", '// #include "tabane/lab/record.h"', None),
    ("tabane/core/a.cc", '/*\n#include "tabane/lab/record.h"\n*/', None),
    ("bench/a.cc", '#include "tabane/lab/record.h"', None),
    ("tabane/core/bench.cc", '#include "tabane/lab/record.h"', None),
    ("tabane/core/bench_a/b.cc", "int main() { fork(); }", None),
    ("tabane/core/workbench.cc", '#include "tabane/lab/record.h"', "core/ may not include lab/"),
    ("tabane/tools/linpack/a.cc", '#include "tabane/tools/slalom/solve.h"', "each other"),
    ("tabane/tools/linpack/a.cc", '#include "tabane/tools/linpack/model.h"', None),
    ("tabane/comm/launch.cc", "#include <mpi.h>", "mpi.h"),
    ("tabane/comm/transport/mpi_module.cc", "#include <mpi.h>", "mpi.h"),
    ("tabane/lab/mpi/engine.cc", "#include <mpi.h>", "mpi.h"),
    ("tabane/comm/transport/mpi/engine.h", "#include <mpi.h>", None),
    ("tabane/comm/transport/mpi/engine.cc", "#  include <mpi.h>", None),
    ("tabane/device/module.cc", "#include <CL/cl.h>", "OpenCL"),
    ("tabane/device/opencl/module.cc", "#include <CL/cl.h>", None),
    ("tabane/device/module.cc", '#include "tabane/comm/comm.h"', "device/ may not include comm/"),
    ("tabane/core/a.cc", '#include "tabane/core/tools_test.h"', "only tests include x_test.h"),
    ("tabane/core/a_test.cc", '#include "tabane/core/tools_test.h"', None),
    ("tabane/core/a_fuzz.cc", '#include "tabane/core/tools_test.h"', None),
    ("tabane/core/clock.cc", "#include <hwloc.h>", "hwloc"),
    ("tabane/lab/a.cc", "#include <hwloc/glibc-sched.h>", "hwloc"),
    ("tabane/core/topology.cc", "#include <hwloc.h>", None),
    ("tabane/lab/record/view.h", "#include <nlohmann/json.hpp>", "nlohmann"),
    ("tabane/lab/record/json.cc", "#include <nlohmann/json.hpp>", None),
    ("tabane/program/main.cc", "#include <CLI/CLI.hpp>", "CLI11"),
    ("tabane/program/args.cc", "#include <CLI/CLI.hpp>", None),
    ("tabane/core/a.cc", "#include <tabane/core/error.h>", 'included as "tabane/core/error.h"'),
    ("tabane/core/a.cc", '#include "error.h"', "not \"error.h\""),
    ("tabane/core/a_test.cc", '#include "error.h"', "not \"error.h\""),
    ("tabane/core/a.cc", '#include "../simd/reduction.h"', "not \"../simd/reduction.h\""),
    ("tabane/simd/a.cc", '#include "hwy/foreach_target.h"', None),
    ("tabane/lab/a.cc", "pid_t p = fork();", "makes processes"),
    ("tabane/program/a.cc", "pid_t p = ::vfork ();", "makes processes"),
    ("tabane/lab/a.cc", "clone(f, stack, 0, nullptr);", "makes processes"),
    ("tabane/lab/a.cc", "syscall(SYS_clone3);", "makes processes"),
    ("tabane/lab/a.cc", 'FILE* f = popen("gnuplot", "w");', "makes processes"),
    ("tabane/lab/a.cc", 'std::system("gnuplot");', "makes processes"),
    ("tabane/lab/a.cc", "posix_spawnp(&p, f, 0, 0, a, e);", None),
    ("tabane/team/fork.cc", "pid_t p = fork();", None),
    ("tabane/lab/a.cc", "p = team::fork_child(body); auto q = shape.clone(); r->clone();", None),
    ("tabane/lab/a.cc", 'say("fork() is slow"); // fork(', None),
    ("tabane/lab/a.cc", 'std::printf("x");', "print"),
    ("tabane/lab/a.cc", 'fmt::print("x");', "print"),
    ("tabane/lab/a.cc", 'std::fprintf(stderr, "x");', "print"),
    ("tabane/core/a.h", "std::cout << x;", "print"),
    ("tabane/core/a.cc", "std::cerr << x;", "print"),
    ("tabane/core/a.cc", 'std::fprintf(file, "x"); snprintf(b, n, "x"); fmt::format("x");', None),
    ("tabane/core/error.cc", 'std::fprintf(stderr, "x"); std::abort();', None),
    ("tabane/program/a.cc", 'std::printf("x"); std::exit(1);', None),
    ("tabane/lab/a.cc", "std::exit(1);", "end the program"),
    ("tabane/lab/a.cc", "_exit(1);", "end the program"),
    ("tabane/comm/a.cc", "void Comm::abort(int code) { transport_->abort_job(code); }", None),
    ("tabane/lab/a.cc", "std::abort();", "end the program"),
    ("tabane/team/a.cc", "std::exit(1);", "end the program"),
    ("tabane/team/fork.cc", "_exit(status);", None),
    ("tabane/lab/commands/spawn.cc", "_exit(status);", None),
    ("tabane/lab/a.cc", "std::atexit(f); on_exit_code(1);", None),
    ("tabane/lab/a.cc", "int main() {", "argv"),
    ("tabane/lab/a.cc", "void f(int argc, char** argv);", "argv"),
    ("tabane/lab/a.cc", "std::vector<char*> argv; execvp(argv[0], argv.data());", None),
    ("tabane/core/a.cc", "auto n = 1'000; exit(n); auto m = 2'000;", "end the program"),
    ("tabane/core/a.cc", 'auto s = R"(exit(1) " )"; auto c = \'"\'; f("exit(1)");', None),
]


ROOMS = """
# a comment
core
  base: err*.* units.h
  machine: topology.* place*.*
  twice: place.h

tools/slalom
  problem: problem.h
  solving: deep/*.*
"""

# As CASES, with ROOMS.
ROOM_CASES = [
    ("tabane/core/error.h", '#include "tabane/core/topology.h"', 'room "base" of core/ may not'),
    ("tabane/core/error.h", '// #include "tabane/core/topology.h"', None),
    ("tabane/core/error_test.cc", '#include "tabane/core/topology.h"', None),
    ("tabane/core/helpers_test.h", '#include "tabane/core/topology.h"', None),
    ("tabane/core/error.cc", '#include "tabane/core/units.h"', None),
    ("tabane/core/topology.cc", '#include "tabane/core/error.h"', None),
    ("tabane/core/topology.cc", '#include "tabane/core/placement.h"', None),
    ("tabane/core/odd.cc", "", "exactly one room of core/ (cmake/rooms.txt), not to none"),
    ("tabane/core/place.h", "", "not to machine and twice"),
    ("tabane/core/deep/error.h", "", "not to none"),
    ("tabane/tools/slalom/problem.h", '#include "tabane/tools/slalom/deep/solve.h"',
     'room "problem" of tools/slalom/ may not include room "solving"'),
    ("tabane/tools/slalom/deep/a.cc", '#include "tabane/tools/slalom/problem.h"', None),
    ("tabane/tools/slalom/problem.h", '#include "tabane/core/topology.h"', None),
    ("tabane/team/fork.h", '#include "tabane/team/odd.h"', None),
    ("bench/a.cc", '#include "tabane/core/topology.h"', None),
]


# Files of tools/slalom with what they include, and how long the longest chain is.
CHAIN_CASES = [
    ({}, 0),
    ({"a.h": "", "b.cc": ""}, 1),
    ({"a.h": "", "a.cc": "a.h", "b.h": "a.h"}, 2),
    ({"a.h": "", "b.h": "a.h", "b.cc": "b.h", "c.cc": "b.h", "c_test.cc": "c.h", "d.cc": "a.h"}, 3),
    ({"a.h": "b.h", "b.h": "a.h"}, 2),
    ({"a.h": "b.h", "a.cc": "c.h", "b.h": "a.h", "c.h": ""}, 3),
]


def self_test():
    failures = 0
    place = "tabane/tools/slalom/"
    for files, expected in CHAIN_CASES:
        chain = longest_chain("tools/slalom", {
            place + path: f'#include "{place}{name}"' for path, name in files.items()})
        if len(chain) != expected:
            failures += 1
            print(f"{files}: a chain of {expected} expected, found {chain}", file=sys.stderr)
    modules = read_rooms(ROOMS)
    found_in = [(case, [s for _, s in findings(*case[:2])]) for case in CASES]
    found_in += [(case, [s for _, s in room_findings(*case[:2], modules)]) for case in ROOM_CASES]
    own = read_rooms(Path(__file__).with_name("rooms.txt").read_text(encoding="utf-8"))
    case = (ENCRYPT + "job.cc", f'#include "{ENCRYPT}coordinator.h"',
            'may not include room "ranks"')
    found_in.append((case, [s for _, s in room_findings(*case[:2], own)]))
    stale = list(stale_rooms(modules, lambda module, pattern: pattern != "units.h"))
    found_in.append((("rooms.txt", ROOMS, 'core/units.h in room "base": there is no'), stale))
    for (path, source, expected), found in found_in:
        right = any(expected in s for s in found) if expected else not found
        if not right:
            failures += 1
            print(f"{path}: {source!r}: expected {expected!r}, found {found}", file=sys.stderr)
    print(f"check_layers: {len(found_in) + len(CHAIN_CASES)} cases, {failures} wrong")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(__file__).resolve().parent.parent
    modules = read_rooms((root / "cmake/rooms.txt").read_text(encoding="utf-8"))
    found = [f"cmake/rooms.txt: {sentence}" for sentence in stale_rooms(
        modules, lambda module, pattern: any((root / "tabane" / module).glob(pattern)))]
    texts = {path: Path(path).read_text(encoding="utf-8") for path in arguments}
    for module, floors in FLOORS.items():
        chain = longest_chain(module, texts)
        if len(chain) > floors:
            found.append(f"tabane/{module}: more than {floors} files include each the next: "
                         + " ".join(name.rpartition("/")[2] for name in chain))
    for path, text in texts.items():
        found += [f"{path}:{number}: {sentence}" for number, sentence in
                  [*findings(path, text), *room_findings(path, text, modules)]]
    without_rooms = {module_of(path) for path in arguments if not is_free(path)} - modules.keys()
    if without_rooms:
        print("check_layers: not checked inside, because they have no rooms yet:",
              *sorted(without_rooms))
    if found:
        print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
