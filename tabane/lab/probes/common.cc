#include "tabane/lab/probes/common.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "tabane/core/cgroup.h"
#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

using core::kKiB;
using core::kMiB;
constexpr std::uint64_t kUnknownL1 = 32 * kKiB;
constexpr std::uint64_t kUnknownDram = 256 * kMiB;
constexpr std::uint64_t kStreams = 3;  // of a triad
constexpr std::uint64_t kMostInCache = 16 * kMiB;
constexpr std::uint64_t kMostReached = 128 * kMiB;  // of the last cache, by one core

std::uint64_t usable_memory(const core::Topology& topology) {
  std::uint64_t bytes = 0;
  for (const core::NumaNode& node : topology.numa_nodes()) bytes += node.bytes;
  if (!topology.is_this_machine()) return bytes;
  // A control group may leave far less than the nodes have.
  const auto usable = core::usable_memory_bytes();
  if (!usable) return bytes;
  const std::uint64_t free = std::max(static_cast<std::uint64_t>(*usable), 16 * kMiB);
  return bytes == 0 ? free : std::min(bytes, free);
}

// What represents a cache of which so many bytes are stated.
std::uint64_t set_in_cache(std::uint64_t stated_bytes) {
  return std::min(stated_bytes / 2, kMostInCache);
}

}  // namespace

unsigned home_pu(const ProbeContext& context) {
  const auto kinds = context.topology().cpu_kinds();
  return kinds.empty() ? context.topology().pus().back().os_index : kinds.front().pus.back();
}

std::vector<unsigned> one_pu_per_core(const core::Topology& topology) {
  std::vector<unsigned> pus;
  for (const core::Pu& pu : topology.pus()) {
    if (pu.smt == 0) pus.push_back(pu.os_index);
  }
  return pus;
}

core::MeasureOptions measure_options(const ProbeContext& context, double seconds) {
  return {.confidence_target = 0.003,
          .budget_seconds = seconds,
          .min_epochs = context.quick() ? 3 : 5,
          .max_epochs = 101,
          .warmup_epochs = 1,
          .min_epoch_seconds = 100e-6,
          .most_tries = 5};
}

core::MeasureOptions parallel_options(const ProbeContext& context, double seconds,
                                      std::size_t threads) {
  core::MeasureOptions options = measure_options(context, seconds);
  options.min_epoch_seconds = std::max(300e-6, 10e-6 * static_cast<double>(threads));
  return options;
}

std::string base_pages() { return core::format_bytes(core::page_bytes()) + " pages"; }

std::vector<MemoryLevel> memory_levels(const core::Topology& topology) {
  std::vector<MemoryLevel> levels;
  std::uint64_t before = 0;  // working set of the level before
  std::uint64_t last_one = kUnknownL1, last_all = kUnknownL1;
  for (const core::CacheLevel& cache : topology.caches()) {
    const std::uint64_t core_bytes = std::max(set_in_cache(cache.bytes), 2 * before);
    const unsigned cores_sharing =
        std::max(1u, topology.core_count() / std::max(1u, cache.instances));
    const std::uint64_t share = cache.bytes / cores_sharing;
    levels.push_back({fmt::format("l{}", cache.level), core_bytes,
                      std::max(set_in_cache(share), 2 * before), cache.bytes});
    before = set_in_cache(cache.bytes);
    last_one = cache.bytes;
    last_all = cache.bytes * std::max(1u, cache.instances);
  }
  if (levels.empty()) levels.push_back({"l1", kUnknownL1 / 2, kUnknownL1 / 2, kUnknownL1});
  const bool known = !topology.caches().empty();
  const std::uint64_t memory = usable_memory(topology);
  const std::uint64_t most = memory == 0 ? kUnknownDram : memory / 6;
  const std::uint64_t cores = topology.core_count();
  const std::uint64_t wanted =
      known ? kStreams * 4 * std::min(last_one, kMostReached) : kUnknownDram;
  const std::uint64_t core_bytes = std::min(wanted, most);
  const std::uint64_t each = std::min({wanted, 6 * kMostReached, most / cores});
  MemoryLevel dram{"dram", core_bytes, std::max<std::uint64_t>(each, 4 * kMiB)};
  if (known && most < 2 * last_all)
    dram.impossible = fmt::format(
        "twice the last-level cache, {}, is needed to leave it; of the memory that may be used a "
        "sixth is {}",
        core::format_bytes(2 * last_all), core::format_bytes(most));
  levels.push_back(std::move(dram));
  return levels;
}

