// memory.latency.*: the time of one load that depends on the load before it, over the working set.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/keep.h"
#include "tabane/core/measurement.h"
#include "tabane/core/memory.h"
#include "tabane/core/topology.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/lab/probes/pointer_chase.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kSmallest = 4 * kKiB;
constexpr std::uint64_t kUnknownLastLevel = 32 * kMiB;
constexpr std::size_t kLineBytes = 64;

struct Point {
  std::uint64_t bytes = 0;
  std::vector<double> ns;  // samples
};

struct Plan {
  std::uint64_t last_level = 0;  // bytes of the last cache
  std::uint64_t largest = 0;
  std::uint64_t dram = 0;                             // size that stands for DRAM
  std::vector<std::pair<int, std::uint64_t>> caches;  // level and half its size
  std::vector<std::uint64_t> sizes;                   // ascending, with all of the above
};

std::uint64_t whole_lines(double bytes) {
  return static_cast<std::uint64_t>(bytes / kLineBytes) * kLineBytes;
}

Plan plan_sizes(const ProbeContext& context) {
  Plan plan;
  plan.last_level = kUnknownLastLevel;
  for (const core::CacheLevel& cache : context.topology().caches()) {
    plan.last_level = cache.bytes;
    plan.caches.emplace_back(cache.level, whole_lines(static_cast<double>(cache.bytes) / 2));
  }
  const double usable = core::usable_memory_bytes().value_or(1024.0 * kMiB);
  // A probe with little time stays at sizes whose cycles it can link in that time.
  const std::uint64_t affordable = static_cast<std::uint64_t>(
      std::max(64.0, (context.quick() ? 512.0 : 256.0) * context.budget_seconds()) * kMiB);
  plan.largest = std::min(
      {(context.quick() ? 256 : 1024) * kMiB, affordable, std::max(whole_lines(usable / 4), kMiB)});
  plan.dram = std::min(6 * plan.last_level, plan.largest);

  const int per_octave = context.quick() ? 1 : 3;
  const double octaves = std::log2(static_cast<double>(plan.largest) / kSmallest);
  for (int i = 0; i <= static_cast<int>(octaves * per_octave); ++i)
    plan.sizes.push_back(whole_lines(kSmallest * std::exp2(static_cast<double>(i) / per_octave)));
  for (const auto& [level, bytes] : plan.caches)
    if (bytes <= plan.largest) plan.sizes.push_back(bytes);
  plan.sizes.push_back(plan.dram);
  plan.sizes.push_back(plan.largest);
  std::sort(plan.sizes.begin(), plan.sizes.end());
  plan.sizes.erase(std::unique(plan.sizes.begin(), plan.sizes.end()), plan.sizes.end());
  return plan;
}

// Samples of the load latency with a random cycle over the first `bytes` of memory.
Point measure_point(std::span<std::byte> memory, std::uint64_t bytes, std::uint64_t last_level,
                    const core::MeasureOptions& options) {
  void* at = link_random_cycle(memory.first(bytes), kLineBytes);
  // Linking leaves other lines in the caches than a long chase does; one cycle, or as many loads as
  // the caches have lines, puts that right.
  const std::uint64_t to_warm = std::min(bytes, last_level) / kLineBytes;
  core::Clock& clock = core::tick_clock();
  const double deadline = clock.now() + options.budget_seconds;
  for (std::uint64_t done = 0; done < to_warm && clock.now() < deadline; done += 4096)
    at = chase(at, 4096);

  core::Series series = core::measure(
      "chase",
      [&at](std::uint64_t iterations) {
        at = chase(at, iterations);
        core::keep(at);
      },
      options);
  for (double& sample : series.samples) sample *= 1e9;
  return {bytes, std::move(series.samples)};
}

Curve to_curve(std::string name, const std::vector<Point>& points) {
  Curve curve;
  curve.name = std::move(name);
  for (const Point& point : points) {
    const core::Interval interval = core::median_interval(point.ns);
    curve.x.push_back(static_cast<double>(point.bytes));
    curve.y.push_back(core::median(point.ns));
    curve.low.push_back(interval.low);
    curve.high.push_back(interval.high);
  }
  return curve;
}

// One curve: all sizes on pages of one kind.
class Sweep {
 public:
  Sweep(ProbeContext& context, const Plan& plan, core::PageSize pages, double from, double to)
      : context_(context), plan_(plan), pages_(pages), from_(from), to_(to) {}

