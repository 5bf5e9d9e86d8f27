#include "tabane/studies/ap1000/ap1000.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/core/binding.h"
#include "tabane/core/measurement.h"
#include "tabane/lab/probes/ping_pong.h"

namespace tabane::lab {
namespace {

using comm::Comm;
using comm::Grid;
using comm::Operation;

// ---- messages ----

RankWork ping_pong(Grid& grid, std::size_t bytes, bool view) {
  Comm& comm = grid.all();
  std::vector<std::byte> out(bytes), in(bytes);
  return [&comm, out, in, view](std::uint64_t iterations) mutable {
    const int peer = 1 - comm.rank();
    const auto receive = [&] {
      if (view)
        comm.recv_view<std::byte>(peer);
      else
        comm.recv(peer, in);
    };
    for (std::uint64_t i = 0; i < iterations; ++i) {
      if (comm.rank() == 0) comm.send(peer, out);
      receive();
      if (comm.rank() == 1) comm.send(peer, out);
    }
  };
}

constexpr std::size_t kWindow = 64;  // messages that are under way at once

// As OSU's osu_mbw_mr: each rank of the first half sends windows of messages to one of the second,
// which answers each window by one message. The pairs work at the same time; an odd rank waits.
RankWork windows(Grid& grid, std::size_t bytes) {
  const int pairs = grid.all().size() / 2, rank = grid.all().rank();
  const bool sends = rank < pairs, waits = rank == 2 * pairs;
  return [=, &comm = grid.all(), out = std::vector<std::byte>(sends ? bytes : 0),
          in = std::vector<std::byte>(sends || waits ? 0 : bytes * kWindow)](
             std::uint64_t iterations) mutable {
    const int peer = comm.rank() + (sends ? pairs : -pairs);
    std::vector<comm::Request> requests;
    for (std::uint64_t i = 0; !waits && i < iterations; ++i) {
      for (std::size_t k = 0; k < kWindow; ++k) {
        requests.push_back(sends ? comm.isend(peer, out)
                                 : comm.irecv(peer, std::span(in).subspan(k * bytes, bytes)));
      }
      for (comm::Request& request : requests) request.wait();
      requests.clear();
      if (sends)
        comm.recv<int>(peer);
      else
        comm.send(peer, 1);
    }
    comm::barrier(comm);  // rank 0 has the clock of all
  };
}

// ---- collectives ----

comm::CollectiveOptions by(const char* algorithm) { return {.algorithm = algorithm}; }

enum class GridPart { row, column, all };
Comm& part_of(Grid& grid, GridPart part) {
  return part == GridPart::row ? grid.row() : part == GridPart::column ? grid.column() : grid.all();
}

// A rank's arrays, that all gathering and scattering shares: any rank is the root at times.
// Elements of 4 bytes, as in the report.
struct GatherArrays {
  std::vector<float> all, part;

