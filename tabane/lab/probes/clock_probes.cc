// clock.*: the tick counter, whether the counters agree, and how fast the cores really run.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/core_rate.h"
#include "tabane/core/error.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMostPusForAllPairs = 16;
constexpr double kWarmUpSeconds = 0.003;  // longer than a core takes to change its frequency

void run_tick_rate(const Probe& probe, ProbeContext& context) {
  constexpr int kCalibrations = 3;
  std::vector<double> samples;
  double uncertainty = 0;
  core::TickRate rate;
  for (int i = 0; i < kCalibrations; ++i) {
    context.progress(static_cast<double>(i) / kCalibrations);
    rate = core::calibrate_ticks(context.budget_seconds() / kCalibrations);
    samples.push_back(rate.ticks_per_second);
    uncertainty = std::max(uncertainty, rate.relative_uncertainty);
  }
  context.report(probe.result(std::move(samples), {{"relative_uncertainty", uncertainty},
                                                   {"invariant", rate.invariant},
                                                   {"counter", rate.counter}}));
}

double ns_per_tick() { return 1e9 / core::tick_rate().ticks_per_second; }

void run_read_overhead(const Probe& probe, ProbeContext& context) {
  constexpr int kRepeats = 5;
  std::vector<double> samples;
  double step = HUGE_VAL;
  for (int i = 0; i < kRepeats; ++i) {
    context.progress(static_cast<double>(i) / kRepeats);
    const core::TickOverhead overhead = core::tick_overhead();
    samples.push_back(overhead.read_ticks * ns_per_tick());
    step = std::min(step, overhead.step_ticks * ns_per_tick());
  }
  context.report(probe.result(std::move(samples), {{"step_ns", step}}));
}

void run_skew(const Probe& probe, ProbeContext& context) {
  constexpr int kRounds = 500;
  require_this_machine(context);
  const std::vector<unsigned> pus = context.topology().pu_os_indices();
  if (pus.size() < 2) throw NotHere("one usable PU: there is no second counter to compare");
  const bool all_pairs = pus.size() <= kMostPusForAllPairs;
  const std::size_t rows = all_pairs ? pus.size() : 1;

  Matrix matrix{
      .unit = "ticks", .better = Better::neither, .rows = {}, .columns = {}, .values = {}};
  matrix.values.assign(rows, std::vector<std::optional<double>>(pus.size()));
  for (const unsigned pu : pus) matrix.columns.push_back(std::to_string(pu));
  matrix.rows.assign(matrix.columns.begin(), matrix.columns.begin() + static_cast<long>(rows));

  core::TickSkew worst;
  const auto pairs =
      static_cast<double>(all_pairs ? pus.size() * (pus.size() - 1) / 2 : pus.size() - 1);
  double done = 0;
  for (std::size_t a = 0; a < rows; ++a) {
    for (std::size_t b = a + 1; b < pus.size(); ++b) {
      context.progress(done++ / pairs);
      const core::TickSkew skew = core::measure_tick_skew(pus[a], pus[b], kRounds);
      matrix.values[a][b] = skew.offset_ticks;
      if (b < rows) matrix.values[b][a] = -skew.offset_ticks;
      if (std::abs(skew.offset_ticks) + skew.bound_ticks >
          std::abs(worst.offset_ticks) + worst.bound_ticks)
        worst = skew;
    }
  }
  Result result = probe.result();
  result.value = (std::abs(worst.offset_ticks) + worst.bound_ticks) * ns_per_tick();
  result.details = {{detail::kOffsetNs, worst.offset_ticks * ns_per_tick()},
                    {detail::kBoundNs, worst.bound_ticks * ns_per_tick()},
                    {detail::kPairs, all_pairs ? "all" : "every PU with the first"},
                    {"rounds_per_pair", kRounds}};
  context.report(View{.name = "clock.skew",
                      .title = "Counter of the column's PU minus counter of the row's PU",
                      .version = probe.version,
                      .details = result.details,
                      .content = std::move(matrix)});
  context.report(std::move(result));
}

