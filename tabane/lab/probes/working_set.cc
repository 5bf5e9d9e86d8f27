#include "tabane/lab/probes/working_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/simd/reduction.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kLineDoubles = 8;
constexpr std::size_t kPageDoubles = 512;
constexpr std::size_t kSpareBytes = 4 * kPageDoubles * sizeof(double);  // for distances of arrays

// Distance between arrays of this many elements: one line less than whole 4 KiB. A load waits for
// an older store still in the queue if the low 12 bits of their addresses agree; like this only a
// load 500 elements ahead of the store does, which is never in flight with it.
constexpr std::size_t stride_of(std::size_t elements) {
  return (elements + kLineDoubles + kPageDoubles - 1) / kPageDoubles * kPageDoubles - kLineDoubles;
}

// A factor that leaves axpy's result finite and normal after any number of passes.
constexpr double kScalar = 1e-9;

const std::array<Kernel, 9> kVectorKernels = {{
    {"sum", Mix::read, 1, [](const Arrays& v) { core::keep(simd::sum(v.a)); }},
    {"sum_of_squares", Mix::read, 2,
     [](const Arrays& v) { core::keep(simd::sum_of_squares(v.a)); }},
    {"dot", Mix::read2, 2, [](const Arrays& v) { core::keep(simd::dot(v.a, v.b)); }},
    {"axpy", Mix::update, 2, [](const Arrays& v) { simd::axpy(kScalar, v.a, v.b); }},
    {"set", Mix::write, 0, [](const Arrays& v) { simd::set(v.a, 1.0, v.streaming); }},
    {"copy", Mix::copy, 0, [](const Arrays& v) { simd::copy(v.a, v.b, v.streaming); }},
    {"scale", Mix::copy, 1, [](const Arrays& v) { simd::scale(kScalar, v.a, v.b, v.streaming); }},
    {"add", Mix::triad, 1, [](const Arrays& v) { simd::add(v.a, v.b, v.c, v.streaming); }},
    {"triad", Mix::triad, 2,
     [](const Arrays& v) { simd::triad(v.a, kScalar, v.b, v.c, v.streaming); }},
}};

struct Operands {
  const char* name;
  int arrays;
  double loads, stores;
  simd::Traffic traffic;
};

// In the order of Mix.
constexpr Operands kOperands[] = {{"read", 1, 1, 0, simd::Traffic::read},
                                  {"read2", 2, 2, 0, simd::Traffic::read},
                                  {"set", 1, 0, 1, simd::Traffic::write},
                                  {"copy", 2, 1, 1, simd::Traffic::read_write},
                                  {"triad", 3, 2, 1, simd::Traffic::read2_write},
                                  {"update", 2, 2, 1, simd::Traffic::read2_write}};
static_assert(std::size(kOperands) == static_cast<std::size_t>(Mix::update) + 1);

const Operands& operands(Mix mix) { return kOperands[static_cast<std::size_t>(mix)]; }

// What a roof writes is its first operand.
void run_roof(const simd::Roof& roof, Mix mix, const Arrays& v, std::uint64_t passes) {
  const std::size_t n = v.a.size();
  switch (mix) {
    case Mix::read:
    case Mix::write:
      return roof.run(v.a.data(), nullptr, nullptr, n, passes);
    case Mix::read2:  // b begins where a ends
      return roof.run(v.a.data(), nullptr, nullptr, 2 * n, passes);
    case Mix::copy:
      return roof.run(v.b.data(), v.a.data(), nullptr, n, passes);
    case Mix::triad:
      return roof.run(v.a.data(), v.b.data(), v.c.data(), n, passes);
    case Mix::update:
      return roof.run(v.b.data(), v.a.data(), v.b.data(), n, passes);
  }
}

}  // namespace

std::string name_of(Mix mix) { return operands(mix).name; }
int arrays_of(Mix mix) { return operands(mix).arrays; }
double bytes_of(Mix mix) { return 8 * (operands(mix).loads + operands(mix).stores); }

std::span<const Kernel> vector_kernels() { return kVectorKernels; }

