#include "tabane/comm/transport/shm/window.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tabane/comm/transport/shm/spin_test.h"

namespace tabane::comm::shm {
namespace {

// An owner closes its window while a user begins with it: what the user writes then is complete
// before the owner writes, or does not come. Plain memory, so ThreadSanitizer sees it, too.
TEST(Window, IsUsedByNobodyOnceItsOwnerHasClosedIt) {
  constexpr std::uint64_t kRounds = 300;
  Window owner{}, user{};
  std::array<std::uint64_t, 4> memory{};
  std::atomic<std::uint64_t> shown{0}, left{0};
  std::uint64_t uses = 0, wrong = 0;
  std::thread using_it([&] {
    for (std::uint64_t key = 1; key <= kRounds; ++key) {
      spin_until([&] { return shown.load(std::memory_order_relaxed) >= key; });
      linger(key * 7 % 61);
      if (user.begin_use(owner, key)) {
        ++uses;
        auto* const there = reinterpret_cast<std::uint64_t*>(owner.begin);
        for (std::size_t i = 0; i < owner.bytes / sizeof *there; ++i) there[i] = key;
      }
      user.end_use();
      left.store(key, std::memory_order_relaxed);
    }
  });
  for (std::uint64_t key = 1; key <= kRounds; ++key) {
    owner.show(key, std::as_writable_bytes(std::span(memory)));
    shown.store(key, std::memory_order_relaxed);
    linger(key * 11 % 67);
    // Even where one PU runs all threads in turn, the user comes in time now and then.
    if (key % 8 == 0) spin_until([&] { return left.load(std::memory_order_relaxed) == key; });
    owner.close();
    spin_until([&] { return !user.is_using(key); });
    memory.fill(0);
    spin_until([&] { return left.load(std::memory_order_relaxed) >= key; });
    for (const volatile std::uint64_t& word : memory) wrong += word != 0;
  }
  using_it.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(uses, 0u);
}

}  // namespace
}  // namespace tabane::comm::shm
