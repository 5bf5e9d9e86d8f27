#include "tabane/tools/mine/pairs_problem.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/tools/mine/server.h"
#include "tabane/tools/mine/small_database_test.h"

namespace tabane::mine {
namespace {

// Small rings are not secure, but quick.
KeySpec small_scheme(const PairsProblem& problem) {
  KeySpec spec = key_spec_of(problem);
  spec.degree = 256;
  spec.allow_insecure = true;
  return spec;
}

TEST(ValueCounter, CountsWhatTheServerAndThePlainLoopCount) {
  const PairsProblem problem{.items = 5, .transactions = 1000};  // 4 blocks
  const Bitmaps plain = transactions_of(problem);
  const Client client = Client::with_new_keys(small_scheme(problem));
  const PublicKeys keys = client.public_keys();
  team::Team threads({.processes = 1, .threads = 2});
  const ValueDatabase values(client, plain, threads);
  ASSERT_EQ(values.blocks(), 4u);
  const EncryptedDatabase encrypted = encrypt(client, plain, threads);
  const Server server(keys, encrypted);
  const Itemsets pairs = all_pairs(problem.items);
  const auto expected = count_reference(plain, pairs);
  for (const team::TeamOptions& shape : std::vector<team::TeamOptions>{
           {.processes = 1, .threads = 1},
           {.processes = 1, .threads = 3},
           {.processes = 2, .threads = 2},
           {.processes = 3, .threads = 1, .fork = team::ForkOrder::serial}}) {
    team::Team team(shape);
    Work work;
    EXPECT_EQ(decrypt(client, count_pairs(values, pairs, team), threads), expected)
        << shape.processes << " x " << shape.threads;
    EXPECT_EQ(decrypt(client, server.sums(pairs, team, work), threads), expected)
        << shape.processes << " x " << shape.threads;
  }
}

TEST(ValueCounter, MoreTransactionsThanTheKeysAreMadeForAreRefused) {
  const Client client = Client::with_new_keys(small_scheme({.items = 2, .transactions = 100}));
  team::Team threads({.processes = 1, .threads = 1});
  // More than 65536 blocks: the plaintext modulus is too small.
  const Bitmaps many({1}, std::size_t{65'537} * 256);
  EXPECT_THROW(ValueDatabase(client, many, threads), core::UsageError);
}

TEST(PairsProblem, IsTheReportsByDefault) {
  const PairsProblem report;
  EXPECT_EQ(all_pairs(report.items).size(), 153u);
  EXPECT_TRUE(choose_parameters(key_spec_of(report)).secure());
  // 915 slots in a ciphertext: the multiplications that the report tells of.
  EXPECT_EQ(all_pairs(report.items).size() * blocks_of(report.transactions, 915), 324'972u);
}

TEST(PairsProblem, HoldsEachItemInHalfOfTheTransactions) {
  const PairsProblem problem{.items = 18, .transactions = 10'000};
  const Bitmaps plain = transactions_of(problem);
  EXPECT_EQ(plain.transactions(), problem.transactions);
  for (const std::uint64_t support : count_reference(plain, all_pairs(problem.items))) {
    EXPECT_NEAR(static_cast<double>(support), 2500, 300);  // seven deviations
  }
}

}  // namespace
}  // namespace tabane::mine
