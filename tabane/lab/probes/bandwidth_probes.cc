// memory.bandwidth.*: bytes a second from each level of the memory, by one core and by all; memcpy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tabane/core/binding.h"
#include "tabane/core/keep.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/kernels.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr const char* kCounting =
    "loaded and stored bytes as the program sees them, without write-allocate";

Result bandwidth_result(const Probe& probe, std::uint64_t working_set, std::size_t cores) {
  Result result = probe.result();
  result.details["working_set_bytes"] = working_set;
  result.details["cores"] = cores;
  result.details["counting"] = kCounting;
  result.details["simd_target"] = simd::target_name();
  return result;
}

// A thread sees its part of the machine's work only: whether the whole leaves the caches is known
// here.
simd::Streaming streaming_for(const MemoryLevel& level) {
  return level.name == "dram" ? simd::Streaming::always() : simd::Streaming::never();
}

Probe core_probe(const Kernel& kernel, const MemoryLevel& level) {
  Probe probe{
      .name = fmt::format("memory.bandwidth.{}.{}.core", kernel.name, level.name),
      .what = fmt::format("{} bandwidth of one core with its data in {}", kernel.name, level.name),
      .unit = "B/s",
      .better = Better::higher,
      .seconds = 0.7,
      .quick_seconds = 0.15};
  probe.run = [kernel, level](const Probe& about, ProbeContext& context) {
    const core::ScopedBinding binding(home_pu(context));
    const WorkingSet set(level.core_bytes, streaming_for(level));
    const Arrays arrays = set.arrays_for(kernel);
    context.progress(0.2);
    const core::Series series = core::measure_interleaved(
        {competitor(kernel, arrays)}, measure_options(context, 0.8 * context.budget_seconds()))[0];
    Result result = bandwidth_result(about, level.core_bytes, 1);
    set_samples(result, rates(series, kernel.bytes() * static_cast<double>(arrays.a.size())));
    context.report(std::move(result));
  };
  return probe;
}

Probe machine_probe(const Kernel& kernel, const MemoryLevel& level) {
  Probe probe{
      .name = fmt::format("memory.bandwidth.{}.{}.machine", kernel.name, level.name),
      .what = fmt::format("{} bandwidth of all cores together, each with its own data in {}",
                          kernel.name, level.name),
      .unit = "B/s",
      .better = Better::higher,
      // Cores do not share their own caches; what they share has no limit known beforehand.
      .limit_how = level.name == "l1" || level.name == "l2"
                       ? "cores × one core alone, measured in turn"
                       : "",
      .seconds = 0.7,
      .quick_seconds = 0.15};
  probe.run = [kernel, level](const Probe& about, ProbeContext& context) {
    const std::vector<unsigned> pus = one_pu_per_core(context.topology());
    const ParallelRun run = run_on_all(pus, kernel, level.machine_bytes, streaming_for(level),
                                       parallel_options(context, 0.4 * context.budget_seconds()));
    Result result = bandwidth_result(about, level.machine_bytes * pus.size(), pus.size());
    result.details[detail::kSynchronisation] =
        "all threads leave one barrier; the time ends with the last of them";
    set_samples(result, run.rates());
    if (pus.size() > 1 && !about.limit_how.empty()) {
      result.limit = Limit{run.alone_rate() * static_cast<double>(pus.size()), about.limit_how};
    }
    context.report(std::move(result));
  };
  return probe;
}

void add_point(Curve& curve, double x, const std::vector<double>& samples) {
  const core::Summary s = core::summarize(samples);
  curve.x.push_back(x);
  curve.y.push_back(s.median);
  curve.low.push_back(s.interval.low);
  curve.high.push_back(s.interval.high);
}

// Sizes from `first` to `last`, so many to an octave, rounded to whole lines.
std::vector<std::uint64_t> size_ladder(std::uint64_t first, std::uint64_t last, int per_octave) {
  std::vector<std::uint64_t> sizes;
  for (int i = 0;; ++i) {
    const double size = static_cast<double>(first) * std::exp2(static_cast<double>(i) / per_octave);
    const auto whole = static_cast<std::uint64_t>(size) / 192 * 192;  // lines of three arrays
    if (whole > last) break;
    sizes.push_back(whole);
  }
  return sizes;
}

void run_over_size(const Probe& probe, ProbeContext& context) {
  const core::ScopedBinding binding(home_pu(context));
  const std::uint64_t largest = memory_levels(context.topology()).back().core_bytes;
  const auto sizes = size_ladder(4 * kKiB, largest, context.quick() ? 1 : 3);
  const auto kernels = memory_kernels();
  const double points = static_cast<double>(sizes.size() * kernels.size());
  Curves curves{{"bytes", "B", true}, {"bandwidth", "B/s", true}, {}};
  double done = 0;
  for (const Kernel& kernel : kernels) {
    Curve curve;
    curve.name = kernel.name;
    for (std::uint64_t size : sizes) {
      context.progress(done++ / points);
      const WorkingSet set(size);
      const Arrays arrays = set.arrays_for(kernel);
      const core::Series series =
          core::measure_interleaved({competitor(kernel, arrays)},
                                    measure_options(context, context.budget_seconds() / points))[0];
      add_point(curve, static_cast<double>(size),
                rates(series, kernel.bytes() * static_cast<double>(arrays.a.size())));
    }
    curves.series.push_back(std::move(curve));
  }
  View table{.name = "memory.bandwidth", .title = probe.what, .content = std::move(curves)};
  table.details["counting"] = kCounting;
  context.report(std::move(table));
}

