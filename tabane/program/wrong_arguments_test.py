"""What tabane says of wrong arguments: every verb with every kind of mistake, beside a golden file.

The mistakes are made up from what each verb's --help lists, and end in an option that there is not,
so that nothing runs; those that only the verb itself can see are listed here.
`wrong_arguments_test.py PROGRAM --update` writes the golden file anew.
"""

import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import unittest

TABANE = sys.argv.pop(1)
GOLDEN = pathlib.Path(__file__).with_name("wrong_arguments.golden")
NO_SUCH = "--no-such"

# What a verb needs before its options are looked at.
NEEDED = {"encrypt": "in out", "decrypt": "in out", "verify": "in", "keygen": "file",
          "rekey": "tree", "report": "a.json", "time": "-- true", "run": "-- true",
          "tune": "-- true", "epub protect": "book -o out",
          "epub unprotect": "book -o out", "epub inspect": "book",
          "mine keygen": "a b", "mine encrypt": "a b c", "mine count": "a", "mine decrypt": "a b",
          "mine generate": "file"}

OTHERS = """
study ha9000 | study nothing | surevy | nothing | help surevy | surevy --help | --bogus | -x
study --bogus | mine gnerate out | mine -q keygen a b | run -t=2 true | run -lm 0 true
survey --only clock latency | survey --json a.json | encrypt --json a.json in out
survey --only nothing.such | survey -o /dev/null/page | survey --json=/dev/null/file
compare | compare a | compare a b | compare --threshold x a b | compare --threshold 1001% a b
encrypt --resume --force a b | encrypt --update --force a b | encrypt --delete a b
encrypt --key-file a --passphrase-file b in out | encrypt --iv 00 in out
encrypt --cipher aes-128-cbc in out | encrypt --cipher aes-128-cbc --key-file k --iv 0 in out
encrypt -t 0 in out | encrypt a b c | encrypt --json - - | encrypt --key-file - - out
decrypt --resume --force a b | decrypt --root 12 a b | decrypt --root a --without-manifest b c
verify --quick --without-manifest a | verify --root x a | decrypt --engine opencl1 a b
rekey --new-passphrase --new-passphrase-file a tree | rekey tree | rekey --add tree
epub protect --certificate a book -o out | epub protect --start tomorrow book -o out
epub protect --end 2026-02-30 book -o out | epub protect --start 2026-02-03 --end 2026-02-03 b -o o
epub protect --start 2027-01-02 --end 2027-01-01 book -o out | epub protect book -o -
epub protect a/book b/book -o /dev/null | epub inspect ''
linpack --matrix a -n 3 | linpack --matrix a --seed 3 | linpack --rhs b | linpack --grid 2
linpack --grid 2x2 --ranks 3 | linpack --grid 100x100 | linpack --json=/dev/null/x
scg -n x | scg -n 0x3 | scg --tolerance 1 | scg --tolerance 0 | scg --boundary west | scg -f x
scg -k 0 | scg --boundary middle=1 | scg -n 3x0 | scg -f inf | scg --tolerance nan
scg --boundary west=1,west=2 | scg --boundary west=neumann,east=neumann,north=neumann,south=neumann
simulate --parameters | simulate ap1000 | simulate ap1000:256x256
simulate ap1000:4x4 -n 3 | simulate ap1000:4x4 --set beds=3 | simulate cm5
slalom --patches 10 --seconds 1s | slalom --seconds 0s | slalom --seconds soon
matmul --left a | matmul --left a -n 3 | matmul --left a --complex | matmul --memory much
matmul -n 100001 | matmul --bits 1 | matmul --bits 1000001 | matmul --left a --right a -n 3
matmul --complex -o out | matmul -o - --json
mine | mine a | mine --plain --hide-slots a --min-support 1 | mine --plain --ranks 2 a
mine --min-support 1 | mine --min-support 1 --ranks 2 -p 3 a | mine - --min-support 1 --ranks 2
mine --min-support 0 a | mine --min-support 2 a | mine a --min-support 1 --min-confidence 2
mine generate --density 2 out | run -m 0 -i 0 -- true | run -l -i 0 -- true
run -t 1 --own-threads -- true | run -- | run -t 0 -- true
run --tuned a -t 1 -- true | run --launcher a -- true | run --vary a=1 -- true
run --part 3/2 -- true | run --part x -- true | run --bogus true
tune | tune --collectives -- true | tune --metric a --goal cpu -- true | tune --budget soon -- true
tune --metric speed -- true | time --json= true
tune --higher-is-better -- true | tune --vary a -- true | tune --start threads=x -- true
tune --only nothing -- true | tune --timeout x -- true | tune --collectives --json
tune --quick -- true | tune --rules x -- true | tune -n 2 -- true | tune --collectives --budget 3s
tune --collectives --vary a=1 | tune --metric '(' -- true | run --hardware --nosuch
time '' | time -N ' ' | time -N "echo 'a" | time --command-name a --command-name b true
time -P n 1 2 true | time -P n 2 1 'echo {n}' | time -P n 1 2 -D 0 'echo {n}'
time -L n 1 -L n 2 'echo {n}' | time --with ': -t 1' true | time --with 'a: -c' true
time | time -r 3 -m 2 true | time -r 3 -M 2 true | time -r 0 true | time -m 5 -M 3 true
time --timeout 0 true | time --precision x true | time --min-time x true | time -S sh -N true
time --show-output --output pipe true | time --output results true
time --with x true | time --with 'a: --bogus' true
time --with 'a: -t two' true | time -P n 1 true | time -P n 1 x 'echo {n}' | time -L n 1,2 true
time -w -1 true | time --repeat 0 true | time --shell '' true | time -p a -p b -p c true
study aes-folder --files 10 100 --no-such | study aes-folder --sizes 4Q | study aes-folder --sizes ,
study pc-cluster --seconds 5s | study pc-cluster --seconds 0.5s --hosts a,b
study pc-cluster --launcher "" --hosts a,b | study pc-cluster --hosts a
study pc-cluster --hosts a,b,c | study pc-cluster --hosts a, | study pc-cluster --hosts a,-b
study pc-cluster --seconds 0 --hosts a,b | study pc-cluster --seconds 2h --hosts a,b
study process-thread --text-size x | study process-thread --workloads nothing
study process-thread --malloc nothing | generate-docs | generate-docs a b c
"""

