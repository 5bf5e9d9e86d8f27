// Groups of a group: rows, columns, any colors, groups of groups.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "conformance.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/grid.h"

namespace tabane::conformance {
namespace {

using comm::any_source;
using comm::Operation;

// Each rank's rank in `of`, in the order of the group.
std::vector<int> members(Comm& group, int rank) {
  std::vector<int> all(static_cast<std::size_t>(group.size()));
  comm::all_gather(group, std::array{rank}, all);
  return all;
}

// A message round the group, small and large, while the world's messages wait.
void use_group(Comm& group, std::uint64_t salt) {
  for (const std::size_t size : {std::size_t{20}, std::size_t{30'000}}) {
    const Bytes out = pattern(size, key_of(group.rank(), next(group), 0) ^ salt);
    Bytes in(size);
    group.exchange(next(group), out, any_source, in, 1);
    require_pattern(in, size, key_of(previous(group), group.rank(), 0) ^ salt, "within a group");
  }
  comm::barrier(group);
  const int sum = comm::all_reduce(group, group.rank() + 1, Operation::sum);
  require_equal(sum, group.size() * (group.size() + 1) / 2, "the group's sum");
}

void rows_and_columns(Comm& world, const Settings&) {
  for (int columns = 1; columns <= world.size(); ++columns) {
    if (world.size() % columns != 0) continue;
    comm::Grid grid(world, world.size() / columns, columns);
    require_equal(grid.row().size(), columns, "ranks of a row");
    require_equal(grid.row().rank(), grid.my_column(), "rank in the row");
    require_equal(grid.column().rank(), grid.my_row(), "rank in the column");
    use_group(grid.row(), static_cast<std::uint64_t>(grid.my_row()));
    use_group(grid.column(), static_cast<std::uint64_t>(grid.my_column()));
    use_group(grid.all(), 77);
    // Round the torus: what goes east comes from the west.
    const auto sent = world.rank();
    std::array<int, 1> in{};
    grid.all().exchange(grid.east(), std::array{sent}, grid.west(), in, 2);
    require_equal(in[0], grid.west(), "from the west");
    grid.all().exchange(grid.north(), std::array{sent}, grid.south(), in, 3);
    require_equal(in[0], grid.south(), "from the south");
  }
}

void random_colors(Comm& world, const Settings& settings) {
  std::mt19937_64 same(settings.seed);
  for (int i = 0; i < (settings.quick ? 6 : 25); ++i) {
    std::vector<int> colors, keys;
    for (int rank = 0; rank < world.size(); ++rank) {
      colors.push_back(static_cast<int>(same() % 4) - 1);
      keys.push_back(static_cast<int>(same() % 5) - 2);
    }
    const auto mine = static_cast<std::size_t>(world.rank());
    auto group = world.split(colors[mine], keys[mine]);
    require(group.has_value() == (colors[mine] >= 0), "color {} gave the wrong answer",
            colors[mine]);
    if (!group) continue;
    std::vector<int> wanted;
    for (int rank = 0; rank < world.size(); ++rank) {
      if (colors[static_cast<std::size_t>(rank)] == colors[mine]) wanted.push_back(rank);
    }
    std::ranges::stable_sort(wanted, {}, [&](int r) { return keys[static_cast<std::size_t>(r)]; });
    require(members(*group, world.rank()) == wanted, "a group of {} has other members or order",
            wanted.size());
    use_group(*group, static_cast<std::uint64_t>(colors[mine]));
  }
}

// The same tags in the world and in a group of the same ranks, in another order.
void groups_do_not_mix(Comm& world, const Settings&) {
  auto group = *world.split(0, -world.rank());
  require_equal(group.rank(), world.size() - 1 - world.rank(), "rank in the reverse order");
  const std::array one{1}, two{2};
  auto in_world = world.isend(next(world), one, 5);
  auto in_group = group.isend(next(group), two, 5);
  std::array<int, 1> got{};
  group.recv(any_source, got, comm::any_tag);
  require_equal(got[0], 2, "the group's message");
  world.recv(any_source, got, comm::any_tag);
  require_equal(got[0], 1, "the world's message");
  in_world.wait();
  in_group.wait();
}

void halves_of_halves(Comm& world, const Settings&) {
  Comm group = world;
  for (std::uint64_t depth = 0; group.size() > 1; ++depth) {
    use_group(group, depth);
    group = *group.split(group.rank() < group.size() / 2 ? 0 : 1);
  }
  use_group(group, 99);
}

// What a group takes is given back when it ends.
void many_groups(Comm& world, const Settings& settings) {
  std::optional<Comm> kept;
  for (int i = 0; i < (settings.quick ? 20 : 300); ++i) {
    auto group = world.split(world.rank() % (1 + i % 3));
    use_group(*group, static_cast<std::uint64_t>(i));
    if (i % 10 == 0) kept = group;
    use_group(*kept, 5);
  }
}

void copies_share_the_group(Comm& world, const Settings&) {
  auto half = world.split(world.rank() % 2);
  Comm copy = *half;
  half.reset();
  use_group(copy, 3);
  const Comm other = copy;
  require_equal(other.size(), copy.size(), "size of a copy");
}

constexpr std::array kChecks{
    Check{"groups.rows_and_columns", rows_and_columns},
    Check{"groups.random_colors", random_colors},
    Check{"groups.do_not_mix", groups_do_not_mix},
    Check{"groups.halves_of_halves", halves_of_halves},
    Check{"groups.many", many_groups},
    Check{"groups.copies_share_the_group", copies_share_the_group},
};

}  // namespace

std::span<const Check> group_checks() { return kChecks; }

}  // namespace tabane::conformance