// Core counts worth a point: all up to 16, then about six an octave, and all cores.
std::vector<std::size_t> core_counts(std::size_t cores, bool quick) {
  std::vector<std::size_t> counts;
  for (std::size_t n = 1; n < cores; n += std::max<std::size_t>(1, n / (quick ? 2 : 6))) {
    counts.push_back(n);
  }
  counts.push_back(cores);
  return counts;
}

void run_over_cores(const Probe& probe, ProbeContext& context) {
  const std::vector<unsigned> pus = one_pu_per_core(context.topology());
  const auto counts = core_counts(pus.size(), context.quick());
  const auto kernels = memory_kernels();
  const double points = static_cast<double>(counts.size() * kernels.size());
  const std::uint64_t each = memory_levels(context.topology()).back().machine_bytes;
  Curves curves{{"cores", "", false}, {"bandwidth", "B/s", false}, {}};
  double done = 0;
  for (const Kernel& kernel : kernels) {
    Curve curve;
    curve.name = kernel.name;
    for (std::size_t count : counts) {
      context.progress(done++ / points);
      const ParallelRun run =
          run_on_all(std::span(pus).first(count), kernel, each, simd::Streaming::always(),
                     parallel_options(context, 0.35 * context.budget_seconds() / points));
      add_point(curve, static_cast<double>(count), run.rates());
    }
    curves.series.push_back(std::move(curve));
  }
  View table{.name = "memory.bandwidth.cores", .title = probe.what, .content = std::move(curves)};
  table.details["working_set_bytes_of_each_core"] = each;
  table.details["order_of_cores"] = "compact";
  table.details[detail::kSynchronisation] =
      "all threads leave one barrier; the time ends with the last of them";
  table.details["counting"] = kCounting;
  context.report(std::move(table));
}

void run_memcpy(const Probe& probe, ProbeContext& context) {
  const core::ScopedBinding binding(home_pu(context));
  const std::uint64_t largest = memory_levels(context.topology()).back().core_bytes / 2;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 8; size <= largest; size *= context.quick() ? 4 : 2)
    sizes.push_back(size);
  const core::Region source(largest, {.pages = core::PageSize::huge});
  const core::Region target(largest, {.pages = core::PageSize::huge});
  std::memset(source.data(), 1, largest);
  std::memset(target.data(), 1, largest);
  Curve curve;
  curve.name = "memcpy";
  std::vector<double> best;
  std::uint64_t best_size = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    context.progress(static_cast<double>(i) / static_cast<double>(sizes.size()));
    std::size_t size = sizes[i];
    const core::Series series = core::measure(
        "memcpy", core::repeat([&] {
          core::forget(size);  // the library's code for any size, not the compiler's for this one
          std::memcpy(target.data(), source.data(), size);
          core::keep(target.data());
        }),
        measure_options(context, context.budget_seconds() / static_cast<double>(sizes.size())));
    const std::vector<double> speed = rates(series, static_cast<double>(size));
    add_point(curve, static_cast<double>(size), speed);
    if (best.empty() || core::median(speed) > core::median(best)) {
      best = speed;
      best_size = size;
    }
  }
  Result result = probe.result();
  result.details["block_bytes_of_the_best"] = best_size;
  result.details["counting"] = "copied bytes once, as the cluster report does";
  set_samples(result, std::move(best));
  context.report(std::move(result));
  View table{.name = "memcpy", .title = "the C library's memcpy over the size of the block"};
  table.content = Curves{{"bytes", "B", true}, {"bandwidth", "B/s", true}, {std::move(curve)}};
  context.report(std::move(table));
}

}  // namespace

std::vector<Probe> bandwidth_probes(const core::Topology& topology) {
  std::vector<Probe> probes;
  for (const MemoryLevel& level : memory_levels(topology)) {
    for (const Kernel& kernel : memory_kernels()) {
      probes.push_back(core_probe(kernel, level));
      probes.push_back(machine_probe(kernel, level));
    }
  }
  Probe over_size{.name = "memory.bandwidth.over_size",
                  .what = "bandwidth of one core over the size of its working set",
                  .unit = "B/s",
                  .better = Better::higher,
                  .seconds = 16,
                  .quick_seconds = 1.5};
  over_size.run = run_over_size;
  Probe over_cores{.name = "memory.bandwidth.cores",
                   .what = "bandwidth from memory over the number of cores at work",
                   .unit = "B/s",
                   .better = Better::higher,
                   .seconds = 10,
                   .quick_seconds = 1.5};
  over_cores.run = run_over_cores;
  Probe memcpy_probe{.name = "memcpy",
                     .what =
                         "the C library's memcpy at the block size where it is fastest; "
                         "copied bytes count once",
                     .unit = "B/s",
                     .better = Better::higher,
                     .seconds = 4,
                     .quick_seconds = 0.5};
  memcpy_probe.run = run_memcpy;
  probes.push_back(over_size);
  probes.push_back(over_cores);
  probes.push_back(memcpy_probe);
  return probes;
}

}  // namespace tabane::lab
