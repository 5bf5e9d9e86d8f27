// Views that are kept while more messages arrive, on worlds of any size: nothing is overwritten,
// nobody waits for ever.
#include <algorithm>
#include <array>
#include <list>
#include <random>
#include <vector>

#include "tabane/comm/patterns_test.h"

namespace tabane::comm {
namespace {

struct Held {
  View<std::byte> view;
  std::size_t size;
  std::uint64_t key;
};

void require_unchanged(const Held& held) {
  require_pattern(held.view.values(), held.size, held.key);
}

Held take(Comm& world, std::size_t size, int tag, int number) {
  return {world.recv_view<std::byte>(previous(world), tag), size, key_in(world, number)};
}

// `count` messages of one size, all of them held until the last has come; then ended in `order`.
template <class Order>
void hold(Comm& world, int count, std::size_t size, Order&& order) {
  std::vector<Request> sent;
  std::vector<Bytes> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(pattern_out(world, size, i));
    sent.push_back(world.isend(next(world), out.back(), 1));
  }
  std::vector<Held> held;
  for (int i = 0; i < count; ++i) held.push_back(take(world, size, 1, i));
  wait_all(sent);
  std::ranges::for_each(held, require_unchanged);
  order(held);
  while (!held.empty()) {
    require_unchanged(held.back());
    held.pop_back();
  }
}

TEST(Views, OfMoreThanFits) {
  on_worlds([](Comm& world) {
    const std::size_t bytes = (saves_time(world) ? 1 : 3) << 20;
    for (const std::size_t size : {64, 4096, 60'000}) {
      hold(world, static_cast<int>(std::min<std::size_t>(bytes / size, 2'000)), size, [](auto&) {});
    }
  });
}

TEST(Views, EndInOddOrders) {
  on_worlds([](Comm& world) {
    std::mt19937_64 random(1 + static_cast<std::uint64_t>(world.rank()));
    for (const std::size_t size : {0, 48, 3'000, 30'000}) {
      hold(world, 40, size, [](auto& held) { std::ranges::reverse(held); });
      hold(world, 40, size, [&](auto& held) { std::ranges::shuffle(held, random); });
    }
  });
}

// The others send with send(), rank 0 keeps everything that it gets.
TEST(Views, DoNotKeepWhoSendsWaiting) {
  on_worlds([](Comm& world) {
    const int count = saves_time(world) ? 40 : 120;
    constexpr std::array<std::size_t, 4> kSizes{40'000, 16, 4'000, 9'000};
    const auto size_of = [&](int i) { return kSizes[static_cast<std::size_t>(i) % 4]; };
    if (world.rank() != 0) {
      for (int i = 0; i < count; ++i) {
        world.send(0, pattern(size_of(i), key_of(world.rank(), 0, i)), 2);
      }
      return;
    }
    std::list<Held> held;
    std::vector<int> numbers(static_cast<std::size_t>(world.size()));
    for (int i = 0; i < count * (world.size() - 1); ++i) {
      View<std::byte> view = world.recv_view<std::byte>(any_source, 2);
      const int source = view.source(), number = numbers[static_cast<std::size_t>(source)]++;
      held.push_back({std::move(view), size_of(number), key_of(source, 0, number)});
      if (i % 7 != 6) continue;
      held.erase(std::next(held.begin(), static_cast<std::ptrdiff_t>(held.size() / 2)));
    }
    std::ranges::for_each(held, require_unchanged);
  });
}

// The first view stays through thousands of others, and through collectives.
TEST(Views, MayStayForLong) {
  on_worlds([](Comm& world) {
    const int count = saves_time(world) ? 1'000 : 5'000;
    const Bytes first = pattern_out(world, 2'000, 0);
    Request sent = world.isend(next(world), first, 3);
    const Held held = take(world, 2'000, 3, 0);
    sent.wait();
    for (int i = 1; i <= count; ++i) {
      const auto size = static_cast<std::size_t>(i % 40) * 50;
      const Bytes out = pattern_out(world, size, i);
      sent = world.isend(next(world), out, 3);
      require_unchanged(take(world, size, 3, i));
      sent.wait();
      if (i % 500 == 0) barrier(world);
    }
    require_unchanged(held);
  });
}

// Of every size, ended at random.
TEST(Views, MixWithCopies) {
  on_worlds([](Comm& world) {
    std::mt19937_64 same(1), own(1 + static_cast<std::uint64_t>(world.rank()));
    const int count = saves_time(world) ? 200 : 1'500;
    std::vector<Held> held;
    for (int i = 0; i < count; ++i) {
      const std::size_t size = (std::size_t{1} << same() % 17) + same() % 9 - 1;
      const Bytes out = pattern_out(world, size, i);
      Request sent = world.isend(next(world), out, 4);
      if (own() % 3 == 0) {
        Bytes in(size);
        world.recv(previous(world), in, 4);
        require_pattern(in, size, key_in(world, i));
      } else {
        held.push_back(take(world, size, 4, i));
      }
      sent.wait();
      while (held.size() > own() % 60) {
        std::swap(held[own() % held.size()], held.back());
        require_unchanged(held.back());
        held.pop_back();
      }
    }
    std::ranges::for_each(held, require_unchanged);
  });
}

}  // namespace
}  // namespace tabane::comm
