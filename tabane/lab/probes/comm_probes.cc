// comm.*: what messages and collectives between processes cost, against a line that goes from PU to
// PU.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/memory.h"
#include "tabane/core/placement.h"
#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/core_to_core.h"
#include "tabane/simd/elementwise.h"
#include "tabane/team/fork.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kSmallBytes = 8, kLargeBytes = std::size_t{1} << 20;

std::vector<core::Pu> pus_to_use(const ProbeContext& context) {
  require_this_machine(context);
  const std::span<const core::Pu> pus = context.topology().pus();
  if (pus.size() < 2) throw NotHere("one usable PU: there is no second one to send to");
  return sample_pus(pus, kMostRanks);
}

// The two PUs with the shortest way from one to the other, where that was measured; else the first
// and the last. The same in all passes.
std::vector<unsigned> nearest_pair(ProbeContext& context) {
  return context.memory().keep<std::vector<unsigned>>("comm.pair", [&] {
    const std::vector<core::Pu> pus = pus_to_use(context);
    const Result* measured = context.earlier_result("core_to_core.latency");
    if (measured != nullptr) {
      const auto pair = measured->details.find("best_pair");
      if (pair != measured->details.end()) return pair->get<std::vector<unsigned>>();
    }
    return std::vector<unsigned>{pus.front().os_index, pus.back().os_index};
  });
}

std::vector<unsigned> all_pus(const ProbeContext& context) {
  std::vector<unsigned> all;
  for (const core::Pu& pu : pus_to_use(context)) all.push_back(pu.os_index);
  return all;
}

// ---- limits, without a line of what they limit ----

// A page that all ranks share, made of lines that hold a number each. How fast a line moves between
// two cores depends on its address: what is measured on one line differs from program to program.
class Lines {
 public:
  static constexpr std::size_t kStride = 128;  // neighbouring lines may be fetched in pairs

  explicit Lines(const team::SharedBlock& page) : first_(page.data()) {
    for (std::size_t i = 0; i < size(); ++i)
      new (first_ + i * kStride) std::atomic<std::uint64_t>(0);
  }
  static std::size_t size() { return core::page_bytes() / kStride; }
  std::atomic<std::uint64_t>& operator[](std::size_t i) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(first_ + i * kStride);
  }

 private:
  std::byte* first_;
};

// An iteration is a round trip of a number on one line between rank 0 and the last rank, which
// change it in turn by compare-and-swap; ranks between them rest. Each call takes the next line.
// throws: core::Error after seconds: the other rank is lost, or never gets its PU.
RankWorkload line_trips(Lines lines) {
  return [lines](comm::Grid& grid) -> RankWork {
    const bool first = grid.all().rank() == 0;
    const bool last = grid.all().rank() == grid.all().size() - 1;
    return [lines, first, last, values = std::vector<std::uint64_t>(Lines::size()),
            next = std::size_t{0}](std::uint64_t iterations) mutable {
      constexpr double kMostSeconds = 5;
      const auto go_on = [since = 0.0](unsigned looks) mutable {
        const double now = core::tick_clock().now();
        if (looks == 1) since = now;
        if (now - since > kMostSeconds) throw core::Error("a rank did not answer on a shared line");
        return true;
      };
      const std::uint64_t begin = std::exchange(values[next], values[next] + 2 * iterations);
      if (first || last) take_turns(lines[next], begin, begin + 2 * iterations, first, go_on);
      next = (next + 1) % Lines::size();
    };
  };
}

// An iteration copies bytes inside rank 0; the others rest.
RankWorkload copies(std::size_t bytes) {
  return [bytes](comm::Grid& grid) -> RankWork {
    return [works = grid.all().rank() == 0, from = simd::generated_bytes(bytes),
            to = std::vector<std::byte>(bytes)](std::uint64_t iterations) mutable {
      for (std::uint64_t i = 0; works && i < iterations; ++i) {
        std::memcpy(to.data(), from.data(), to.size());
        core::keep(to.data());
      }
    };
  };
}

// Seconds an iteration of the workload and of its limit, in turn, on ranks bound to these PUs.
RankSamples measure_on(const std::vector<unsigned>& pus,
                       const std::function<std::vector<RankWorkload>(const Lines&)>& workloads,
                       ProbeContext& context) {
  // Refused here rather than in the ranks.
  for (const unsigned pu : pus) const core::ScopedBinding binding(pu);
  context.progress(0);
  constexpr double kProbedEpoch = 200e-6;
  const Effort effort{.fewest = 5, .most = 1000, .budget_seconds = context.budget_seconds()};
  const team::SharedBlock page(core::page_bytes(), "lines between ranks");
  const Lines lines(page);
  const std::function<RankSamples(comm::Comm&)> rank = [&](comm::Comm& ranks) {
    const core::ScopedBinding binding(pus[static_cast<std::size_t>(ranks.rank())]);
    comm::Grid grid(ranks, 1, ranks.size());
    return measure_rounds(grid, workloads(lines), effort, kProbedEpoch);
  };
  const BlockInterrupts hold;
  return *comm::launch_result<RankSamples>({.ranks = static_cast<int>(pus.size()),
                                            .transport = comm::TransportKind::shm,
                                            .placement = core::PlacementPolicy::none},
                                           rank);
}

