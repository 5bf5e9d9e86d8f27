// memory.bandwidth.*.core and .machine, simd.*: what the levels of the memory give, and how much of
// it tabane's kernels take. At each level all of them, and the roofs that limit them, are measured
// in turn: on a shared machine the core may be twice as fast in one second as in the next, and a
// share of a limit taken in another second would mean nothing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/measurement.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/working_set.h"
#include "tabane/simd/roof.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kFmasOfLevel = 1 << 15;  // some 50 us: an epoch may be one iteration
constexpr Mix kBandwidths[] = {Mix::read, Mix::write, Mix::copy, Mix::triad};

std::string bandwidth_name(Mix mix, const MemoryLevel& level, const char* scope) {
  return fmt::format("memory.bandwidth.{}.{}.{}", name_of(mix), level.name, scope);
}
std::string kernel_name(const Kernel& kernel, const MemoryLevel& level) {
  return fmt::format("simd.{}.{}", kernel.name, level.name);
}

const Probe* find(std::span<const Probe> probes, const std::string& name) {
  const auto probe = std::ranges::find(probes, name, &Probe::name);
  return probe == probes.end() ? nullptr : &*probe;
}

const MemoryLevel& level_named(const std::string& name, ProbeContext& context) {
  const auto& levels = memory_levels(context);
  return *std::ranges::find(levels, name, &MemoryLevel::name);
}

Json bandwidth_details(std::uint64_t bytes, std::size_t cores, const Loop& loop) {
  return {{"working_set_bytes", bytes},
          {"cores", cores},
          {"loop", loop.name},
          {"counting", kCounting},
          {"simd_target", simd::target_name()}};
}

// ---- one core ----

// What is measured in turn at a level: the roofs of every mix that is asked for, multiply-adds on
// registers, kernels.
class CoreVisit {
 public:
  CoreVisit(std::span<const Probe> probes, const MemoryLevel& level, ProbeContext& context)
      : probes_(probes), level_(level), context_(context), set_(core_set(context, level)) {}

  void run() {
    for (const Mix mix : kMixes)
      if (is_asked(mix)) add_roofs(mix);
    fma_ = add({"fma", core::repeat([] { core::keep(simd::peak_fma(kFmasOfLevel)); })});
    for (const Kernel& kernel : vector_kernels())
      if (is_asked(kernel))
        kernels_[kernel.name] =
            add(started(loop_of(kernel), kernel.mix != Mix::read && kernel.mix != Mix::read2));
    context_.progress(0.3);
    const double seconds =
        0.7 * context_.budget_seconds() / static_cast<double>(contenders_.size());
    core::MeasureOptions options = measure_options(context_, seconds);
    options.single_iteration = !set_.is_whole();
    series_ = core::measure_interleaved(std::move(contenders_), options);
    for (const Mix mix : kBandwidths)
      if (const Probe* probe = find(probes_, bandwidth_name(mix, level_, "core")))
        context_.report(bandwidth(*probe, mix));
    for (const Kernel& kernel : vector_kernels())
      if (const Probe* probe = find(probes_, kernel_name(kernel, level_)))
        context_.report(share(*probe, kernel));
  }

 private:
  struct Roofs {
    std::size_t first = 0;  // contender
    std::vector<Loop> loops;
  };

  bool is_asked(const Kernel& kernel) const {
    return find(probes_, kernel_name(kernel, level_)) != nullptr;
  }
  bool is_asked(Mix mix) const {
    if (find(probes_, bandwidth_name(mix, level_, "core")) != nullptr) return true;
    return std::ranges::any_of(vector_kernels(), [&](const Kernel& kernel) {
      return kernel.mix == mix && is_asked(kernel);
    });
  }

