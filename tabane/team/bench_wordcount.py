"""Counts the words of a text in memory with a pool of forked processes, on request.

Usage: wordcount.py FILE PROCESSES. The other side is bench/remote.h.
"""

import gc
import multiprocessing
import sys
from collections import Counter

PIECES_PER_PROCESS = 8

text = b""


def pieces_of(count):
    """Returns index ranges that end between words."""
    ends = [0]
    for i in range(1, count):
        space = text.find(b" ", i * len(text) // count)
        ends.append(max(ends[-1], space if space >= 0 else len(text)))
    ends.append(len(text))
    return list(zip(ends, ends[1:]))


def count_piece(piece):
    return Counter(text[piece[0] : piece[1]].split())


def count_words(processes):
    """Counts in a fresh pool, whose processes share the text by the fork."""
    context = multiprocessing.get_context("fork")
    total = Counter()
    with context.Pool(processes) as pool:
        pieces = pieces_of(processes * PIECES_PER_PROCESS)
        for counts in pool.imap_unordered(count_piece, pieces, chunksize=1):
            total.update(counts)
    return total


def hash_of(word):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in word:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def fingerprint(table):
    return (len(table) + sum((hash_of(word) + 1) * n for word, n in table.items())) % 2**64


def main():
    global text
    with open(sys.argv[1], "rb") as file:
        text = file.read()
    processes = int(sys.argv[2])
    gc.freeze()  # a collection would write to the shared objects
    print(0, flush=True)
    for line in sys.stdin:
        verb, count = line.split()
        for _ in range(int(count)):
            table = count_words(processes)
        print(fingerprint(table) if verb == "check" else 0, flush=True)


main()
