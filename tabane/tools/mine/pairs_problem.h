// The problem by which counting on encrypted data is measured: all pairs of a few items in
// transactions that hold each item with probability one half; and a counter to compare Server with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tabane/team/team.h"
#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/bgv/parameters.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

// The defaults are those of the report process-thread.
struct PairsProblem {
  std::size_t items = 18;
  std::size_t transactions = 1'943'424;
  std::uint64_t seed = 1;
};

// Returns the same transactions everywhere; items are numbered from 1.
// throws: as generate().
Bitmaps transactions_of(const PairsProblem& problem);

// Returns all pairs in lexicographic order.
Itemsets all_pairs(std::size_t items);

// Returns keys for products without key switches, in the smallest ring that is secure.
KeySpec key_spec_of(const PairsProblem& problem);

// A ciphertext for each item in each block, each on the heap by itself, for counting as a program
// with a library of ciphertexts as values does it: every operation allocates its result and frees
// what it replaces. Server computes the same in place and reduces a sum once.
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

// Returns the same as Server::sums(). Each pair is a task. cost: two allocations of a ciphertext
// of three components for each pair and block. throws: as Team::map().
std::vector<bgv::Ciphertext> count_pairs(const ValueDatabase& database, const Itemsets& pairs,
                                         team::Team& team);

}  // namespace tabane::mine
