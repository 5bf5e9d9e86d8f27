#!/usr/bin/env python3
"""Prints a header with its comments as Doxygen's, of which this is the filter.

A comment above a declaration belongs to all declarations up to the next empty line, one behind a
declaration to that one, and the first of a file to the file. A type may also be documented by the
comments on its members. Lines set off by three blanks are code. Comments in functions are no
documentation.
"""

import re
import sys

TYPE = re.compile(r"\s*(?:template <.*> )?(?:class|struct|enum|union)\b")
SCOPE = re.compile(TYPE.pattern + r"|\s*(?:inline )?namespace\b")
# Shares no comment: a type, a macro, or the definition of a member outside its class.
ALONE = re.compile(r"\s*(?:template <.*> )?(?:class|struct|enum|#|namespace|[^(]*\w::\w+\()")
COMMENT = re.compile(r"(\s*)//\s?(.*)")
BEHIND = re.compile(r"(\s*\S.*\S)\s+// (.*)")
LITERAL = re.compile(r"""R"\(.*?\)"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)'|//.*""")


def opened(line):
    """Returns how many more braces a line opens than it closes."""
    code = LITERAL.sub("", line)
    return code.count("{") - code.count("}")


def has_comment(lines):
    """Returns whether the type that begins here has a comment between its braces."""
    depth = 0
    for line in lines:
        if depth and "//" in line:
            return True
        depth += opened(line)
        if depth <= 0:
            return False
    return False


def as_doxygen(name, lines):
    """Yields the lines of the header of this name for Doxygen."""
    depth, group, body, above, statement = 0, None, None, [], ""
    for number, line in enumerate(lines):
        comment = body is None and COMMENT.fullmatch(line)
        if comment:
            above.append(comment[1] + "/// " + re.sub(r"^(?=  )", "   ", comment[2]))
            continue
        following = " ".join(lines[number : number + 3])
        if above and number == len(above):
            yield "/// @file"
        elif above and line.strip() and group is None and not ALONE.match(following):
            yield "///@{"
            group = depth
        elif not above and TYPE.match(line) and has_comment(lines[number:]):
            yield f"/// See its members, and {name}."
        yield from above
        above = []
        before, depth = depth, depth + opened(line)
        if group is not None and (depth < group or (depth == group and not line.strip())):
            yield "///@}"
            group = None
        yield line if body is not None else BEHIND.sub(r"\1  ///< \2", line)

        statement += line
        if body is None and depth > before and not SCOPE.match(statement):
            body = before
        elif body is not None and depth <= body:
            body = None
        if re.search(r"^#|[;{}:>]\s*$|^$", LITERAL.sub("", line)):
            statement = ""


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        name = sys.argv[1].rpartition("/")[2]
        print("\n".join(as_doxygen(name, header.read().split("\n"))))
