// Counting as a program with a library of ciphertexts as values does it: every operation allocates
// its result, and what it replaces is freed. It is there to be compared with Server, which computes
// the same in place and reduces a sum once.
#pragma once

#include <cstddef>
#include <vector>

#include "tabane/team/team.h"
#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"
#include "tabane/tools/mine/bitmaps.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

// A ciphertext for each item in each block, each on the heap by itself.
class ValueDatabase {
 public:
  // Encrypts a database. threads: a team of one process.
  // throws: core::UsageError as check_capacity(), or if the memory does not suffice.
  ValueDatabase(const Client& client, const Bitmaps& bitmaps, team::Team& threads);

  std::size_t items() const { return items_; }
  std::size_t blocks() const { return ciphertexts_.size() / items_; }
  const bgv::SharedContext& context() const { return context_; }
  const bgv::Ciphertext& at(std::size_t item, std::size_t block) const {
    return ciphertexts_[block * items_ + item];
  }

 private:
  bgv::SharedContext context_;
  std::size_t items_;
  std::vector<bgv::Ciphertext> ciphertexts_;
};

// Returns what Server::sums() returns. Each pair is a task. cost: two allocations of a ciphertext
// of three components for each pair and block. throws: as Team::map().
std::vector<bgv::Ciphertext> count_pairs(const ValueDatabase& database, const Itemsets& pairs,
                                         team::Team& team);

}  // namespace tabane::mine