const std::vector<MemoryLevel>& memory_levels(ProbeContext& context) {
  return context.memory().keep<std::vector<MemoryLevel>>("levels", [&] {
    std::vector<MemoryLevel> levels = memory_levels(context.topology());
    MemoryLevel& dram = levels.back();
    if (context.quick()) {
      dram.core_bytes = std::min(dram.core_bytes, 6 * kMostReached);
      dram.machine_bytes = std::min(dram.machine_bytes, 3 * kMostReached);
    }
    return levels;
  });
}

void require_possible(const MemoryLevel& level) {
  if (!level.impossible.empty()) throw NotHere(level.impossible);
}

double memory_allowance() {
  const auto usable = core::usable_memory_bytes();
  if (!usable) throw NotHere("the system does not tell how much memory is available");
  double bytes = *usable / 6;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      bytes = std::min(bytes, static_cast<double>(limit.rlim_cur) / 4);
  }
  return bytes;
}

namespace {

struct Cache {
  int level = 0;
  double bytes = 0;
};

// The machine's caches with a known size, from level 1 up.
std::vector<Cache> caches_of(const Record& record) {
  std::vector<Cache> caches;
  for (const Json& cache : record.machine.value("caches", Json::array()))
    if (const auto bytes = cache.at("bytes").get<double>(); bytes > 0)
      caches.push_back({cache.at("level").get<int>(), bytes});
  return caches;
}

}  // namespace

std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& sample : samples) sample *= factor;
  return samples;
}

void add_point(Curve& curve, double x, const std::vector<double>& samples) {
  const core::Summary s = core::summarize(samples);
  curve.x.push_back(x);
  curve.y.push_back(s.median);
  curve.low.push_back(s.interval.low);
  curve.high.push_back(s.interval.high);
}

std::vector<std::size_t> core_counts(std::size_t cores, std::size_t each) {
  std::vector<std::size_t> counts;
  for (std::size_t n = 1; n < cores; n += std::max<std::size_t>(1, n / each)) counts.push_back(n);
  counts.push_back(cores);
  return counts;
}

bool keep_drawable(Curves& curves) {
  std::erase_if(curves.series, [](const Curve& curve) { return curve.x.empty(); });
  return std::ranges::any_of(curves.series, [](const Curve& curve) { return curve.x.size() > 1; });
}

// Of each cache the largest size that is at most what represents it, as the single results are, and
// does not fit into the one before.
std::string levels_sentence(const Record& record, const Curve& curve, std::string_view unit) {
  std::vector<std::string> parts;
  double before = 0;
  for (const Cache& cache : caches_of(record)) {
    std::optional<double> best;
    const auto represents =
        static_cast<double>(set_in_cache(static_cast<std::uint64_t>(cache.bytes)));
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      if (curve.x[i] > before && curve.x[i] <= represents) best = curve.y[i];
    if (best) parts.push_back(fmt::format("{} in L{}", show(*best, unit), cache.level));
    before = cache.bytes;
  }
  const double last = curve.x.back();
  if (parts.empty() || last > 2 * before)
    parts.push_back(fmt::format("{} {} {}", show(curve.y.back(), unit),
                                before > 0 && last > 2 * before ? "beyond the caches, at" : "at",
                                show(last, "B")));
  return join(parts);
}

std::string mark_caches(const Record& record, Curves& curves) {
  curves.marks.clear();
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Curve& curve : curves.series) {
    low = std::min(low, curve.x.front());
    high = std::max(high, curve.x.back());
  }
  std::vector<std::string> parts;
  for (const Cache& cache : caches_of(record)) {
    if (cache.bytes > low && cache.bytes < high)
      curves.marks.push_back({cache.bytes, fmt::format("L{}", cache.level)});
    parts.push_back(fmt::format("L{} {}", cache.level, show(cache.bytes, "B")));
  }
  return parts.empty() ? "" : fmt::format(" The dashed lines are the caches: {}.", join(parts));
}

std::string count_cores(double n) { return fmt::format("{:.0f} {}", n, n == 1 ? "core" : "cores"); }

}  // namespace tabane::lab
