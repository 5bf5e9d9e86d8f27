// How the database is encrypted: what a mining run needs of the scheme, and whether given keys can
// count a given database.
//
// Transaction t is slot t % N of block t / N. The product of the vectors of several items is the
// vector of the transactions that hold all of them; it is summed over the blocks. The client sums
// the slots of what it decrypts, so the plaintext modulus has to exceed the number of blocks only;
// where the server sums them (hide_slots), it has to exceed the number of transactions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "tabane/tools/mine/bgv/parameters.h"

namespace tabane::mine {

struct Scheme {
  std::uint64_t most_length = 3;   // of an itemset
  bool hide_slots = false;         // only totals are decrypted
  std::uint64_t transactions = 0;  // the most that the keys are made for
  std::uint64_t degree = 0;        // 0: the least that suffices
  bool allow_insecure = false;

  auto fields() { return std::tie(most_length, hide_slots, transactions, degree, allow_insecure); }
};

// Itemsets of up to `length` items are products of this depth: see product.h.
constexpr int depth_of(std::size_t length) {
  return length <= 1 ? 0 : static_cast<int>(std::bit_width(length - 1));
}

constexpr std::size_t blocks_of(std::size_t transactions, std::size_t slots) {
  return (transactions + slots - 1) / slots;
}

// throws: core::UsageError saying what would help, if there are no such parameters.
bgv::Parameters choose_parameters(const Scheme& scheme);

// throws: core::UsageError with the plaintext modulus needed, if these parameters do not count so
// many transactions; or if the noise of so many would be too large.
void check_capacity(const bgv::Parameters& parameters, const Scheme& scheme,
                    std::size_t transactions);

}  // namespace tabane::mine
