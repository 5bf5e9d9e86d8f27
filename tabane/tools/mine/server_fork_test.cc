#include "tabane/tools/mine/server.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tabane/core/error.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/small_database_test.h"

namespace tabane::mine {
namespace {

// Small rings are not secure, but quick.
KeySpec small_scheme(std::size_t length, bool hide_slots = false) {
  return {.most_length = length,
          .hide_slots = hide_slots,
          .transactions = 2000,
          .degree = 256,
          .allow_insecure = true};
}

// A client's database on a server.
struct Setting {
  Setting(const KeySpec& spec, const Bitmaps& plain)
      : client(Client::with_new_keys(spec)),
        keys(client.public_keys()),
        threads({.processes = 1, .threads = 2}),
        database(encrypt(client, plain, threads)),
        server(keys, database) {}

  std::vector<std::uint64_t> count(const Itemsets& candidates, team::Team& team) {
    return decrypt(client, server.count(candidates, team, work), threads);
  }

  Client client;
  PublicKeys keys;
  team::Team threads;
  EncryptedDatabase database;
  Server server;
  Work work;
};

TEST(Server, CountsWhatThePlainLoopCounts) {
  const Bitmaps plain = random_bitmaps(6, 1900, 0.7, 11);
  Setting setting(small_scheme(5), plain);
  for (const team::TeamOptions& shape :
       std::vector<team::TeamOptions>{{.processes = 1, .threads = 1},
                                      {.processes = 1, .threads = 3},
                                      {.processes = 2, .threads = 2},
                                      {}}) {
    team::Team team(shape);
    for (std::size_t length = 1; length <= 5; ++length) {
      const Itemsets candidates = all_of(6, length);
      EXPECT_EQ(setting.count(candidates, team), count_reference(plain, candidates))
          << length << " items, " << shape.processes << " x " << shape.threads;
    }
  }
}

TEST(Server, CountsMoreCandidatesThanAtATime) {
  const Bitmaps plain = random_bitmaps(24, 500, 0.5, 19);
  Setting setting(small_scheme(2), plain);
  const Itemsets pairs = all_of(24, 2);
  ASSERT_GT(pairs.size(), 256);
  team::Team team({.processes = 1, .threads = 2});
  EXPECT_EQ(setting.count(pairs, team), count_reference(plain, pairs));
  EXPECT_EQ(setting.work.products, 2 * pairs.size());
}

TEST(Server, SumsTheSlotsWhereTheyAreHidden) {
  const Bitmaps plain = random_bitmaps(4, 700, 0.6, 12);
  Setting setting(small_scheme(3, true), plain);
  team::Team team({.processes = 1, .threads = 2});
  for (std::size_t length = 1; length <= 3; ++length) {
    const Itemsets candidates = all_of(4, length);
    EXPECT_EQ(setting.count(candidates, team), count_reference(plain, candidates)) << length;
  }
}

TEST(Server, HidesWhatTheSlotsWere) {
  const Bitmaps plain = random_bitmaps(2, 300, 0.5, 13);
  Setting setting(small_scheme(2, true), plain);
  team::Team team({.processes = 1, .threads = 1});
  std::vector<bgv::Ciphertext> sums = setting.server.sums(all_of(2, 2), team, setting.work);
  EXPECT_THROW(setting.client.support(sums[0]), core::Error);  // not summed yet
  setting.server.finish(sums, team, setting.work);
  setting.client.support(sums[0]);
}

TEST(Server, PairsTakeNoKeySwitchAndLongerItemsetsOneForEachPrefix) {
  const Bitmaps plain = random_bitmaps(5, 1000, 0.5, 14);  // 4 blocks
  Setting setting(small_scheme(3), plain);
  team::Team team({.processes = 1, .threads = 1});
  setting.count(all_of(5, 2), team);
  EXPECT_EQ(setting.work.key_switches, 0);
  EXPECT_EQ(setting.work.products, 10 * 4);
  setting.work = {};
  Itemsets triples(3);  // two prefixes
  for (const auto& items :
       std::vector<std::vector<Item>>{{0, 1, 2}, {0, 1, 3}, {0, 1, 4}, {1, 2, 3}}) {
    triples.push_back(items);
  }
  setting.count(triples, team);
  // Batches may be cut between candidates with one prefix only where there are few blocks.
  EXPECT_GE(setting.work.key_switches, 2 * 4);
  EXPECT_LE(setting.work.key_switches, 4 * 4);
}

TEST(Server, LeavesAsFewPrimesAsTheNoiseAllows) {
  const Bitmaps plain = random_bitmaps(2, 1000, 0.5, 20);
  Setting setting({.most_length = 2, .transactions = 1'000'000}, plain);
  team::Team team({.processes = 1, .threads = 1});
  const Itemsets pair = all_of(2, 2);
  EXPECT_EQ(setting.server.sums(pair, team, setting.work)[0].primes(), 2);
  EXPECT_EQ(setting.server.count(pair, team, setting.work)[0].primes(), 1);
  EXPECT_EQ(setting.count(pair, team), count_reference(plain, pair));
}

TEST(Server, CandidatesThatItCannotCountAreRefused) {
  const Bitmaps plain = random_bitmaps(4, 300, 0.5, 15);
  Setting setting(small_scheme(2), plain);
  team::Team team({.processes = 1, .threads = 1});
  Work work;
  EXPECT_NE(core::text_of_error<core::UsageError>([&] {
              setting.server.count(all_of(4, 3), team, work);
            }).find("itemsets of up to 2 items, not 3"),
            std::string::npos);
  Itemsets beyond(2);
  beyond.push_back(std::vector<Item>{1, 4});
  EXPECT_THROW(setting.server.count(beyond, team, work), core::UsageError);
}

TEST(Server, AnotherKeysDatabaseIsRefused) {
  const Bitmaps plain = random_bitmaps(2, 100, 0.5, 16);
  Setting setting(small_scheme(2), plain);
  const PublicKeys others = Client::with_new_keys(small_scheme(2)).public_keys();
  EXPECT_THROW(Server(others, setting.database), core::UsageError);
}

TEST(Client, CannotReadWhatIsUnderAnotherKey) {
  const Bitmaps plain = random_bitmaps(2, 100, 0.5, 17);
  Setting setting(small_scheme(2), plain);
  const Client other = Client::with_new_keys(small_scheme(2));
  EXPECT_THROW(other.support(setting.database.at(0, 0)), core::UsageError);
}

TEST(Client, MoreTransactionsThanCanBeCountedAreRefused) {
  const Bitmaps many = random_bitmaps(1, 70'000, 0.5, 18);
  KeySpec spec = small_scheme(2, true);
  const Client client = Client::with_new_keys(spec);
  team::Team threads({.processes = 1, .threads = 1});
  EXPECT_NE(core::text_of_error<core::UsageError>([&] {
              encrypt(client, many, threads);
            }).find("70000 transactions are more than the plaintext modulus"),
            std::string::npos);
}

TEST(KeySpec, TakesThePlaintextModulusThatIsNeeded) {
  const bgv::Parameters report = choose_parameters({.most_length = 2, .transactions = 1'943'424});
  EXPECT_TRUE(report.secure());
  EXPECT_EQ(report.plaintext_modulus(), 65537);
  EXPECT_FALSE(report.has_special_prime());
  const bgv::Parameters hidden =
      choose_parameters({.most_length = 2, .hide_slots = true, .transactions = 1'943'424});
  EXPECT_GT(hidden.plaintext_modulus(), 1'943'424);
  EXPECT_TRUE(hidden.secure());
  for (const std::uint64_t length : {3, 4, 8}) {
    EXPECT_TRUE(choose_parameters({.most_length = length, .transactions = 1'943'424}).secure());
  }
}

TEST(KeySpec, OfTooSmallARingIsRefusedUnlessAllowed) {
  KeySpec spec{.most_length = 3, .transactions = 1000, .degree = 1024};
  EXPECT_THROW(choose_parameters(spec), core::UsageError);
  spec.allow_insecure = true;
  EXPECT_FALSE(choose_parameters(spec).secure());
}

}  // namespace
}  // namespace tabane::mine
