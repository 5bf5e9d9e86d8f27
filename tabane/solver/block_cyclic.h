// Indices dealt out in blocks, in turn, to the rows or columns of a grid of ranks: block b belongs
// to part b mod parts.
#pragma once

#include <algorithm>

namespace tabane::solver {

// One direction of the grid, seen from one of its parts.
struct BlockCyclic {
  int count = 0, block = 1;  // indices, and of these in a block; the last block may have fewer
  int parts = 1, mine = 0;

  // By index.
  int owner_of_index(int index) const { return index / block % parts; }
  // Returns how many of the first `index` indices this part has: of an index of its own, the place
  // among them.
  int count_before(int index) const {
    const int round = block * parts;
    const int rest = index % round - mine * block;
    return index / round * block + (rest < 0 ? 0 : rest < block ? rest : block);
  }
  int my_count() const { return count_before(count); }
  // Returns this part's index at that place.
  int global(int local) const { return (local / block * parts + mine) * block + local % block; }

  // By block.
  int blocks() const { return (count + block - 1) / block; }
  int begin(int b) const { return std::min(count, b * block); }
  int size(int b) const { return begin(b + 1) - begin(b); }
  int owner_of_block(int b) const { return b % parts; }
  // Blocks of this part before block b of all, and the block that is its i-th.
  int blocks_before(int b) const { return b > mine ? (b - mine + parts - 1) / parts : 0; }
  int my_blocks() const { return blocks_before(blocks()); }
  int my_block(int i) const { return i * parts + mine; }
  // Indices in this part's blocks before block b of all.
  int indices_before(int b) const { return count_before(begin(b)); }

  // The same direction, seen from another part.
  BlockCyclic of(int part) const { return {count, block, parts, part}; }
};

}  // namespace tabane::solver
