// Rows or columns dealt out to ranks block by block, as cards are: global index g belongs to rank
// (g / block) mod ranks.
#pragma once

namespace tabane::linpack {

struct BlockCyclic {
  int block = 1, ranks = 1, rank = 0;  // this rank's place among them

  int owner(int global) const { return global / block % ranks; }
  // Returns how many of the first `global` ones this rank has: of one that it has, its local index.
  int count_before(int global) const {
    const int round = block * ranks;
    const int rest = global % round - rank * block;
    return global / round * block + (rest < 0 ? 0 : rest < block ? rest : block);
  }
  int global(int local) const { return (local / block * ranks + rank) * block + local % block; }
};

}  // namespace tabane::linpack
