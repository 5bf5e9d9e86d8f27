// comm.*: what messages and collectives between processes cost, against a line that goes from PU to
// PU.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/placement.h"
#include "tabane/lab/campaign/block_interrupts.h"
#include "tabane/lab/campaign/rank_rounds.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/bound_threads.h"
#include "tabane/lab/probes/core_to_core.h"
#include "tabane/lab/probes/plan.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kSmallBytes = 8, kLargeBytes = std::size_t{1} << 20;
constexpr int kLaunches = 4;  // each places processes and memory anew

std::vector<core::Pu> pus_to_use(const ProbeContext& context) {
  require_this_machine(context);
  const std::span<const core::Pu> pus = context.topology().pus();
  if (pus.size() < 2) throw NotHere("one usable PU: there is no second one to send to");
  return sample_pus(pus, kMostRanks);
}

// The two PUs with the shortest way from one to the other, where that was measured; else the first
// and the last.
std::vector<unsigned> nearest_pair(const ProbeContext& context) {
  const std::vector<core::Pu> pus = pus_to_use(context);
  const Result* measured = context.earlier_result("core_to_core.latency");
  if (measured != nullptr) {
    const auto pair = measured->details.find("best_pair");
    if (pair != measured->details.end()) return pair->get<std::vector<unsigned>>();
  }
  return {pus.front().os_index, pus.back().os_index};
}

std::vector<unsigned> all_pus(const ProbeContext& context) {
  std::vector<unsigned> all;
  for (const core::Pu& pu : pus_to_use(context)) all.push_back(pu.os_index);
  return all;
}

// A line's way, seconds: of the nearest pair, or as the median of all pairs.
std::optional<double> line_seconds(const ProbeContext& context, bool nearest) {
  const Result* measured = context.earlier_result("core_to_core.latency");
  if (measured == nullptr || !measured->value) return {};
  const auto least = measured->details.find("min_ns");
  if (nearest && least != measured->details.end()) return least->get<double>() * 1e-9;
  return *measured->value * 1e-9;
}

void require_binding(const std::vector<unsigned>& pus) {
  try {
    for (const unsigned pu : pus) const core::ScopedBinding binding(pu);
  } catch (const core::SystemError& error) {
    throw NotHere(error.what());
  }
}

// Seconds an iteration of the workload on ranks bound to these PUs.
std::vector<double> measure_on(const std::vector<unsigned>& pus, const RankWorkload& workload,
                               ProbeContext& context) {
  require_binding(pus);
  const RankRoundsOptions options{.epoch_seconds = 200e-6,
                                  .budget_seconds = context.budget_seconds() / kLaunches,
                                  .fewest_rounds = 3};
  const std::function<RankSamples(comm::Comm&)> rank = [&](comm::Comm& ranks) {
    const core::ScopedBinding binding(pus[static_cast<std::size_t>(ranks.rank())]);
    comm::Grid grid(ranks, 1, ranks.size());
    return measure_rounds(grid, {&workload, 1}, options);
  };
  std::vector<double> samples;
  for (int launch = 0; launch < kLaunches; ++launch) {
    context.progress(static_cast<double>(launch) / kLaunches);
    const BlockInterrupts hold;
    const RankSamples some =
        *comm::launch_result<RankSamples>({.ranks = static_cast<int>(pus.size()),
                                           .transport = comm::TransportKind::shm,
                                           .placement = core::PlacementPolicy::none},
                                          rank);
    samples.insert(samples.end(), some[0].begin(), some[0].end());
  }
  return samples;
}

void report(const Probe& probe, ProbeContext& context, std::vector<double> samples, Json details,
            std::optional<double> limit) {
  Result result = probe.result();
  set_samples(result, std::move(samples));
  result.details = std::move(details);
  if (limit && *limit > 0) result.limit = Limit{*limit, probe.limit_how};
  context.report(std::move(result));
  context.progress(1);
}

// ---- messages ----

