// Synthetic transactions: shopping with habits, as the generator of IBM's Quest project makes it,
// or independent items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

struct GenerateSettings {
  std::size_t transactions = 10'000;
  std::size_t items = 100;  // numbered from 1
  double mean_transaction = 10;
  double mean_pattern = 4;
  std::size_t patterns = 100;
  double correlation = 0.5;  // the mean share of a pattern's items that the one before has, too
  double corruption = 0.5;   // the mean share of a pattern that is left out when it is bought
  double density = 0;  // > 0: no patterns; each item is in a transaction with this probability
  std::uint64_t seed = 1;
};

// throws: core::UsageError naming an illegal number, and the legal ones.
void check(const GenerateSettings& settings);

// Calls take(items) for each transaction; items ascend. The same settings give the same
// transactions everywhere. source: Agrawal and Srikant, Fast Algorithms for Mining Association
// Rules, VLDB 1994, 2.4.3.
void generate(const GenerateSettings& settings,
              const std::function<void(std::span<const Item>)>& take);

// Writes transactions as a file in the FIMI format; "-" is stdout. throws: core::SystemError naming
// it.
void write_generated(const GenerateSettings& settings, const std::string& path);

}  // namespace tabane::mine