  void fit(std::size_t elements, int ranks) {
    all.resize(std::max(all.size(), elements));
    part.resize(std::max(part.size(), elements / static_cast<std::size_t>(ranks)));
  }
};

struct Gathering {
  bool scatters = false;
  std::size_t bytes = 0;  // of the whole array
  comm::Layout layout = comm::Layout::block;
  const char* algorithm = "";
};

RankWork gatherings(Grid& grid, const Gathering& what,
                    const std::shared_ptr<GatherArrays>& arrays) {
  const std::size_t elements = what.bytes / sizeof(float);
  const std::size_t elements_a_rank = elements / static_cast<std::size_t>(grid.all().size());
  arrays->fit(elements, grid.all().size());
  return core::repeat([=, &grid, roots = Roots(grid.all())]() mutable {
    const std::span<float> all = std::span(arrays->all).first(elements);
    const std::span<float> part = std::span(arrays->part).first(elements_a_rank);
    if (what.scatters)
      comm::scatter(grid.all(), all, part, roots.next(), what.layout, by(what.algorithm));
    else
      comm::gather(grid.all(), part, all, roots.next(), what.layout, by(what.algorithm));
  });
}

// ---- the plan ----

constexpr std::uint64_t kMostOfAllRanks = std::uint64_t{256} << 20;  // of the arrays of all ranks

using Contenders = std::vector<RankContender>;

struct NamedAlgorithm {
  const char* name;
  const char* algorithm;  // empty: chosen
};

// Adds an operation that ranks repeat. make(grid): returns it.
void add(Contenders& all, Factors factors, auto make) {
  all.push_back({std::move(factors), [=](Grid& grid) { return core::repeat(make(grid)); }});
}

void add_barriers(Contenders& all, bool shares_memory) {
  const std::vector<NamedAlgorithm> ways =
      shares_memory ? std::vector<NamedAlgorithm>{{"chosen", ""},
                                                  {"flags", "flags"},
                                                  {"messages", "messages"}}
                    : std::vector<NamedAlgorithm>{{"native", "native"}, {"messages", "messages"}};
  for (const NamedAlgorithm way : ways)
    add(all, {{"part", "barrier"}, {"way", way.name}},
        [=](Grid& grid) { return [&grid, way] { comm::barrier(grid.all(), by(way.algorithm)); }; });
}

struct GroupNames {
  GridPart part;
  const char *name, *broadcast;
};
constexpr GroupNames kGroups[] = {{GridPart::row, "row", "row_broadcast"},
                                  {GridPart::column, "column", "column_broadcast"},
                                  {GridPart::all, "all", "broadcast"}};

// Along a row, along a column and to all ranks; not in groups of one rank.
void add_broadcasts(Contenders& all, int ranks, bool shares_memory) {
  const comm::GridShape shape = comm::fit_grid(ranks);
  const NamedAlgorithm own =
      shares_memory ? NamedAlgorithm{"flags", "flags"} : NamedAlgorithm{"native", "native"};
  for (const GroupNames& group : kGroups) {
    const bool is_alone = (group.part == GridPart::row && shape.columns == 1) ||
                          (group.part == GridPart::column && shape.rows == 1);
    if (is_alone) continue;
    for (const NamedAlgorithm way : {own, NamedAlgorithm{"binomial", "binomial"}}) {
      for (const std::uint64_t bytes : {8, 64, 512, 4096, 16384, 65536})
        add(all, {{"part", group.broadcast}, {"way", way.name}, {"bytes", bytes}}, [=](Grid& grid) {
          Comm& comm = part_of(grid, group.part);
          return
              [&comm, way, values = std::vector<std::byte>(bytes), roots = Roots(comm)]() mutable {
                comm::broadcast(comm, values, roots.next(), by(way.algorithm));
              };
        });
    }
  }
}

void add_global_functions(Contenders& all) {
  for (const auto& [part, name, broadcast] : kGroups) {
    for (const NamedAlgorithm way :
         {NamedAlgorithm{"chosen", ""}, NamedAlgorithm{"tree", "tree"}}) {
      if (part != GridPart::all && way.name == std::string_view("tree")) continue;
      add(all, {{"part", "sum"}, {"way", way.name}, {"group", name}}, [=, part = part](Grid& grid) {
        return [&comm = part_of(grid, part), way] {
          comm::all_reduce(comm, 1.0, Operation::sum, by(way.algorithm));
        };
      });
      add(all, {{"part", "max_loc"}, {"way", way.name}, {"group", name}},
          [=, part = part](Grid& grid) {
            return [&comm = part_of(grid, part), way] {
              comm::all_reduce_max_loc(comm, 1.0 + comm.rank(), 7, by(way.algorithm));
            };
          });
    }
  }
}

void add_vectors(Contenders& all) {
  for (std::size_t elements = 1; elements <= 64; elements *= 2) {
    const std::uint64_t bytes = elements * sizeof(double);
    add(all, {{"part", "vector"}, {"way", "elements"}, {"bytes", bytes}}, [=](Grid& grid) {
      return [&grid, values = std::vector<double>(elements)]() mutable {
        for (double& value : values) value = comm::all_reduce(grid.all(), value, Operation::sum);
      };
    });
    for (const NamedAlgorithm way :
         {NamedAlgorithm{"vector", ""}, NamedAlgorithm{"vector tree", "tree"}})
      add(all, {{"part", "vector"}, {"way", way.name}, {"bytes", bytes}}, [=](Grid& grid) {
        return [&grid, way, values = std::vector<double>(elements)]() mutable {
          comm::all_reduce(grid.all(), values, Operation::sum, by(way.algorithm));
        };
      });
  }
}

void add_gathering(Contenders& all, int ranks) {
  const auto arrays = std::make_shared<GatherArrays>();
  for (const std::uint64_t part : {64, 1024, 8192, 65536}) {
    const std::uint64_t bytes = part * static_cast<std::uint64_t>(ranks);
    if (bytes * static_cast<std::uint64_t>(ranks) > kMostOfAllRanks) break;
    for (const char* way : {"fine", "block", "polling"}) {
      const bool is_fine = way == std::string_view("fine"),
                 polls = way == std::string_view("polling");
      for (const bool scatters : {false, true}) {
        const Gathering what{scatters, bytes, is_fine ? comm::Layout::cyclic : comm::Layout::block,
                             polls ? way : ""};
        all.push_back({{{"part", scatters ? "scatter" : "gather"}, {"way", way}, {"bytes", bytes}},
                       [=](Grid& grid) { return gatherings(grid, what, arrays); }});
      }
    }
  }
}

// Times are those of a message of all pairs together.
void add_message_rates(Contenders& all, int ranks) {
  const int pairs = ranks / 2;
  for (const std::uint64_t bytes : {8, 64, 512, 4096, 65536}) {
    if (bytes * kWindow * static_cast<std::uint64_t>(pairs) > kMostOfAllRanks) break;
    all.push_back({{{"part", "message_rate"}, {"bytes", bytes}},
                   [=](Grid& grid) { return windows(grid, bytes); },
                   1.0 / static_cast<double>(kWindow) / pairs});
  }
}

// Ping-pongs between two ranks: copied, in place, and queued and copied by the system, as messages
// conventionally are.
Contenders ping_pongs(bool shares_memory) {
  Contenders all;
  LocalLinks links;
  for (const std::uint64_t bytes : ping_pong_sizes(std::uint64_t{4} << 20)) {
    const auto add = [&](const char* way, RankWorkload workload) {
      all.push_back({{{"part", "pingpong"}, {"way", way}, {"bytes", bytes}}, workload, 0.5});
    };
    add("recv", [=](Grid& grid) { return ping_pong(grid, bytes, false); });
    add("view", [=](Grid& grid) { return ping_pong(grid, bytes, true); });
    if (shares_memory) add("system", links.ping_pong("", bytes));
  }
  return all;
}

// Ping-pongs between ranks that are bound to these two PUs.
Contenders ping_pongs_between(const ap1000::Distance& between) {
  Contenders all;
  for (std::uint64_t bytes = 8; bytes <= 65536; bytes *= 2) {
    all.push_back({{{"part", "distance"}, {"within", between.within}, {"bytes", bytes}},
                   [=](Grid& grid) {
                     core::bind_this_thread(std::span(&between.pus[grid.all().rank()], 1));
                     return ping_pong(grid, bytes, false);
                   },
                   0.5});
  }
  return all;
}

// All collectives of this number of ranks, and the rate of messages between pairs of them.
Contenders collectives(int ranks, bool shares_memory) {
  Contenders all;
  add_message_rates(all, ranks);
  add_barriers(all, shares_memory);
  add_broadcasts(all, ranks, shares_memory);
  add_global_functions(all);
  add_vectors(all);
  add_gathering(all, ranks);
  for (RankContender& one : all) {
    Factors factors;  // ranks stand before bytes, as people read them
    for (const Factor& factor : one.factors) {
      if (factor.name == "bytes") factors.set("ranks", ranks);
      factors.set(factor.name, factor.level);
    }
    factors.set("ranks", ranks);
    one.factors = factors;
  }
  return all;
}

// ---- the study ----

constexpr About kAboutAp1000 = {
    "ap1000", "Messages, broadcast, global functions, gathering and barriers",
    "T. Shimizu, T. Horie, H. Ishihata (Fujitsu Laboratories): Performance evaluation of the "
    "AP1000 (4 to 512 cells), 1992"};

std::string ap1000_what(const Point& point) {
  const std::string part = point.text("part");
  if (part == "message_rate") return "time of a message between pairs of ranks, all pairs together";
  if (part == "distance") return "half a round trip within one " + point.text("within");
  return (part == "pingpong" ? "half a round trip" : part) + ", " + point.text("way");
}

void note_unmeasured(Campaign& campaign, double most_seconds) {
  const auto [missing, planned] = campaign.unmeasured();
  if (missing == 0) return;
  campaign.skip("ap1000",
                fmt::format("{} of {} operations: the {:.0f} s that it may take were over; ask for "
                            "fewer ranks with -n",
                            missing, planned, most_seconds));
}

}  // namespace

std::optional<Record> run_ap1000(const core::Topology& topology, const Ap1000Options& options,
                                 const Hooks& hooks) {
  RunningStudy study(topology, kAboutAp1000, options.quick);
  const bool is_simulated = !options.ranks.machine.empty();
  const double usual = is_simulated ? 10 : options.quick ? 20 : 120;
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : usual;
  const double most =
      options.most_seconds > 0 ? options.most_seconds : (is_simulated ? 60 : 2) * budget;
  std::optional<Record> shown;
  const auto body = [&](const RankRunner& runner) {
    Campaign campaign(runner.shows ? hooks : Hooks{});
    campaign.add(rank_block(runner, 2, "ping-pong", ping_pongs(runner.shares_memory)));
    std::vector<ap1000::Distance> distances;
    // Else a launcher places the ranks, or they have no places.
    if (runner.pus > 0) distances = ap1000::distances(topology.pus());
    for (const ap1000::Distance& one : distances) {
      campaign.add(rank_block(runner, 2, fmt::format("ping-pong within one {}", one.within),
                              ping_pongs_between(one)));
    }
    const int most_ranks = runner.most_ranks;
    for (const int ranks : is_simulated ? plan_simulated_ranks(most_ranks) : plan_ranks(most_ranks))
      campaign.add(rank_block(runner, ranks, fmt::format("{} ranks", ranks),
                              collectives(ranks, runner.shares_memory)));
    const int passes = is_simulated ? 1 : options.quick ? 3 : 10;
    const bool complete = campaign.run(
        {.passes = passes, .budget_seconds = budget, .most_seconds = most, .agree = runner.agree});
    if (!runner.shows) return;
    // What the machine refused is noted already.
    if (complete && campaign.skipped.empty()) note_unmeasured(campaign, most);
    study.add(campaign, complete, ap1000_what);
    ap1000::add_views(study.record, campaign.points,
                      {runner.transport, runner.pus, std::move(distances), runner.is_simulated});
    shown = study.finish();
    if (is_simulated) tell_simulated(*shown, options.ranks.machine);
  };
  with_ranks(topology, options.ranks, body, hooks);
  return shown;
}

}  // namespace tabane::lab
