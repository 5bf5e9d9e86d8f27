// The operations of the study ap1000, as each rank runs them.
#include <algorithm>
#include <memory>
#include <set>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/lab/studies/ap1000_data.h"

namespace tabane::lab::ap1000 {
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

// ---- collectives ----

comm::CollectiveOptions by(const char* algorithm) { return {.algorithm = algorithm}; }

RankWork barriers(Grid& grid, const char* algorithm) {
  return [&grid, algorithm](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) comm::barrier(grid.all(), by(algorithm));
  };
}

RankWork broadcasts(Grid& grid, const char* algorithm, std::size_t bytes) {
  return [&grid, algorithm, values = std::vector<std::byte>(bytes),
          roots = Roots(grid.all())](std::uint64_t iterations) mutable {
    for (std::uint64_t i = 0; i < iterations; ++i)
      comm::broadcast(grid.all(), values, roots.next(), by(algorithm));
  };
}

enum class Part { row, column, all };
Comm& part_of(Grid& grid, Part part) {
  return part == Part::row ? grid.row() : part == Part::column ? grid.column() : grid.all();
}

RankWork sums(Grid& grid, Part part, const char* algorithm) {
  return [&comm = part_of(grid, part), algorithm](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i)
      comm::all_reduce(comm, 1.0, Operation::sum, by(algorithm));
  };
}

RankWork maxima(Grid& grid, Part part, const char* algorithm) {
  return [&comm = part_of(grid, part), algorithm](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i)
      comm::all_reduce_max_loc(comm, 1.0 + comm.rank(), 7, by(algorithm));
  };
}

RankWork element_sums(Grid& grid, std::size_t elements) {
  return [&grid, values = std::vector<double>(elements)](std::uint64_t iterations) mutable {
    for (std::uint64_t i = 0; i < iterations; ++i)
      for (double& value : values) value = comm::all_reduce(grid.all(), value, Operation::sum);
  };
}

RankWork vector_sums(Grid& grid, std::size_t elements, const char* algorithm) {
  return
      [&grid, algorithm, values = std::vector<double>(elements)](std::uint64_t iterations) mutable {
        for (std::uint64_t i = 0; i < iterations; ++i)
          comm::all_reduce(grid.all(), values, Operation::sum, by(algorithm));
      };
}

// A rank's arrays, that all gathering and scattering shares: any rank is the root at times.
// Elements of 4 bytes, as in the report.
struct Arrays {
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

RankWork gatherings(Grid& grid, const Gathering& what, const std::shared_ptr<Arrays>& arrays) {
  const std::size_t elements = what.bytes / sizeof(float);
  const std::size_t elements_a_rank = elements / static_cast<std::size_t>(grid.all().size());
  arrays->fit(elements, grid.all().size());
  return [=, &grid, roots = Roots(grid.all())](std::uint64_t iterations) mutable {
    const std::span<float> all = std::span(arrays->all).first(elements);
    const std::span<float> part = std::span(arrays->part).first(elements_a_rank);
    for (std::uint64_t i = 0; i < iterations; ++i) {
      if (what.scatters)
        comm::scatter(grid.all(), all, part, roots.next(), what.layout, by(what.algorithm));
      else
        comm::gather(grid.all(), part, all, roots.next(), what.layout, by(what.algorithm));
    }
  };
}

// ---- the plan ----

constexpr std::uint64_t kMostOfAllRanks = std::uint64_t{256} << 20;  // of the arrays of all ranks

class Planner {
 public:
  Planner(Job& job, Findings& findings) : job_(job), findings_(findings) {}

  void add(Point point, RankWorkload workload, double factor = 1) {
    point.ranks = job_.ranks;
    job_.points.push_back(findings_.points.size());
    job_.workloads.push_back(std::move(workload));
    job_.factors.push_back(factor);
    findings_.points.push_back(std::move(point));
  }