WorkingSet::WorkingSet(std::size_t bytes)
    : region_(bytes + kSpareBytes, {.pages = core::PageSize::huge, .copied_by_forks = false}) {
  memory_ = region_.as<double>();
  cut(bytes);
  simd::generate(memory_.first((windows_ * window_ + kSpareBytes) / 8));
}

WorkingSet::WorkingSet(WorkingSet& owner, std::size_t offset, std::size_t bytes)
    : memory_(owner.memory_.subspan(offset / sizeof(double))) {
  const std::size_t room = memory_.size_bytes() - kSpareBytes;
  memory_ = memory_.first((std::min(bytes, room) + kSpareBytes) / sizeof(double));
  cut(std::min(bytes, room) - (bytes > 2 * kSpareBytes ? kSpareBytes : 0));
}

void WorkingSet::cut(std::size_t bytes) {
  window_ = bytes > 2 * kWindow ? kWindow : bytes;
  windows_ = window_ == 0 ? 1 : bytes / window_;
}

std::size_t WorkingSet::elements(Mix mix) const {
  const auto count = static_cast<std::size_t>(arrays_of(mix));
  return std::max(kLineDoubles, window_ / (8 * count) / kLineDoubles * kLineDoubles);
}

Arrays WorkingSet::next(Mix mix) {
  const std::size_t count = elements(mix);
  const std::size_t stride = mix == Mix::read2 ? count : stride_of(count);
  const std::span<double> all = memory_.subspan(at_ * window_ / 8);
  at_ = at_ + 1 == windows_ ? 0 : at_ + 1;
  Arrays arrays;
  // A line less: a set of just half the last cache is to stay there.
  const bool streams = simd::Streaming().applies((count * windows_ - kLineDoubles) * 8);
  arrays.streaming = streams ? simd::Streaming::always() : simd::Streaming::never();
  arrays.a = all.subspan(0, count);
  if (arrays_of(mix) > 1) arrays.b = all.subspan(stride, count);
  if (arrays_of(mix) > 2) arrays.c = all.subspan(2 * stride, count);
  return arrays;
}

void WorkingSet::generate_last(std::uint64_t passes) {
  const auto windows = static_cast<std::size_t>(std::min<std::uint64_t>(passes, windows_));
  for (std::size_t back = 1; back <= windows; ++back) {
    const std::size_t window = (at_ + windows_ - back) % windows_;
    // What represents a cache is to stay there.
    simd::generate(memory_.subspan(window * window_ / 8, (window_ + kSpareBytes) / 8),
                   is_whole() ? simd::Streaming::never() : simd::Streaming());
  }
}

namespace {

// run(arrays, passes) on the next arrays of the set; where they are always the same, finding them
// is no part of the loop: a pass over the first cache takes 45 ns.
core::Work over(WorkingSet& set, Mix mix, auto run) {
  if (set.is_whole())
    return [arrays = set.next(mix), run](std::uint64_t passes) { run(arrays, passes); };
  return core::repeat([&set, mix, run] { run(set.next(mix), 1); });
}

}  // namespace

Loop loop_of(const Kernel& kernel) {
  const auto on = [run = kernel.run, mix = kernel.mix](WorkingSet& set) {
    return over(set, mix, [run](const Arrays& arrays, std::uint64_t passes) {
      for (; passes != 0; --passes) run(arrays);
    });
  };
  return {kernel.name, kernel.mix, on};
}

std::vector<Loop> roofs_of(Mix mix, bool streaming) {
  std::vector<Loop> loops;
  for (const simd::Roof& roof : simd::roofs()) {
    if (roof.traffic != operands(mix).traffic) continue;
    if (roof.streaming && !streaming) continue;
    if (roof.available != nullptr && !roof.available()) continue;
    const auto on = [&roof, mix](WorkingSet& set) {
      return over(set, mix, [&roof, mix](const Arrays& arrays, std::uint64_t passes) {
        run_roof(roof, mix, arrays, passes);
      });
    };
    loops.push_back({std::string(roof.name), mix, on});
  }
  return loops;
}