# Each kind of mistake about a file, by every verb that can make it: the folder has the folders
# "dir" and "there.d", and a file "there" that holds "text".
FILES = {
    1: """
report nowhere | rekey --list nowhere | encrypt -q nowhere out --key-file key
decrypt nowhere out --key-file key | verify nowhere --key-file key | verify --key-file nowhere there
linpack --matrix nowhere | slalom --geom nowhere | mine nowhere --min-support 1
matmul --left nowhere --right there | epub inspect nowhere
epub protect nowhere -o out --passphrase-file there
tune --resume nowhere -- true | encrypt --recipient nowhere dir out
""",
    2: """
scg -n 5 -f nowhere.npy | time --input nowhere true | linpack -n 5 -o nowhere/x
scg -n 5 -o nowhere/u.npy | scg -n 5 --picture nowhere/u.png
slalom --patches 60 -o nowhere/x | slalom --write-geom nowhere/x | matmul -n 2 -o nowhere/x
time --export-csv nowhere/x true | tune --save nowhere/x -- true
mine there --plain --min-support 1 --rules nowhere/x
tune --collectives --rules nowhere/x | tune --collectives --rules there.d
survey --json=nowhere/x | study ha8000 --json=nowhere/x
survey -o there | study ha8000 -o there | time -o there true | compare -o there ap1000 ha8000
report there | compare there ha8000 | tune --resume there -- true | tune --input nowhere -- true
""",
    # Which no command's own code is likely to be.
    125: "run --tuned nowhere -- true | run --tuned there -- true",
}


