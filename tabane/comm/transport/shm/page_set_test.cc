#include "tabane/comm/transport/shm/page_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace tabane::comm::shm {
namespace {

struct Pages {
  explicit Pages(std::size_t pages)
      : words(std::make_unique<PageSet::Word[]>(PageSet::words_for(pages))),
        set({words.get(), PageSet::words_for(pages)}, pages) {}
  std::unique_ptr<PageSet::Word[]> words;
  PageSet set;
};

TEST(PageSet, TakesTheFirstRunThatIsFree) {
  Pages pages(10);
  EXPECT_EQ(pages.set.take(3), 0u);
  EXPECT_EQ(pages.set.take(2), 3u);
  EXPECT_EQ(pages.set.take(3), 5u);
  pages.set.give_back(0, 3);
  EXPECT_EQ(pages.set.take(4), std::nullopt);  // 3 and 2, but not in one piece
  EXPECT_EQ(pages.set.take(1), 0u);
  EXPECT_EQ(pages.set.take(2), 1u);
  EXPECT_EQ(pages.set.take(2), 8u);
  EXPECT_EQ(pages.set.take(1), std::nullopt);
}

TEST(PageSet, TakesRunsAcrossWords) {
  for (const std::size_t count : {1, 63, 64, 65, 127, 128, 129, 200}) {
    Pages pages(count + 62);
    ASSERT_EQ(pages.set.take(61), 0u);
    EXPECT_EQ(pages.set.take(count), 61u) << count;
    EXPECT_EQ(pages.set.take(1), count + 61);
    EXPECT_EQ(pages.set.take(1), std::nullopt);
    pages.set.give_back(61, count);
    EXPECT_EQ(pages.set.take(count + 1), std::nullopt);
    EXPECT_EQ(pages.set.take(count), 61u);
  }
}

// What the pages hold is plain memory, so ThreadSanitizer sees whether who takes one comes after
// who has given it back.
TEST(PageSet, GivesNoPageToTwo) {
  constexpr std::size_t kPages = 300;
  Pages pages(kPages);
  std::vector<int> owners(kPages);
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int round = 0; round < 5000; ++round) {
        const std::size_t count = random() % 140 + 1;
        const std::optional<std::size_t> first = pages.set.take(count);
        if (!first) continue;
        const auto own = std::span(owners).subspan(*first, count);
        for (int& owner : own) shared += std::exchange(owner, 1);
        std::ranges::fill(own, 0);
        pages.set.give_back(*first, count);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_EQ(pages.set.take(kPages), 0u);
}

}  // namespace
}  // namespace tabane::comm::shm