// Measures in turn with it how long a line takes from rank 0 to the last.
RankSamples measure_beside_line(const std::vector<unsigned>& pus, const RankWorkload& workload,
                                ProbeContext& context) {
  RankSamples samples = measure_on(
      pus,
      [&](const Lines& lines) {
        return std::vector{workload, line_trips(lines)};
      },
      context);
  samples[1] = scaled(std::move(samples[1]), 0.5);
  return samples;
}

void report(const Probe& probe, ProbeContext& context, RankSamples samples, Json details) {
  Result result = probe.result(std::move(samples[0]), std::move(details));
  set_limit(result, probe.limit_how, std::move(samples[1]));
  context.report(std::move(result));
}

// ---- messages ----

// An iteration is a round trip.
RankWorkload ping_pong(std::size_t bytes) {
  return [bytes](comm::Grid& grid) -> RankWork {
    return [&ranks = grid.all(), out = simd::generated_bytes(bytes),
            in = std::vector<std::byte>(bytes)](std::uint64_t iterations) mutable {
      const int peer = 1 - ranks.rank();
      for (std::uint64_t i = 0; i < iterations; ++i) {
        if (ranks.rank() == 0) ranks.send(peer, out);
        ranks.recv(peer, in);
        if (ranks.rank() == 1) ranks.send(peer, out);
      }
    };
  };
}

void run_message_latency(const Probe& probe, ProbeContext& context) {
  const std::vector<unsigned> pus = nearest_pair(context);
  RankSamples samples = measure_beside_line(pus, ping_pong(kSmallBytes), context);
  samples[0] = scaled(std::move(samples[0]), 0.5);
  report(probe, context, std::move(samples), {{"bytes", kSmallBytes}, {"pus", pus}});
}

void run_message_bandwidth(const Probe& probe, ProbeContext& context) {
  const std::vector<unsigned> pus = nearest_pair(context);
  RankSamples samples = measure_on(
      pus,
      [](const Lines&) {
        return std::vector{ping_pong(kLargeBytes), copies(kLargeBytes)};
      },
      context);
  const auto bytes = static_cast<double>(kLargeBytes);
  for (double& sample : samples[0]) sample = 2 * bytes / sample;
  for (double& sample : samples[1]) sample = bytes / sample;
  report(probe, context, std::move(samples), {{"bytes", kLargeBytes}, {"pus", pus}});
}

// ---- collectives ----

RankWork barriers(comm::Grid& grid) {
  return core::repeat([&grid] { comm::barrier(grid.all()); });
}

RankWork sums(comm::Grid& grid) {
  return core::repeat([&grid] { comm::all_reduce(grid.all(), 1.0, comm::Operation::sum); });
}

RankWork broadcasts(comm::Grid& grid) {
  return core::repeat([&grid, value = 1.0, roots = Roots(grid.all())]() mutable {
    comm::broadcast(grid.all(), value, roots.next());
  });
}

Probe message_probe(std::string name, std::string what) {
  return {.name = std::move(name),
          .what = std::move(what),
          .unit = "s",
          .better = Better::lower,
          .version = 2,
          .seconds = {0.8, 0.3}};
}

Probe collective_probe(std::string name, std::string what, RankWorkload workload) {
  Probe probe = message_probe(std::move(name), std::move(what));
  probe.limit_how =
      "a line that goes from rank 0 to the last, measured in turn: at least one has to";
  probe.run = [workload = std::move(workload)](const Probe& about, ProbeContext& context) {
    const std::vector<unsigned> pus = all_pus(context);
    report(about, context, measure_beside_line(pus, workload, context),
           {{"ranks", pus.size()}, {"pus", pus}});
  };
  return probe;
}

}  // namespace

std::vector<Probe> comm_probes(const core::Topology&) {
  Probe latency = message_probe(
      "comm.latency", "Half a round trip of 8 bytes between ranks on the nearest two PUs");
  latency.limit_how = "a line that goes to and fro between the same two PUs, measured in turn";
  latency.run = run_message_latency;
  Probe bandwidth = message_probe(
      "comm.bandwidth",
      "Bandwidth of messages of 1 MiB between ranks on the nearest two PUs: the receiver copies "
      "out of the sender's memory");
  bandwidth.unit = "B/s";
  bandwidth.better = Better::higher;
  bandwidth.limit_how =
      "memcpy of 1 MiB inside one rank, measured in turn: a message has to be copied at least "
      "once; the cost of fetching from another core's cache is not in it";
  bandwidth.run = run_message_bandwidth;
  return {latency, bandwidth,
          collective_probe("comm.barrier", "A barrier of ranks on all PUs, at most 16", barriers),
          collective_probe("comm.all_reduce",
                           "The sum of one number of each rank on all PUs, at most 16", sums),
          collective_probe("comm.broadcast",
                           "A broadcast of 8 bytes to ranks on all PUs, at most 16", broadcasts)};
}

}  // namespace tabane::lab