def tabane(arguments, make=lambda folder: None):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(("HWLOC_", "OMP_", "OMPI_", "PMI"))}
    with tempfile.TemporaryDirectory() as folder:
        make(pathlib.Path(folder))
        return subprocess.run([TABANE, *arguments], cwd=folder, capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL, start_new_session=True,
                              env=environment | {"COLUMNS": "1000"})


def below(text):
    """What a help shows behind the options: verbs, perhaps in groups."""
    return text.partition("\nOptions:\n")[2].partition("\n\n")[2]


def verbs(above=()):
    """Each verb with the help of it."""
    text = tabane([*above, "--help"]).stdout
    yield above, text
    for name in re.findall(r"^  ([a-z][a-z0-9-]*)", below(text), re.MULTILINE):
        yield from verbs((*above, name))


def mistakes(verb, text):
    """Yields arguments with one mistake, and whether another one follows that is told otherwise."""
    needed = shlex.split(NEEDED.get(" ".join(verb), ""))
    before, after = needed, []
    if "--" in needed:
        before, after = [], needed
    if needed or below(text):
        yield [*verb], False
    yield [*verb, NO_SUCH, *needed], False
    if not after:
        yield [*verb, *needed, *["extra"] * 5], False
    options = re.findall(r"^  (?:-\w, )?(--?[\w-]+)(?: ([^ ]+))?(?:  .*)?$",
                         text.partition("\nOptions:\n")[2].partition("\n\n")[0], re.MULTILINE)
    for name in [name for name, _ in options if len(name) > 6][:1]:
        yield [*verb, name[:-2] + name[-1], *needed], False
    valued = [(name, value) for name, value in options if value]
    for name, value in valued[:1]:
        yield [*verb, *before, name], False
        yield [*verb, *before, name, "3", name, "3", NO_SUCH, *after], True
    for name, value in valued:
        for wrong in {"N": ["two", "2.5", "-1", "0", "99999999999999999999"],
                      "X": ["two", "nan", "-1"]}.get(value, ["nothing-such"]):
            yield [*verb, *before, name, wrong, NO_SUCH, *after], True


def golden():
    lines = []
    cases = [case for verb, text in verbs() for case in mistakes(verb, text)]
    cases += [(shlex.split(case), False) for line in OTHERS.splitlines()
              for case in line.split(" | ") if case]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: tabane(case[0]), cases))
    for (case, is_probe), result in zip(cases, results):
        if is_probe and f"there is no option '{NO_SUCH}'" in result.stderr:
            continue  # the value was fine
        text = "(the help)" if "\nOptions:\n" in result.stderr else result.stderr.rstrip("\n")
        more = "" if result.returncode == 2 else f"\n(exit code {result.returncode})"
        more += f"\n(stdout: {result.stdout.split()[0]}…)" if result.stdout else ""
        lines.append(f"$ tabane {shlex.join(case)}\n" + textwrap.indent(text + more, "  ") + "\n")
    return "".join(lines)


class WrongArguments(unittest.TestCase):
    maxDiff = None

    def test_are_told_as_the_golden_file_has_it(self):
        self.assertEqual(golden(), GOLDEN.read_text())


def files(folder):
    (folder / "dir").mkdir()
    (folder / "there.d").mkdir()
    (folder / "there").write_text("text\n")
    (folder / "key").write_bytes(bytes(range(32)))


class WrongFiles(unittest.TestCase):
    def test_are_told_in_one_form_with_one_exit_code(self):
        for code, lines in FILES.items():
            for case in [case for line in lines.splitlines() for case in line.split(" | ") if case]:
                with self.subTest(case):
                    words = shlex.split(case)
                    result = tabane(words, files)
                    lines = result.stderr.splitlines()
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertRegex(lines[-1],
                                     f"^tabane {words[0]}( [a-z0-9-]+)?: .*(nowhere|there)")
                    self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        GOLDEN.write_text(golden())
    else:
        unittest.main()
