#!/usr/bin/env python3
"""Prints chains of headers, one a line, which the headers of the arguments all stand in once.

Each header of a chain includes those before it, so to compile the chain tells as much as to compile
each of its headers alone: nothing stands before one that it does not include itself, at its top.

usage: header_chains.py HEADER…     paths from the repository root
"""

import re
import sys
from pathlib import Path


def closure(header, found):
    """Adds to `found` what a header includes, itself among it."""
    if header not in found and Path(header).is_file():
        found.add(header)
        for name in re.findall(r'^#include "([^"]+)"', Path(header).read_text(), re.MULTILINE):
            closure(name, found)
    return found


def chains(headers):
    """As few as can be: a maximum matching of headers with those that come before them."""
    below = {header: closure(header, set()) - {header} for header in headers}
    after = {}  # header -> the next one of its chain

    def place(header, tried):
        for before in below[header] & below.keys() - tried:
            tried.add(before)
            if header not in below[before] and (before not in after or
                                                place(after[before], tried)):
                after[before] = header
                return True
        return False

    for header in headers:
        place(header, set())
    for header in set(headers) - set(after.values()):
        chain = [header]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        yield chain


for chain in chains(sys.argv[1:]):
    print(*chain)