  // Returns nothing if huge pages were asked for and the system gave hardly any.
  std::vector<Point> run() {
    core::Region region(plan_.largest,
                        {.policy = core::MemoryPolicy::first_touch, .nodes = {}, .pages = pages_});
    region.touch();
    if (pages_ == core::PageSize::huge) {
      huge_bytes_ = region.huge_bytes();
      if (huge_bytes_ && *huge_bytes_ < region.size() / 10 * 9) return {};
    }
    core::MeasureOptions options = measure_options(context_, 0);
    options.budget_seconds =
        0.25 * context_.budget_seconds() * (to_ - from_) / static_cast<double>(plan_.sizes.size());
    options.min_epochs = 7;
    options.max_epochs = 501;
    options.min_epoch_seconds = 50e-6;
    std::vector<Point> points;
    for (const std::uint64_t bytes : plan_.sizes) {
      // Time grows with the size because the cycle must be linked.
      const double share =
          static_cast<double>(points.size()) / static_cast<double>(plan_.sizes.size());
      context_.progress(from_ + (to_ - from_) * share);
      points.push_back(measure_point(region.as<std::byte>(), bytes, plan_.last_level, options));
    }
    return points;
  }
  std::optional<std::size_t> huge_bytes() const { return huge_bytes_; }

 private:
  ProbeContext& context_;
  const Plan& plan_;
  core::PageSize pages_;
  double from_, to_;
  std::optional<std::size_t> huge_bytes_;
};

void report_size(ProbeContext& context, const Probe& probe, const std::string& level,
                 std::uint64_t bytes, const std::vector<Point>& points, const Json& details) {
  const auto point = std::find_if(points.begin(), points.end(),
                                  [&](const Point& each) { return each.bytes == bytes; });
  if (point == points.end()) return;
  Result result = probe.result();
  result.name = probe.name + "." + level;
  result.what = "Latency of a dependent load from " +
                (level == "dram" ? std::string("main memory") : "the " + level + " cache");
  set_samples(result, point->ns);
  result.details = details;
  result.what += ", " + details.at(detail::kPageSize).get<std::string>();
  result.details["bytes"] = bytes;
  if (const auto rate = context.earlier("clock.core_rate"); rate && result.value)
    result.details["core_cycles"] = *result.value * 1e-9 * *rate;
  context.report(std::move(result));
}

void run_latency(const Probe& probe, ProbeContext& context) {
  const Plan plan = plan_sizes(context);
  Json details = Json::object();
  std::optional<core::ScopedBinding> binding;
  if (context.topology().is_this_machine()) {
    try {
      binding.emplace(home_pu(context));
      details["pu"] = home_pu(context);
    } catch (const core::SystemError& error) {
      details["not_bound"] = error.what();
    }
  }

  const bool try_huge = core::huge_pages_possible();
  Curves curves{{"working set", "bytes", true}, {"latency", "ns", true}, {}};
  Sweep small_sweep(context, plan, core::PageSize::small, 0, try_huge ? 0.55 : 1);
  std::vector<Point> points = small_sweep.run();
  curves.series.push_back(to_curve(base_pages(), points));
  std::string page = base_pages();
  std::string refused = "the system does not grant huge pages on request";
  if (try_huge) {
    Sweep huge_sweep(context, plan, core::PageSize::huge, 0.55, 1);
    std::vector<Point> on_huge = huge_sweep.run();
    if (const auto bytes = huge_sweep.huge_bytes()) details["huge_bytes"] = *bytes;
    if (on_huge.empty()) {
      refused = "the system had too few huge pages free";
    } else {
      curves.series.push_back(to_curve("huge pages", on_huge));
      points = std::move(on_huge);
      page = "huge pages";
    }
  }
  if (page != "huge pages") details["no_huge_pages"] = refused;

  Json result_details = details;
  result_details[detail::kPageSize] = page;
  for (const auto& [level, bytes] : plan.caches)
    report_size(context, probe, fmt::format("l{}", level), bytes, points, result_details);
  // With less, the last cache would answer most of the loads.
  if (plan.dram >= 2 * plan.last_level) {
    result_details["times_last_level_cache"] =
        static_cast<double>(plan.dram) / static_cast<double>(plan.last_level);
    report_size(context, probe, "dram", plan.dram, points, result_details);
  }
  details["line_bytes"] = kLineBytes;
  context.report(View{.name = "memory.latency",
                      .title = "Latency of a dependent load in a random cycle over the working set",
                      .version = probe.version,
                      .details = std::move(details),
                      .content = std::move(curves)});
  context.progress(1);
}

}  // namespace

std::vector<Probe> latency_probes(const core::Topology&) {
  Probe probe;
  probe.name = "memory.latency";
  probe.what = "Latency of a dependent load";
  probe.unit = "ns";
  probe.better = Better::lower;
  probe.seconds = 10;
  probe.quick_seconds = 2.5;
  probe.run = run_latency;
  return {probe};
}

}  // namespace tabane::lab
