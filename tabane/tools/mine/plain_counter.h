// Counts on the transactions themselves: the common bits of the items' bitmaps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/team/team.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

// throws: as Team::map(). cost: two bits of each transaction for each candidate, in words of 64;
// common first items of candidates are intersected once.
std::vector<std::uint64_t> count_plain(const Bitmaps& bitmaps, const Itemsets& candidates,
                                       team::Team& team);

// The loops over bits choose vectors at run time. All spans of a call have one size.

// Returns how many bits are 1 in both.
std::uint64_t count_common_bits(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);
// out := the bits that are 1 in both; may be one of them.
void common_bits(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                 std::span<std::uint64_t> out);

}  // namespace tabane::mine