  // Before each, what the kernel before it has written is generated anew.
  core::Contender started(const Loop& loop, bool writes = false) {
    const auto work = [this, writes, pass = loop.on(set_)](std::uint64_t iterations) {
      pass(iterations);
      written_ = writes ? iterations : 0;
    };
    return {loop.name, work, [this] { set_.generate_last(std::exchange(written_, 0)); }};
  }
  std::size_t add(core::Contender contender) {
    contenders_.push_back(std::move(contender));
    return contenders_.size() - 1;
  }
  void add_roofs(Mix mix) {
    const std::vector<Loop>& loops = core_roofs(context_, level_, set_, mix);
    roofs_[mix] = {contenders_.size(), loops};
    for (const Loop& loop : loops) add(started(loop));
  }

  // The roof of a mix that was the fastest in this visit.
  std::pair<const Loop*, const core::Series*> roof(Mix mix) const {
    const Roofs& roofs = roofs_.at(mix);
    const auto series = std::span(series_).subspan(roofs.first, roofs.loops.size());
    const std::size_t best = fastest_of(series);
    return {&roofs.loops[best], &series[best]};
  }

  Result bandwidth(const Probe& probe, Mix mix) const {
    const auto [loop, series] = roof(mix);
    Json details = bandwidth_details(level_.core_bytes, 1, *loop);
    if (level_.is_memory()) details[kGainOfHalf] = gain_of_half(context_, level_, set_);
    return probe.result(rates(*series, loop->bytes(set_)), std::move(details));
  }

  // The roofline in each round: what moves and what computes as long as the kernel must.
  Result share(const Probe& probe, const Kernel& kernel) const {
    const Loop loop = loop_of(kernel);
    const auto elements = static_cast<double>(set_.elements(kernel.mix));
    const double amount = (kernel.flops > 0 ? kernel.flops : bytes_of(kernel.mix)) * elements;
    const auto [best, moving] = roof(kernel.mix);
    // Every kernel takes one addition, multiplication or FMA an element; the peak counts an FMA
    // twice.
    const double fma_flops = static_cast<double>(simd::peak_fma(kFmasOfLevel));
    const double fmas = kernel.flops > 0 ? 2 * elements / fma_flops : 0;
    std::vector<double> limit;
    for (std::size_t i = 0; i < moving->samples.size(); ++i)
      limit.push_back(amount / std::max(moving->samples[i], fmas * series_[fma_].samples[i]));
    Result result = probe.result(rates(series_[kernels_.at(kernel.name)], amount),
                                 {{"level", level_.name},
                                  {"elements", set_.elements(kernel.mix)},
                                  {"roof", best->name},
                                  {detail::kFlopsPerElement, kernel.flops},
                                  {detail::kBytesPerElement, bytes_of(kernel.mix)},
                                  {"simd_target", simd::target_name()}});
    set_limit(result, probe.limit_how, std::move(limit));
    return result;
  }

  std::span<const Probe> probes_;
  const MemoryLevel& level_;
  ProbeContext& context_;
  WorkingSet& set_;
  std::vector<core::Contender> contenders_;
  std::vector<core::Series> series_;
  std::map<Mix, Roofs> roofs_;
  std::map<std::string, std::size_t> kernels_;
  std::size_t fma_ = 0;
  std::uint64_t written_ = 0;  // passes of the last one, if it is a kernel that writes
};

void run_on_core(std::span<const Probe> probes, const MemoryLevel& level, ProbeContext& context) {
  require_possible(level);
  const core::ScopedBinding binding(home_pu(context));
  CoreVisit(probes, level, context).run();
}

