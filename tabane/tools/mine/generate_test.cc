#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {
namespace {

using Transactions = std::vector<std::vector<Item>>;

Transactions made(const GenerateSettings& settings) {
  Transactions all;
  generate(settings,
           [&](std::span<const Item> items) { all.emplace_back(items.begin(), items.end()); });
  return all;
}

double mean_size(const Transactions& all) {
  std::size_t items = 0;
  for (const auto& one : all) items += one.size();
  return static_cast<double>(items) / static_cast<double>(all.size());
}

TEST(Generate, ItemsAscendAndAreInRange) {
  for (const double density : {0.0, 0.3}) {
    const auto all = made({.transactions = 500, .items = 40, .density = density});
    EXPECT_EQ(all.size(), 500);
    for (const auto& items : all) {
      EXPECT_TRUE(std::ranges::is_sorted(items));
      EXPECT_EQ(std::ranges::adjacent_find(items), items.end());
      for (const Item item : items) EXPECT_TRUE(item >= 1 && item <= 40);
    }
  }
}

TEST(Generate, TheSameSettingsGiveTheSameTransactions) {
  const GenerateSettings settings{.transactions = 200, .items = 30, .seed = 9};
  EXPECT_EQ(made(settings), made(settings));
  GenerateSettings other = settings;
  other.seed = 10;
  EXPECT_NE(made(settings), made(other));
}

TEST(Generate, TransactionsHaveAboutTheSizeAskedFor) {
  const double mean =
      mean_size(made({.transactions = 5000, .items = 1000, .mean_transaction = 12}));
  EXPECT_GT(mean, 9);
  EXPECT_LT(mean, 15);
}

TEST(Generate, ItemsOnTheirOwnHaveTheDensityAskedFor) {
  // 200 000 draws: the standard deviation of the share is 0.001.
  const double share = mean_size(made({.transactions = 10'000, .items = 20, .density = 0.25})) / 20;
  EXPECT_NEAR(share, 0.25, 0.006);
}

TEST(Generate, PatternsAreBoughtTogether) {
  // Where a few patterns are all there is, some pair is far more frequent than chance gives.
  const auto all = made({.transactions = 2000,
                         .items = 200,
                         .mean_transaction = 6,
                         .mean_pattern = 3,
                         .patterns = 10,
                         .corruption = 0.2});
  std::vector<std::size_t> single(201), pair(201 * 201);
  for (const auto& items : all) {
    for (const Item a : items) {
      ++single[a];
      for (const Item b : items) {
        if (a < b) ++pair[a * 201 + b];
      }
    }
  }
  double best = 0;
  for (std::size_t a = 0; a <= 200; ++a) {
    for (std::size_t b = a + 1; b <= 200; ++b) {
      if (pair[a * 201 + b] < 100) continue;
      best = std::max(best, static_cast<double>(pair[a * 201 + b]) * 2000 /
                                (static_cast<double>(single[a]) * static_cast<double>(single[b])));
    }
  }
  EXPECT_GT(best, 2);
}

TEST(Generate, WhatCannotBeIsRefused) {
  EXPECT_THROW(check({.transactions = 0}), core::UsageError);
  EXPECT_THROW(check({.items = 0}), core::UsageError);
  EXPECT_THROW(check({.mean_transaction = 0}), core::UsageError);
  EXPECT_THROW(check({.mean_pattern = 1e9}), core::UsageError);
  EXPECT_THROW(check({.patterns = 0}), core::UsageError);
  EXPECT_THROW(check({.correlation = 2}), core::UsageError);
  EXPECT_THROW(check({.density = -1}), core::UsageError);
  check({});
}

}  // namespace
}  // namespace tabane::mine
