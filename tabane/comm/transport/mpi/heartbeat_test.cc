#include "tabane/comm/transport/mpi/heartbeat.h"

#include <gtest/gtest.h>

#include <memory>

namespace tabane::comm::mpi {
namespace {

constexpr double kLimit = 0.5;

void pass_time(double limits) {
  std::this_thread::sleep_for(std::chrono::duration<double>(limits * kLimit));
}

// Ranks of this process that play hosts.
std::vector<std::unique_ptr<Heartbeat>> make(const std::vector<std::string>& hosts,
                                             double limit_s = kLimit) {
  std::vector<std::unique_ptr<Heartbeat>> all;
  for (const std::string& host : hosts) {
    all.push_back(std::make_unique<Heartbeat>(host, limit_s, true));
    all.back()->calm_down();  // no test is killed
  }
  return all;
}

std::vector<Whereabouts> whereabouts(const std::vector<std::unique_ptr<Heartbeat>>& ranks) {
  std::vector<Whereabouts> all;
  for (const auto& rank : ranks) all.push_back(rank->whereabouts());
  return all;
}

void start(std::vector<std::unique_ptr<Heartbeat>>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i]->start(whereabouts(ranks), static_cast<int>(i));
  }
}

// Waits for it as long as the test may run.
int silent_rank_of(const Heartbeat& rank) {
  while (rank.silent_rank() == Heartbeat::kNobody) pass_time(0.1);
  return rank.silent_rank();
}

TEST(Heartbeat, NamesTheHostThatFallsSilent) {
  auto ranks = make({"a", "a", "b", "b", "c"});
  start(ranks);
  pass_time(3);
  for (const auto& rank : ranks) EXPECT_EQ(rank->silent_rank(), Heartbeat::kNobody);
  ranks[2].reset();  // the first of b, which speaks for it
  for (const std::size_t other : {0, 1, 4}) {
    EXPECT_EQ(silent_rank_of(*ranks[other]), 2);
    EXPECT_EQ(ranks[other]->host_of(2), "b");
  }
  EXPECT_EQ(ranks[3]->silent_rank(), Heartbeat::kNobody);  // of the same host
}

TEST(Heartbeat, DoesNotMissWhomItNeverHeard) {
  auto ranks = make({"a", "b"});
  ranks[0]->start(whereabouts(ranks), 0);
  pass_time(3);
  EXPECT_EQ(ranks[0]->silent_rank(), Heartbeat::kNobody);
}

TEST(Heartbeat, WatchesByTheShortestLimitAndNotAtAllIfOneIsZero) {
  auto ranks = make({"a", "b"}, 1'000);
  ranks.push_back(std::make_unique<Heartbeat>("c", kLimit, true));
  ranks[2]->calm_down();
  start(ranks);
  EXPECT_EQ(ranks[0]->limit().count(), kLimit);
  pass_time(0.5);
  ranks[2].reset();
  EXPECT_EQ(silent_rank_of(*ranks[0]), 2);

  auto unwatched = make({"a", "b"}, 0);
  start(unwatched);
  EXPECT_EQ(unwatched[0]->limit().count(), 0);
}

TEST(Heartbeat, NeedsNobodyWhereAllRanksAreOnOneHost) {
  auto ranks = make({"a", "a"});
  start(ranks);
  ranks[0].reset();
  pass_time(2);
  EXPECT_EQ(ranks[1]->silent_rank(), Heartbeat::kNobody);
}

}  // namespace
}  // namespace tabane::comm::mpi
