#include "tabane/core/pinned_pool.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/topology.h"

namespace tabane::core {
namespace {

std::vector<unsigned> usable_pus() { return Topology::detect().pu_os_indices(); }

TEST(PinnedPool, RunsTheWorkOnceOnEveryThreadInEveryRound) {
  PinnedPool pool(usable_pus());
  std::vector<int> calls(pool.size(), 0);
  for (int round = 0; round < 100; ++round) pool.run([&](std::size_t i) { ++calls[i]; });
  for (int count : calls) EXPECT_EQ(count, 100);
}

TEST(PinnedPool, BindsEachThreadToItsPu) {
  const std::vector<unsigned> pus = usable_pus();
  PinnedPool pool(pus);
  std::vector<std::vector<unsigned>> bound(pus.size());
  pool.run([&](std::size_t i) { bound[i] = thread_binding(); });
  for (std::size_t i = 0; i < pus.size(); ++i) EXPECT_EQ(bound[i], std::vector<unsigned>{pus[i]});
}

TEST(PinnedPool, RethrowsTheExceptionOfAWorkerAndStaysUsable) {
  PinnedPool pool(usable_pus());
  EXPECT_THROW(pool.run([](std::size_t) { throw std::runtime_error("no"); }), std::runtime_error);
  std::vector<int> done(pool.size(), 0);
  pool.run([&](std::size_t i) { done[i] = 1; });
  EXPECT_EQ(done, std::vector<int>(pool.size(), 1));
}

TEST(PinnedPool, RefusesAPuThatDoesNotExist) {
  const std::vector<unsigned> pus = {60000};
  EXPECT_THROW(PinnedPool pool(pus), SystemError);
}

}  // namespace
}  // namespace tabane::core
