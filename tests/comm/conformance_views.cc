// Views that are kept while more messages arrive: nothing is overwritten, nobody waits for ever.
#include <algorithm>
#include <array>
#include <list>

#include "conformance.h"
#include "tabane/comm/collectives.h"

namespace tabane::conformance {
namespace {

using comm::any_source;
using comm::View;
using ByteView = View<std::byte>;

struct Held {
  ByteView view;
  std::size_t size;
  std::uint64_t key;
};

void require_unchanged(const Held& held) {
  require_pattern(held.view.values(), held.size, held.key, "a view that was kept");
}

// `count` messages of one size, all of them held until the last has come; ended by `order`.
template <class Order>
void hold(Comm& world, int count, std::size_t size, Order&& order) {
  const int from = previous(world), to = next(world);
  std::vector<comm::Request> sent;
  std::vector<Bytes> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(pattern(size, key_of(world.rank(), to, i)));
    sent.push_back(world.isend(to, out.back(), 1));
  }
  std::vector<Held> held;
  for (int i = 0; i < count; ++i) {
    held.push_back({world.recv_view<std::byte>(from, 1), size, key_of(from, world.rank(), i)});
  }
  comm::wait_all(sent);
  std::ranges::for_each(held, require_unchanged);
  order(held);
  while (!held.empty()) {
    require_unchanged(held.back());
    held.pop_back();
  }
}

void more_than_fits(Comm& world, const Settings& settings) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{4096}, std::size_t{60'000}}) {
    const std::size_t bytes = (settings.quick ? 1 : 3) << 20;
    const int count = static_cast<int>(std::min<std::size_t>(bytes / size, 2'000));
    hold(world, count, size, [](std::vector<Held>&) {});
  }
}

void ended_in_odd_orders(Comm& world, const Settings& settings) {
  std::mt19937_64 random(settings.seed + static_cast<std::uint64_t>(world.rank()));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{48}, std::size_t{3'000}, std::size_t{30'000}}) {
    hold(world, 40, size, [](auto& held) { std::ranges::reverse(held); });
    hold(world, 40, size, [&](auto& held) { std::ranges::shuffle(held, random); });
  }
}

// One side sends with send(), the other keeps everything that it gets.
void blocking_sends_to_a_keeper(Comm& world, const Settings& settings) {
  const int count = settings.quick ? 40 : 120;
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
    auto view = world.recv_view<std::byte>(any_source, 2);
    const int source = view.source(), number = numbers[static_cast<std::size_t>(source)]++;
    held.push_back({std::move(view), size_of(number), key_of(source, 0, number)});
    if (i % 7 == 6)
      held.erase(std::next(held.begin(), static_cast<std::ptrdiff_t>(held.size() / 2)));
  }
  std::ranges::for_each(held, require_unchanged);
}

// The first view stays through thousands of others, and through collectives.
void one_stays_for_long(Comm& world, const Settings& settings) {
  const int from = previous(world), to = next(world), count = settings.quick ? 1'000 : 5'000;
  const Bytes first = pattern(2'000, key_of(world.rank(), to, 0));
  auto sent = world.isend(to, first, 3);
  const Held held{world.recv_view<std::byte>(from, 3), 2'000, key_of(from, world.rank(), 0)};
  sent.wait();
  for (int i = 1; i <= count; ++i) {
    const auto size = static_cast<std::size_t>(i % 40) * 50;
    const Bytes out = pattern(size, key_of(world.rank(), to, i));
    sent = world.isend(to, out, 3);
    const auto view = world.recv_view<std::byte>(from, 3);
    require_pattern(view.values(), size, key_of(from, world.rank(), i), "one of many views");
    sent.wait();
    if (i % 500 == 0) comm::barrier(world);
  }
  require_unchanged(held);
}

// Kept views and received copies, ended at random, of every size.
void mixed_with_copies(Comm& world, const Settings& settings) {
  std::mt19937_64 same(settings.seed),
      own(settings.seed + static_cast<std::uint64_t>(world.rank()));
  const int from = previous(world), to = next(world), count = settings.quick ? 200 : 1'500;
  std::vector<Held> held;
  for (int i = 0; i < count; ++i) {
    const std::size_t size = (std::size_t{1} << same() % 17) + same() % 9 - 1;
    const Bytes out = pattern(size, key_of(world.rank(), to, i));
    auto sent = world.isend(to, out, 4);
    if (own() % 3 == 0) {
      Bytes in(size);
      world.recv(from, in, 4);
      require_pattern(in, size, key_of(from, world.rank(), i), "a copy between views");
    } else {
      held.push_back({world.recv_view<std::byte>(from, 4), size, key_of(from, world.rank(), i)});
    }
    sent.wait();
    while (held.size() > own() % 60) {
      std::swap(held[own() % held.size()], held.back());
      require_unchanged(held.back());
      held.pop_back();
    }
  }
  std::ranges::for_each(held, require_unchanged);
}

constexpr std::array kChecks{
    Check{"views.more_than_fits", more_than_fits},
    Check{"views.ended_in_odd_orders", ended_in_odd_orders},
    Check{"views.blocking_sends_to_a_keeper", blocking_sends_to_a_keeper},
    Check{"views.one_stays_for_long", one_stays_for_long},
    Check{"views.mixed_with_copies", mixed_with_copies},
};

}  // namespace

std::span<const Check> view_checks() { return kChecks; }

}  // namespace tabane::conformance