 private:
  Job& job_;
  Findings& findings_;
};

struct Way {
  const char* name;
  const char* algorithm;  // empty: chosen
};

void plan_ping_pong(Planner planner) {
  for (const std::uint64_t bytes : ping_pong_sizes(std::uint64_t{4} << 20)) {
    for (const bool view : {false, true}) {
      planner.add(
          {.part = "pingpong", .way = view ? "view" : "recv", .bytes = bytes},
          [=](Grid& grid) { return ping_pong(grid, bytes, view); }, 0.5);
    }
  }
}

void plan_barrier(Planner planner, bool shares_memory) {
  const std::vector<Way> ways =
      shares_memory ? std::vector<Way>{{"chosen", ""}, {"flags", "flags"}, {"messages", "messages"}}
                    : std::vector<Way>{{"native", "native"}, {"messages", "messages"}};
  for (const Way way : ways) {
    planner.add({.part = "barrier", .way = way.name},
                [=](Grid& grid) { return barriers(grid, way.algorithm); });
  }
}

void plan_broadcast(Planner planner, bool shares_memory) {
  const Way own = shares_memory ? Way{"flags", "flags"} : Way{"native", "native"};
  for (const Way way : {own, Way{"binomial", "binomial"}}) {
    for (const std::uint64_t bytes : {8, 64, 512, 4096, 16384, 65536}) {
      planner.add({.part = "broadcast", .way = way.name, .bytes = bytes},
                  [=](Grid& grid) { return broadcasts(grid, way.algorithm, bytes); });
    }
  }
}

void plan_global_functions(Planner planner) {
  const std::pair<Part, const char*> groups[] = {
      {Part::row, "row"}, {Part::column, "column"}, {Part::all, "all"}};
  for (const auto& [part, name] : groups) {
    for (const Way way : {Way{"chosen", ""}, Way{"tree", "tree"}}) {
      if (part != Part::all && way.name == std::string_view("tree")) continue;
      planner.add({.part = "sum", .way = way.name, .group = name},
                  [=, part = part](Grid& grid) { return sums(grid, part, way.algorithm); });
      planner.add({.part = "max_loc", .way = way.name, .group = name},
                  [=, part = part](Grid& grid) { return maxima(grid, part, way.algorithm); });
    }
  }
}

void plan_vectors(Planner planner) {
  for (std::size_t elements = 1; elements <= 64; elements *= 2) {
    const std::uint64_t bytes = elements * sizeof(double);
    planner.add({.part = "vector", .way = "elements", .bytes = bytes},
                [=](Grid& grid) { return element_sums(grid, elements); });
    planner.add({.part = "vector", .way = "vector", .bytes = bytes},
                [=](Grid& grid) { return vector_sums(grid, elements, ""); });
    planner.add({.part = "vector", .way = "vector tree", .bytes = bytes},
                [=](Grid& grid) { return vector_sums(grid, elements, "tree"); });
  }
}

void plan_gathering(Planner planner, int ranks) {
  struct How {
    const char* way;
    comm::Layout layout;
    const char* algorithm;
  };
  const How hows[] = {{"fine", comm::Layout::cyclic, ""},
                      {"block", comm::Layout::block, ""},
                      {"polling", comm::Layout::block, "polling"}};
  const auto arrays = std::make_shared<Arrays>();
  const auto all = static_cast<std::uint64_t>(ranks);
  for (const std::uint64_t part : {64, 1024, 8192, 65536}) {
    const std::uint64_t bytes = part * all;
    if (bytes * all > kMostOfAllRanks) break;
    for (const How how : hows) {
      for (const bool scatters : {false, true}) {
        planner.add({.part = scatters ? "scatter" : "gather", .way = how.way, .bytes = bytes},
                    [=, what = Gathering{scatters, bytes, how.layout, how.algorithm}](Grid& grid) {
                      return gatherings(grid, what, arrays);
                    });
      }
    }
  }
}

}  // namespace

std::vector<int> plan_ranks(int most) {
  std::set<int> all;
  for (int ranks = 2; ranks <= most; ranks *= 2) all.insert(ranks);
  if (most >= 2) all.insert(most);
  return {all.begin(), all.end()};
}

std::vector<std::uint64_t> ping_pong_sizes(std::uint64_t most) {
  constexpr std::uint64_t kPerturbation = 3;
  std::set<std::uint64_t> sizes;
  for (std::uint64_t bytes = 1; bytes <= most; bytes *= 2) {
    sizes.insert(bytes);
    if (bytes <= kPerturbation) continue;
    sizes.insert(bytes - kPerturbation);
    if (bytes < most) sizes.insert(bytes + kPerturbation);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<Job> plan_jobs(const RankRunner& runner, Findings& findings) {
  std::vector<Job> jobs = {{.ranks = 2, .what = "ping-pong"}};
  plan_ping_pong(Planner(jobs[0], findings));
  for (const int ranks : plan_ranks(runner.most_ranks)) {
    jobs.push_back({.ranks = ranks, .what = std::to_string(ranks) + " ranks"});
    const Planner planner(jobs.back(), findings);
    plan_barrier(planner, runner.shares_memory);
    plan_broadcast(planner, runner.shares_memory);
    plan_global_functions(planner);
    plan_vectors(planner);
    plan_gathering(planner, ranks);
  }
  return jobs;
}

}  // namespace tabane::lab::ap1000
