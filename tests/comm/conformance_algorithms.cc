// Every algorithm of every collective, forced by name.
#include <algorithm>
#include <array>

#include "conformance_collectives.h"
#include "tabane/comm/collective/choice.h"

namespace tabane::conformance {
namespace {

using comm::Kind;

struct Case {
  std::size_t count;
  int root;
  Layout layout;
};

void call(Comm& comm, Kind kind, const Case& what, const CollectiveOptions& options) {
  const auto [count, root, layout] = what;
  switch (kind) {
    case Kind::barrier:
      return call_barrier(comm, options);
    case Kind::broadcast:
      return call_broadcast(comm, count * 4, root, options);
    case Kind::reduce:
      return call_reduce(comm, count, root, options);
    case Kind::all_reduce:
      return call_all_reduce(comm, count, options);
    case Kind::scatter:
      return call_scatter(comm, count, root, layout, options);
    case Kind::gather:
      return call_gather(comm, count, root, layout, options);
    case Kind::all_gather:
      return call_all_gather(comm, count, layout, options);
    case Kind::all_to_all:
      return call_all_to_all(comm, count, options);
    case Kind::scan:
    case Kind::exscan:
      return call_scan(comm, kind, count, options);
    case Kind::reduce_scatter:
      return call_reduce_scatter(comm, count, options);
    case Kind::gather_varying:
    case Kind::scatter_varying:
    case Kind::all_gather_varying:
      return call_varying(comm, kind, count, root, options);
  }
}

// Returns whether the algorithm serves this call: one that does not says so on all ranks.
bool try_call(Comm& comm, Kind kind, const Case& what, const CollectiveOptions& options) {
  try {
    call(comm, kind, what, options);
    return true;
  } catch (const core::UsageError&) {
    return false;
  } catch (const core::LostError&) {
    throw;
  } catch (const std::exception& error) {
    throw core::Error(fmt::format(
        "{} {}, {} elements, root {}, {}: {}", name_of(kind), options.algorithm, what.count,
        what.root, what.layout == Layout::block ? "blocks" : "cyclic", error.what()));
  }
}

// Roots that matter: the first rank, the last one and one between. All roots are tried with the
// chosen algorithms.
std::vector<int> roots_for(Kind kind, int size) {
  constexpr std::array kRooted{Kind::broadcast, Kind::reduce,         Kind::scatter,
                               Kind::gather,    Kind::gather_varying, Kind::scatter_varying};
  if (std::ranges::find(kRooted, kind) == kRooted.end()) return {0};
  std::vector<int> roots{0, size / 2, size - 1};
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

std::vector<Layout> layouts_for(Kind kind) {
  if (kind == Kind::scatter || kind == Kind::gather || kind == Kind::all_gather) {
    return {Layout::block, Layout::cyclic};
  }
  return {Layout::block};
}

std::vector<std::size_t> counts_for(Kind kind, const Settings& settings) {
  if (kind == Kind::barrier) return {0};
  std::vector<std::size_t> counts{0, 1, 2, 5, 6, 13, 300, 1'025};
  if (!settings.quick) counts.push_back(5'000);
  if (!settings.quick && kind != Kind::all_to_all) counts.push_back(40'001);
  return counts;
}

void check_algorithm(Comm& comm, const comm::Algorithm& algorithm, const Settings& settings) {
  int served = 0;
  for (const std::size_t count : counts_for(algorithm.kind, settings)) {
    for (const int root : roots_for(algorithm.kind, comm.size())) {
      for (const Layout layout : layouts_for(algorithm.kind)) {
        if (try_call(comm, algorithm.kind, {count, root, layout}, {algorithm.name})) ++served;
      }
    }
  }
  const bool can = algorithm.name == "native" ? comm.transport().collectives() != nullptr
                                              : comm.transport().memory() != nullptr;
  require(served > 0 || !can, "{} {} serves no call on this transport", name_of(algorithm.kind),
          algorithm.name);
}

void every_algorithm(Comm& world, const Settings& settings) {
  on_groups(world, [&](Comm& comm) {
    for (const comm::Algorithm& algorithm : comm::algorithms()) {
      check_algorithm(comm, algorithm, settings);
    }
  });
}

// Algorithms one after the other, at random and on random groups: what one leaves behind does not
// confuse the next.
void algorithms_in_turn(Comm& world, const Settings& settings) {
  std::mt19937_64 same(settings.seed);
  std::vector<int> colors(static_cast<std::size_t>(world.size()));
  for (int& color : colors) color = static_cast<int>(same() % 3);
  std::vector<Comm> groups{world, *world.split(world.rank() % 2)};
  groups.push_back(*world.split(colors[static_cast<std::size_t>(world.rank())], -world.rank()));
  const auto all = comm::algorithms();
  for (int i = 0; i < (settings.quick ? 300 : 2'000); ++i) {
    const comm::Algorithm& algorithm = all[same() % all.size()];
    const std::size_t count = same() % 3 == 0 ? same() % 2'000 : same() % 13;
    Comm& comm = groups[same() % groups.size()];
    const int root = static_cast<int>(same() % 5040) % comm.size();
    const Layout layout = same() % 2 == 0 ? Layout::block : Layout::cyclic;
    try_call(comm, algorithm.kind, {count, root, layout}, {algorithm.name});
  }
}

void unknown_algorithms_are_named(Comm& world, const Settings&) {
  try {
    comm::barrier(world, {.algorithm = "telepathy"});
  } catch (const core::UsageError& error) {
    const std::string text = error.what();
    require(text.find("telepathy") != std::string::npos, "the error does not name it: {}", text);
    require(text.find("messages") != std::string::npos, "the error names no other: {}", text);
    return;
  }
  throw core::Error("an algorithm that does not exist was taken");
}

constexpr std::array kChecks{
    Check{"algorithms.every_one", every_algorithm},
    Check{"algorithms.in_turn", algorithms_in_turn},
    Check{"algorithms.unknown_ones_are_named", unknown_algorithms_are_named},
};

}  // namespace

std::span<const Check> algorithm_checks() { return kChecks; }

}  // namespace tabane::conformance
