// Groups of a group, on worlds of any size: any colors, rows and columns, groups of groups.
#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/comm/patterns_test.h"

namespace tabane::comm {
namespace {

// A message round the group, small and large, and collectives.
void use(Comm& group, int salt) {
  for (const std::size_t size : {20, 30'000}) {
    const Bytes out = pattern_out(group, size, salt);
    Bytes in(size);
    group.exchange(next(group), out, any_source, in, 1);
    require_pattern(in, size, key_in(group, salt));
  }
  barrier(group);
  require_equal(all_reduce(group, group.rank() + 1, Operation::sum),
                group.size() * (group.size() + 1) / 2);
}

TEST(Groups, OfRandomColorsHaveTheirRanksInTheOrderOfKeys) {
  on_worlds([](Comm& world) {
    std::mt19937_64 same(1);
    for (int i = 0; i < (saves_time(world) ? 6 : 25); ++i) {
      std::vector<int> colors, keys, wanted;
      for (int rank = 0; rank < world.size(); ++rank) {
        colors.push_back(static_cast<int>(same() % 4) - 1);
        keys.push_back(static_cast<int>(same() % 5) - 2);
      }
      const auto self = static_cast<std::size_t>(world.rank());
      std::optional<Comm> group = world.split(colors[self], keys[self]);
      require_equal(group.has_value(), colors[self] >= 0);
      if (!group) continue;
      for (int rank = 0; rank < world.size(); ++rank) {
        if (colors[static_cast<std::size_t>(rank)] == colors[self]) wanted.push_back(rank);
      }
      std::ranges::stable_sort(wanted, {},
                               [&](int rank) { return keys[static_cast<std::size_t>(rank)]; });
      require_equal(all_gather(*group, world.rank()), wanted);
      use(*group, colors[self]);
    }
  });
}

TEST(Groups, OfRowsAndColumns) {
  on_worlds([](Comm& world) {
    for (int columns = 1; columns <= world.size(); ++columns) {
      if (world.size() % columns != 0) continue;
      Grid grid(world, world.size() / columns, columns);
      require_equal(grid.row().size(), columns);
      require_equal(grid.row().rank(), grid.my_column());
      require_equal(grid.column().rank(), grid.my_row());
      use(grid.row(), grid.my_row());
      use(grid.column(), grid.my_column());
      use(grid.all(), 77);
      // Round the torus: what goes east comes from the west.
      const std::array sent{world.rank()};
      std::array<int, 1> in{};
      grid.all().exchange(grid.east(), sent, grid.west(), in, 2);
      require_equal(in[0], grid.west());
      grid.all().exchange(grid.north(), sent, grid.south(), in, 3);
      require_equal(in[0], grid.south());
    }
  });
}

// The same tags in the world, and in two groups of the same ranks in the reverse order.
TEST(Groups, OfTheSameRanksDoNotMix) {
  on_worlds([](Comm& world) {
    Comm first = *world.split(0, -world.rank()), second = *world.split(0, -world.rank());
    require_equal(first.rank(), world.size() - 1 - world.rank());
    const std::array values{1, 2, 3};
    std::array<Comm*, 3> comms{&world, &first, &second};
    std::vector<Request> sent;
    for (std::size_t i = 0; i < 3; ++i) {
      sent.push_back(comms[i]->isend(next(*comms[i]), std::span(&values[i], 1), 5));
    }
    for (const std::size_t i : {2, 0, 1}) {
      std::array<int, 1> got{};
      comms[i]->recv(any_source, got, any_tag);
      require_equal(got[0], values[i]);
    }
    wait_all(sent);
  });
}

TEST(Groups, OfGroupsDownToASingleRank) {
  on_worlds([](Comm& world) {
    Comm group = world;
    for (int depth = 0; group.size() > 1; ++depth) {
      use(group, depth);
      group = *group.split(group.rank() < group.size() / 2 ? 0 : 1);
    }
    use(group, 99);
  });
}

TEST(Groups, GiveBackWhatTheyTake) {
  on_worlds([](Comm& world) {
    std::optional<Comm> kept;
    for (int i = 0; i < (saves_time(world) ? 20 : 300); ++i) {
      std::optional<Comm> group = world.split(world.rank() % (1 + i % 3));
      use(*group, i);
      if (i % 10 == 0) kept = group;
      use(*kept, 5);
    }
  });
}

TEST(Groups, LastAsLongAsTheirCopies) {
  on_worlds([](Comm& world) {
    std::optional<Comm> half = world.split(world.rank() % 2);
    Comm copy = *half;
    half.reset();
    use(copy, 3);
    const Comm other = copy;
    require_equal(other.size(), copy.size());
  });
}

// A collective's messages are not for receives and probes of any tag, and the other way round.
TEST(Groups, KeepMessagesAndCollectivesApart) {
  on_worlds([](Comm& world) {
    Bytes in(3'000);
    Request posted = world.irecv(any_source, in, any_tag);
    for (int i = 0; i < 20; ++i) {
      require_equal(all_reduce(world, 1, Operation::sum), world.size());
      const int root = i % world.size();
      Bytes large = world.rank() == root ? pattern(10'000, 5) : Bytes(10'000);
      broadcast(world, large, root);
      require_pattern(large, 10'000, 5);
      require(!world.probe(any_source, any_tag));
      require(!posted.test());
    }
    barrier(world);
    const Bytes out = pattern(3'000, 11);
    Request sent = world.isend(next(world), out, 12);
    const std::vector<int> part(2'000, world.rank());
    std::vector<int> all(part.size() * static_cast<std::size_t>(world.size()));
    all_gather(world, part, all, Layout::cyclic);
    for (std::size_t i = 0; i < all.size(); ++i) {
      require_equal(all[i], static_cast<int>(i % static_cast<std::size_t>(world.size())));
    }
    posted.wait();
    sent.wait();
    require_pattern(in, 3'000, 11);
  });
}

}  // namespace
}  // namespace tabane::comm