std::vector<Probe> core_probes(const MemoryLevel& level) {
  std::vector<Probe> probes;
  for (const Mix mix : kBandwidths)
    probes.push_back({.name = bandwidth_name(mix, level, "core"),
                      .what = fmt::format("{} bandwidth of one core with its data in {}: the best "
                                          "of many loops that only move data",
                                          name_of(mix), level.name),
                      .unit = "B/s",
                      .better = Better::higher,
                      .version = 5});
  for (const Kernel& kernel : vector_kernels())
    probes.push_back({.name = kernel_name(kernel, level),
                      .what = fmt::format("{} of doubles on one core with the data in {}",
                                          kernel.name, level.name),
                      .unit = kernel.flops > 0 ? "FLOP/s" : "B/s",
                      .better = Better::higher,
                      .limit_how = "roofline, measured in turn: FMA peak, and the best of many "
                                   "loops that only load and store the same",
                      .version = 5});
  for (Probe& probe : probes) {
    probe.seconds = {0.5, 0.1};
    probe.group = fmt::format("{} on one core", level.name);
    probe.run_group = [name = level.name](std::span<const Probe> asked, ProbeContext& context) {
      run_on_core(asked, level_named(name, context), context);
    };
  }
  return probes;
}

// ---- all cores ----

// Each mix by its best roof on all cores; in caches of their own also on one core alone.
void run_on_machine(std::span<const Probe> probes, const MemoryLevel& level,
                    ProbeContext& context) {
  require_possible(level);
  MachineSets sets(context, level);
  const std::size_t cores = sets.size();
  std::vector<core::Contender> contenders;
  std::vector<const Probe*> asked;
  std::vector<Loop> loops;
  for (const Mix mix : kBandwidths) {
    const Probe* probe = find(probes, bandwidth_name(mix, level, "machine"));
    if (probe == nullptr) continue;
    asked.push_back(probe);
    loops.push_back(best_on_machine(context, level, sets, mix));
    contenders.push_back(sets.start(loops.back(), cores));
    if (level.is_own()) contenders.push_back(sets.start(loops.back(), 1));
  }
  context.progress(0.3);
  const double seconds = 0.7 * context.budget_seconds() / static_cast<double>(contenders.size());
  core::MeasureOptions options = parallel_options(context, seconds, cores);
  options.single_iteration = !sets.front().is_whole();
  const auto series = core::measure_interleaved(std::move(contenders), options);
  const std::size_t step = level.is_own() ? 2 : 1;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Result result = asked[i]->result();
    result.details = bandwidth_details(level.machine_bytes * cores, cores, loops[i]);
    result.details[detail::kSynchronisation] = kStartedTogether;
    if (level.is_memory()) result.details[kGainOfHalf] = gain_of_half(context, level, sets);
    const double bytes = loops[i].bytes(sets.front()) * static_cast<double>(cores);
    if (refuse_disturbed(result, series[step * i], rates(series[step * i], bytes)) &&
        level.is_own() && cores > 1 && context.topology().cpu_kinds().empty())
      set_limit(result, asked[i]->limit_how, rates(series[step * i + 1], bytes));
    context.report(std::move(result));
  }
}

std::vector<Probe> machine_probes(const MemoryLevel& level) {
  std::vector<Probe> probes;
  for (const Mix mix : kBandwidths) {
    Probe probe{.name = bandwidth_name(mix, level, "machine"),
                .what = fmt::format("{} bandwidth of all cores together, each with its own data "
                                    "in {}",
                                    name_of(mix), level.name),
                .unit = "B/s",
                .better = Better::higher,
                // Cores do not share their own caches; what they share has no limit known
                // beforehand.
                .limit_how = level.is_own() ? "cores × one core alone, measured in turn" : "",
                .version = 5,
                .seconds = {0.8, 0.2},
                .group = fmt::format("{} on all cores", level.name)};
    probe.run_group = [name = level.name](std::span<const Probe> asked, ProbeContext& context) {
      run_on_machine(asked, level_named(name, context), context);
    };
    probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace

std::vector<Probe> level_probes(const core::Topology& topology) {
  std::vector<Probe> probes;
  for (const MemoryLevel& level : memory_levels(topology)) {
    for (Probe& probe : core_probes(level)) probes.push_back(std::move(probe));
    for (Probe& probe : machine_probes(level)) probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace tabane::lab