namespace {

// The loops in order of their fastest epoch.
std::vector<Loop> in_order(std::vector<Loop> loops, int epochs,
                           const std::function<core::Contender(const Loop&)>& start,
                           bool single_passes) {
  std::vector<core::Contender> contenders;
  for (const Loop& loop : loops) contenders.push_back(start(loop));
  const core::MeasureOptions options{.budget_seconds = 0,
                                     .min_epochs = epochs,
                                     .max_epochs = epochs,
                                     .warmup_epochs = 0,
                                     .single_iteration = single_passes,
                                     .most_tries = 3};
  const auto series = core::measure_interleaved(std::move(contenders), options);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < loops.size(); ++i)
    order.emplace_back(std::ranges::min(series[i].samples), i);
  std::ranges::sort(order);
  std::vector<Loop> sorted;
  for (const auto& [seconds, i] : order) sorted.push_back(std::move(loops[i]));
  return sorted;
}

}  // namespace

std::vector<Loop> fastest(std::vector<Loop> loops, std::size_t count,
                          const std::function<core::Contender(const Loop&)>& start,
                          bool single_passes) {
  std::vector<Loop> sorted = in_order(std::move(loops), 1, start, single_passes);
  sorted.resize(std::min(2 * count + 2, sorted.size()));
  sorted = in_order(std::move(sorted), 4, start, single_passes);
  sorted.resize(std::min(count, sorted.size()));
  return sorted;
}

std::vector<double> rates(const core::Series& series, double amount) {
  std::vector<double> result;
  result.reserve(series.samples.size());
  for (double seconds : series.samples) result.push_back(amount / seconds);
  return result;
}

std::size_t fastest_of(std::span<const core::Series> series) {
  const auto best = std::ranges::min_element(series, {}, &core::Series::median);
  return static_cast<std::size_t>(best - series.begin());
}

namespace {

constexpr double kMostDisturbed = 0.2;       // of the samples
constexpr std::size_t kRoofs = 3;            // of each mix that stay after the search
constexpr std::uint64_t kTimedWindows = 16;  // of a walk

bool is_small(std::size_t bytes) { return bytes <= 2 * WorkingSet::kWindow; }

using Sets = std::vector<std::shared_ptr<WorkingSet>>;

// Where one core's set is as large as those of all cores and every page is local, they share it.
Sets parts_of(WorkingSet& whole, std::size_t bytes_of_each, std::size_t count) {
  Sets parts;
  for (std::size_t i = 0; i < count; ++i)
    parts.push_back(std::make_shared<WorkingSet>(whole, i * bytes_of_each, bytes_of_each));
  return parts;
}

}  // namespace

WorkingSet& core_set(ProbeContext& context, const MemoryLevel& level) {
  using Held = std::unique_ptr<WorkingSet>;
  Held& set = context.memory().keep<Held>("set." + level.name + ".core", [] { return Held(); });
  if (!set || is_small(level.core_bytes)) set = std::make_unique<WorkingSet>(level.core_bytes);
  return *set;
}

const std::vector<Loop>& core_roofs(ProbeContext& context, const MemoryLevel& level,
                                    WorkingSet& set, Mix mix) {
  const std::string key = "roofs." + level.name + ".core." + name_of(mix);
  return context.memory().keep<std::vector<Loop>>(key, [&] {
    const auto start = [&](const Loop& loop) {
      return core::Contender{.name = loop.name, .work = loop.on(set)};
    };
    return fastest(roofs_of(mix, level.is_memory()), kRoofs, start, !set.is_whole());
  });
}

MachineSets::MachineSets(ProbeContext& context, const MemoryLevel& level) {
  const std::vector<unsigned> pus = one_pu_per_core(context.topology());
  pool_ = std::make_shared<core::PinnedPool>(pus);
  const auto make = [&] {
    Sets sets(pus.size());
    const bool shared = !is_small(level.machine_bytes) &&
                        context.topology().numa_nodes().size() == 1 &&
                        level.core_bytes >= pus.size() * level.machine_bytes;
    if (shared) return parts_of(core_set(context, level), level.machine_bytes, pus.size());
    pool_->run([&](std::size_t i) { sets[i] = std::make_shared<WorkingSet>(level.machine_bytes); });
    return sets;
  };
  sets_ = is_small(level.machine_bytes)
              ? make()
              : context.memory().keep<Sets>("set." + level.name + ".machine", make);
}

