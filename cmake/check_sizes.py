#!/usr/bin/env python3
"""Checks that files are no fragments: whatever is small, or has one user, has a stated reason.

usage: check_sizes.py [FILE…]     checks these sources (paths from the repository root)
       check_sizes.py --self-test    proves that each rule fires, and stays quiet where it must

A subject is x.h with x.cc and x_ref.cc. One below 60 lines, and one without a test whose header a
single other file includes, must match a line of small_files.txt, PATTERN: REASON. Tests and
questions may be as small as they like.
"""

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

FEW_LINES = 60
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
FREE = re.compile(r"_test\.(?:cc|h)$|/bench[_.]|^(?!tabane/|bench/)")


def subject(path):
    """Returns the path without what tells header, source, reference and test apart."""
    return re.sub(r"(?:_ref|_fork)?(?:_test)?(?:-inl)?\.(?:h|cc)$", "", path)


def read_reasons(text):
    """Returns the patterns of small_files.txt."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [line.partition(":")[0].strip() for line in lines if line.partition(":")[2].strip()]


def fragments(texts):
    """Yields (subject, sentence) for each fragment among the sources {path: text}."""
    users, lines, tested = {}, {}, set()
    for path, text in texts.items():
        here = subject(path)
        if path.endswith(("_test.cc", "_test.h")):
            tested.add(here)
        elif not FREE.search(path):
            lines[here] = lines.get(here, 0) + text.count("\n")
        for name in INCLUDE.findall(text):
            if subject(name) != here:
                users.setdefault(subject(name), set()).add(path)
    for here, count in sorted(lines.items()):
        if count < FEW_LINES:
            yield here, f"has {count} lines: of what could it be a part?"
        elif here not in tested and len(users.get(here, ())) == 1:
            yield here, f"has no test, and {min(users[here])} alone includes it"


def findings(texts, patterns):
    """Yields a sentence for each fragment without a reason, and each reason without a fragment."""
    unused = set(patterns)
    for here, sentence in fragments(texts):
        fitting = {pattern for pattern in patterns if fnmatchcase(here, pattern)}
        unused -= fitting
        if not fitting:
            yield f"{here} {sentence}"
    for pattern in patterns:
        if pattern in unused:
            yield f"cmake/small_files.txt: no fragment fits {pattern}"


def self_test():
    long = "int x;\n" * FEW_LINES
    use = '#include "tabane/a/b.h"\n'
    cases = [
        ({"tabane/a/b.cc": "int x;\n"}, [], 1),
        ({"tabane/a/b.cc": "int x;\n"}, ["tabane/a/*"], 0),
        ({"tabane/a/b.cc": long}, ["tabane/a/*"], 1),  # a reason that is not needed any more
        ({"tabane/a/b.h": "int x;\n", "tabane/a/b.cc": long}, [], 0),
        ({"tabane/a/b_test.cc": "", "tabane/a/bench.cc": "", "examples/a.cc": ""}, [], 0),
        ({"tabane/a/b.h": long, "tabane/a/c.cc": long + use}, [], 1),
        ({"tabane/a/b.h": long, "tabane/a/c.cc": long + use, "tabane/a/d.cc": long + use}, [], 0),
        ({"tabane/a/b.h": long, "tabane/a/c.cc": long + use, "tabane/a/b_test.cc": use}, [], 0),
    ]
    wrong = [case for case in cases if len(list(findings(case[0], case[1]))) != case[2]]
    for texts, patterns, expected in wrong:
        print(f"check_sizes: {expected} findings expected of {sorted(texts)} with {patterns}")
    print(f"check_sizes: {len(cases)} cases, {len(wrong)} wrong")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(__file__).resolve().parent.parent
    texts = {path: (root / path).read_text(encoding="utf-8") for path in arguments}
    found = list(findings(texts, read_reasons((root / "cmake/small_files.txt").read_text())))
    for sentence in found:
        print(sentence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
