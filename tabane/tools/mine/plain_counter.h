// Counts on the transactions themselves: the common bits of the items' bitmaps.
#pragma once

#include <cstdint>
#include <vector>

#include "tabane/team/team.h"
#include "tabane/tools/mine/bitmaps.h"
#include "tabane/tools/mine/counter.h"

namespace tabane::mine {

class PlainCounter : public SupportCounter {
 public:
  // bitmaps, team: must live as long as this.
  PlainCounter(const Bitmaps& bitmaps, team::Team& team) : bitmaps_(bitmaps), team_(team) {}

  // cost: the transactions, two bits of each in 64 steps, per candidate; what candidates have in
  // common at their front is computed once. throws: as Team::map().
  std::vector<std::uint64_t> count(const Itemsets& candidates) override;

 private:
  const Bitmaps& bitmaps_;
  team::Team& team_;
};

// The slow plain version: transaction by transaction.
std::vector<std::uint64_t> count_reference(const Bitmaps& bitmaps, const Itemsets& candidates);

}  // namespace tabane::mine