core::Contender MachineSets::start(const Loop& loop, std::size_t workers) {
  auto works = std::make_shared<std::vector<core::Work>>();
  for (const auto& set : sets_) works->push_back(loop.on(*set));
  core::Contender contender{.name = loop.name, .work = {}};
  contender.timed = [this, workers, works](std::uint64_t iterations) {
    return core::signed_seconds(
        core::time_together(*pool_, workers, [&](std::size_t i) { (*works)[i](iterations); }));
  };
  return contender;
}

MachineSets MachineSets::halves() {
  MachineSets halves;
  halves.pool_ = pool_;
  for (const auto& set : sets_)
    halves.sets_.push_back(std::make_shared<WorkingSet>(*set, 0, set->bytes() / 2));
  return halves;
}

void MachineSets::on_thread(std::size_t thread, const std::function<void()>& work) {
  pool_->run([&](std::size_t i) {
    if (i == thread) work();
  });
}

Loop best_on_machine(ProbeContext& context, const MemoryLevel& level, MachineSets& sets, Mix mix) {
  return context.memory().keep<Loop>("roof." + level.name + ".machine." + name_of(mix), [&] {
    std::vector<Loop> loops = roofs_of(mix, level.is_memory());
    // In caches of their own the best is among those that are the best on one core, where less
    // disturbs the search.
    if (level.is_own())
      sets.on_thread(0, [&] { loops = core_roofs(context, level, sets.front(), mix); });
    const auto start = [&](const Loop& loop) { return sets.start(loop, sets.size()); };
    return fastest(std::move(loops), 1, start, !sets.front().is_whole()).front();
  });
}

core::Ratio gain_of_half(const std::function<double(bool half)>& walk) {
  constexpr int kWalks = 6;  // the fewest that give an interval
  std::vector<double> half, whole;
  for (int i = 0; i < kWalks; ++i) {
    half.push_back(walk(true));
    whole.push_back(walk(false));
  }
  return core::interleaved_ratio(half, whole);
}

namespace {

Json as_detail(const core::Ratio& ratio) {
  return Json{ratio.value, ratio.interval.low, ratio.interval.high};
}

}  // namespace

Json gain_of_half(ProbeContext& context, const MemoryLevel& level, WorkingSet& set) {
  return context.memory().keep<Json>("gain." + level.name + ".core", [&] {
    const Loop& loop = core_roofs(context, level, set, Mix::copy).front();
    WorkingSet part(set, 0, set.bytes() / 2);
    return as_detail(gain_of_half([&](bool half) {
      WorkingSet& walked = half ? part : set;
      const core::Work work = loop.on(walked);
      const auto timed = std::min<std::uint64_t>(walked.windows(), kTimedWindows);
      work(walked.windows());
      return static_cast<double>(timed) * loop.bytes(walked) / time_of([&] { work(timed); });
    }));
  });
}

Json gain_of_half(ProbeContext& context, const MemoryLevel& level, MachineSets& sets) {
  return context.memory().keep<Json>("gain." + level.name + ".machine", [&] {
    const Loop loop = best_on_machine(context, level, sets, Mix::copy);
    MachineSets halves = sets.halves();
    return as_detail(gain_of_half([&](bool half) {
      MachineSets& walked = half ? halves : sets;
      const core::Contender walk = walked.start(loop, walked.size());
      const auto timed = std::min<std::uint64_t>(walked.front().windows(), kTimedWindows);
      walk.timed(walked.front().windows());
      return static_cast<double>(timed) * loop.bytes(walked.front()) / std::abs(walk.timed(timed));
    }));
  });
}

bool disturbed(const core::Series& series) {
  return static_cast<double>(series.disturbed) >
         kMostDisturbed * static_cast<double>(series.samples.size());
}

bool refuse_disturbed(Result& result, const core::Series& series, std::vector<double> samples) {
  if (disturbed(series)) {
    result.reason =
        fmt::format("in {} of {} samples a thread did not get its CPU: other programs are using it",
                    series.disturbed, series.samples.size());
    return false;
  }
  set_samples(result, std::move(samples));
  result.details["retaken"] = series.retaken;
  return true;
}

}  // namespace tabane::lab
