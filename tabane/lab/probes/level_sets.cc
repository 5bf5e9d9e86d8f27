#include "tabane/lab/probes/level_sets.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/time_together.h"

namespace tabane::lab {
namespace {

constexpr double kMostDisturbed = 0.2;  // of the samples
constexpr std::size_t kRoofs = 3;       // of each mix that stay after the search

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
    return fastest(roofs_of(mix), kRoofs, [&](const Loop& loop) {
      return core::Competitor{.name = loop.name, .work = loop.on(set)};
    });
  });
}

MachineSets::MachineSets(ProbeContext& context, const MemoryLevel& level) {
  const std::vector<unsigned> pus = one_pu_per_core(context.topology());
  try {
    pool_ = std::make_shared<core::PinnedPool>(pus);
  } catch (const core::SystemError& error) {
    throw NotHere(error.what());
  }
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

core::Competitor MachineSets::start(const Loop& loop, std::size_t workers) {
  auto works = std::make_shared<std::vector<core::Work>>();
  for (const auto& set : sets_) works->push_back(loop.on(*set));
  core::Competitor competitor{.name = loop.name, .work = {}};
  competitor.timed = [this, workers, works](std::uint64_t iterations) {
    return core::signed_seconds(
        core::time_together(*pool_, workers, [&](std::size_t i) { (*works)[i](iterations); }));
  };
  return competitor;
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
    return fastest(roofs_of(mix), 1,
                   [&](const Loop& loop) { return sets.start(loop, sets.size()); })
        .front();
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
      work(walked.windows());
      core::Clock& clock = core::tick_clock();
      const double begin = clock.now();
      work(walked.windows());
      return static_cast<double>(walked.windows()) * loop.bytes(walked) / (clock.now() - begin);
    }));
  });
}

Json gain_of_half(ProbeContext& context, const MemoryLevel& level, MachineSets& sets) {
  return context.memory().keep<Json>("gain." + level.name + ".machine", [&] {
    const Loop loop = best_on_machine(context, level, sets, Mix::copy);
    MachineSets halves = sets.halves();
    return as_detail(gain_of_half([&](bool half) {
      MachineSets& walked = half ? halves : sets;
      const core::Competitor walk = walked.start(loop, walked.size());
      const std::size_t windows = walked.front().windows();
      walk.timed(windows);
      return static_cast<double>(windows) * loop.bytes(walked.front()) /
             std::abs(walk.timed(windows));
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