// An iteration is a round trip.
RankWorkload ping_pong(std::size_t bytes) {
  return [bytes](comm::Grid& grid) -> RankWork {
    return [&ranks = grid.all(), out = std::vector<std::byte>(bytes),
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

void run_latency(const Probe& probe, ProbeContext& context) {
  const std::vector<unsigned> pus = nearest_pair(context);
  std::vector<double> samples = measure_on(pus, ping_pong(kSmallBytes), context);
  for (double& seconds : samples) seconds /= 2;
  report(probe, context, std::move(samples), {{"bytes", kSmallBytes}, {"pus", pus}},
         line_seconds(context, true));
}

// Half of what copying counts, which is loads and stores, where message and buffer fit.
std::optional<double> copy_rate(const ProbeContext& context) {
  for (const MemoryLevel& level : memory_levels(context.topology())) {
    const bool fits = 2 * level.core_bytes >= 2 * kLargeBytes;  // a level's set is half a cache
    if (level.name == "l1" || !fits) continue;
    const auto rate = context.earlier("memory.bandwidth.copy." + level.name + ".core");
    return rate ? std::optional(*rate / 2) : std::nullopt;
  }
  return {};
}

void run_bandwidth(const Probe& probe, ProbeContext& context) {
  const std::vector<unsigned> pus = nearest_pair(context);
  std::vector<double> samples = measure_on(pus, ping_pong(kLargeBytes), context);
  for (double& sample : samples) sample = 2 * static_cast<double>(kLargeBytes) / sample;
  report(probe, context, std::move(samples), {{"bytes", kLargeBytes}, {"pus", pus}},
         copy_rate(context));
}

// ---- collectives ----

RankWork barriers(comm::Grid& grid) {
  return [&grid](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) comm::barrier(grid.all());
  };
}

RankWork sums(comm::Grid& grid) {
  return [&grid](std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i)
      comm::all_reduce(grid.all(), 1.0, comm::Operation::sum);
  };
}

// The root goes round: it would not wait for the others.
RankWork broadcasts(comm::Grid& grid) {
  return [&grid, value = 1.0, calls = std::uint64_t{0}](std::uint64_t iterations) mutable {
    const auto ranks = static_cast<std::uint64_t>(grid.all().size());
    for (std::uint64_t i = 0; i < iterations; ++i)
      comm::broadcast(grid.all(), value, static_cast<int>(calls++ % ranks));
  };
}

void run_collective(const Probe& probe, ProbeContext& context, const RankWorkload& workload) {
  const std::vector<unsigned> pus = all_pus(context);
  report(probe, context, measure_on(pus, workload, context), {{"ranks", pus.size()}, {"pus", pus}},
         line_seconds(context, false));
}

Probe probe_of(std::string name, std::string what) {
  return {.name = std::move(name),
          .what = std::move(what),
          .unit = "s",
          .better = Better::lower,
          .seconds = 0.8,
          .quick_seconds = 0.2};
}

Probe collective_probe(std::string name, std::string what, RankWorkload workload) {
  Probe probe = probe_of(std::move(name), std::move(what));
  probe.limit_how = "core_to_core.latency: at least one line has to go from one rank to another";
  probe.run = [workload = std::move(workload)](const Probe& about, ProbeContext& context) {
    run_collective(about, context, workload);
  };
  return probe;
}

Probe latency_probe() {
  Probe probe =
      probe_of("comm.latency", "Half a round trip of 8 bytes between ranks on the nearest two PUs");
  probe.limit_how = "core_to_core.latency of the same two PUs: a line that goes to and fro";
  probe.run = run_latency;
  return probe;
}

Probe bandwidth_probe() {
  Probe probe = probe_of("comm.bandwidth",
                         "Bandwidth of messages of 1 MiB between ranks on the nearest two PUs: the "
                         "receiver copies out of the sender's memory");
  probe.unit = "B/s";
  probe.better = Better::higher;
  probe.limit_how =
      "half of memory.bandwidth.copy of one core in the cache that holds message and buffer: a "
      "message has to be copied at least once, and copying counts each byte twice, read and "
      "written; the cost of fetching from another core's cache is not in it";
  probe.run = run_bandwidth;
  return probe;
}

}  // namespace

std::vector<Probe> comm_probes(const core::Topology&) {
  return {latency_probe(), bandwidth_probe(),
          collective_probe("comm.barrier", "A barrier of ranks on all PUs, at most 16", barriers),
          collective_probe("comm.all_reduce",
                           "The sum of one number of each rank on all PUs, at most 16", sums),
          collective_probe("comm.broadcast",
                           "A broadcast of 8 bytes to ranks on all PUs, at most 16", broadcasts)};
}

}  // namespace tabane::lab