// Core rates of PUs that all run the add chain at the same time. seconds: of one window.
std::vector<double> rates_together(std::span<const unsigned> pus, double seconds) {
  std::vector<double> rates(pus.size());
  std::atomic<std::size_t> unfinished{pus.size()};
  core::PinnedPool(pus).run([&](std::size_t i) {
    core::measure_core_rate(kWarmUpSeconds);
    rates[i] = core::measure_core_rate(seconds);
    // A core that stopped early would let the others run faster than with all active.
    for (unfinished.fetch_sub(1); unfinished.load() > 0;) {
      core::run_add_chain(1 << 14);
      std::this_thread::yield();
    }
  });
  return rates;
}

void run_core_rate(const Probe& probe, ProbeContext& context) {
  require_this_machine(context);
  const std::vector<unsigned> pus = one_pu_per_core(context.topology());
  std::vector<std::size_t> counts = core_counts(pus.size(), 4);
  if (context.quick() && pus.size() >= 8) counts = {1, pus.size() / 4, pus.size() / 2, pus.size()};
  const auto windows = static_cast<double>(pus.size() + counts.size());
  const double seconds =
      std::clamp(context.budget_seconds() / windows - kWarmUpSeconds, 0.001, 0.05);

  double done = 0;
  std::vector<double> alone;
  Json per_pu = Json::array();
  for (const unsigned pu : pus) {
    context.progress(done++ / windows);
    alone.push_back(rates_together({&pu, 1}, seconds).front());
    per_pu.push_back({pu, alone.back()});
  }
  context.report(probe.result(std::move(alone), {{detail::kPerPu, std::move(per_pu)}}));

  Curve lowest{.name = "slowest active core"}, middle{.name = "median active core"};
  for (const std::size_t n : counts) {
    context.progress(done++ / windows);
    const std::vector<double> rates = rates_together(std::span(pus).first(n), seconds);
    lowest.x.push_back(static_cast<double>(n));
    lowest.y.push_back(*std::ranges::min_element(rates));
    middle.x.push_back(static_cast<double>(n));
    middle.y.push_back(core::median(rates));
  }
  context.report(View{.name = "clock.core_rate",
                      .title = "Core rate over active cores",
                      .version = probe.version,
                      .details = {{"window_s", seconds}},
                      .content = Curves{{"active cores", "", false},
                                        {"core rate", "Hz", false},
                                        {std::move(lowest), std::move(middle)}}},
                 describe_core_rate);
}

}  // namespace

void describe_core_rate(View& view, const Record&) {
  auto& curves = std::get<Curves>(view.content);
  if (!keep_drawable(curves)) return;
  const Curve& curve = curves.series.front();
  view.note = fmt::format(
      "The core runs at {} with {} and at {} with {}, {} of the rate of the first ({}).",
      show(curve.y.front(), curves.y.unit), count_cores(curve.x.front()),
      show(curve.y.back(), curves.y.unit), count_cores(curve.x.back()),
      show_percent(curve.y.back() / curve.y.front()), curve.name);
}

std::vector<Probe> clock_probes(const core::Topology& topology) {
  const double cores = topology.core_count();
  return {
      {.name = "clock.tick_rate",
       .what = "Rate of the tick counter, calibrated against the system's raw monotonic clock",
       .unit = "Hz",
       .seconds = {0.5, 0.1},
       .run = run_tick_rate},
      {.name = "clock.read_overhead",
       .what = "Time of an empty pair of tick readings, which every measured interval includes",
       .unit = "ns",
       .better = Better::lower,
       .seconds = {0.05, 0.02},
       .run = run_read_overhead},
      {.name = "clock.skew",
       .what =
           "Largest difference between the tick counters of two PUs, with the bound of its error",
       .unit = "ns",
       .better = Better::lower,
       .seconds = {1, 0.2},
       .run = run_skew},
      {.name = "clock.core_rate",
       .what = "Frequency of a core that runs alone, from a chain of dependent additions",
       .unit = "Hz",
       .better = Better::higher,
       .seconds = {std::clamp(0.05 * cores, 1.0, 10.0), std::clamp(0.02 * cores, 0.1, 2.0)},
       .run = run_core_rate}};
}

}  // namespace tabane::lab
