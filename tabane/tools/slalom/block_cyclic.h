// Indices dealt out in blocks, in turn to the rows or to the columns of a grid of ranks.
#pragma once

#include <algorithm>

namespace tabane::slalom {

// One direction, seen from one of the parts.
struct BlockCyclic {
  int count = 0, block = 1;
  int parts = 1, mine = 0;

  int blocks() const { return (count + block - 1) / block; }
  int begin(int b) const { return std::min(count, b * block); }
  int size(int b) const { return begin(b + 1) - begin(b); }
  int owner(int b) const { return b % parts; }

  // Blocks of this part before block b of all, and the block that is its i-th.
  int blocks_before(int b) const { return b > mine ? (b - mine + parts - 1) / parts : 0; }
  int my_blocks() const { return blocks_before(blocks()); }
  int my_block(int i) const { return i * parts + mine; }
  // Indices in the blocks of this part before block b of all: where that begins in what it keeps.
  int indices_before(int b) const {
    const int indices = blocks_before(b) * block;
    const int last = blocks() - 1;  // the only one that may be smaller
    return last < b && count > 0 && owner(last) == mine ? indices - block + size(last) : indices;
  }
  int my_count() const { return indices_before(blocks()); }
  // The same, seen from another part.
  BlockCyclic of(int part) const { return {count, block, parts, part}; }
};

}  // namespace tabane::slalom
