// SIMD with the data in L1: the ladder, and how many accumulators hide the latency of an addition.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tabane/core/binding.h"
#include "tabane/core/core_rate.h"
#include "tabane/core/measurement.h"
#include "tabane/lab/study/views.h"
#include "tabane/simd/ladder.h"
#include "tabane/simd/roof.h"
#include "tabane/simd/target.h"
#include "tabane/studies/ha8000/ha8000.h"

namespace tabane::lab::ha8000 {
namespace {

double value_of(const Record& record, const char* name) {
  const Result* result = record.find(name);
  return result == nullptr ? 0 : result->value.value_or(0);
}

// ---- accumulators ----

void show_sweep(const StudyViews& views, Record& record, const Sweep& found) {
  const double latency = value_of(record, "latency.add");
  const double reads = value_of(record, "memory.bandwidth.read.l1.core") / sizeof(double);
  if (latency <= 0 || reads <= 0) return;
  const double lanes = simd::vector_bytes() / 8.0;
  const double limit = std::min(found.adders, reads);  // each addition reads one number
  const double a_cycle = limit / lanes / found.cycles;
  const int predicted = predicted_accumulators(latency, a_cycle);
  const int sufficient = sufficient_accumulators(found.rates);
  add_result(record, "accumulators", "Accumulators from which on a sum in L1 is not faster",
             count_entry(sufficient), Better::neither);
  add_result(record, "accumulators.predicted",
             "Accumulators that latency and throughput of additions ask for",
             count_entry(predicted), Better::neither);
  views.table(
      "accumulators.table",
      Rows{{"machine", "latency", "vector additions a cycle", "predicted", "enough"},
           {{kHere,
             {latency, "cycles"},
             {a_cycle, "ratio"},
             count_entry(predicted),
             count_entry(sufficient)},
            {kReport, Entry(value_of(views.report, "latency.add"), "cycles"),
             views.published("vector_additions"),
             count_entry(predicted_accumulators(value_of(views.report, "latency.add"),
                                                value_of(views.report, "ha8000.vector_additions"))),
             views.published("accumulators")},
            {"K8, says the guide", {}, {}, {}, views.published("accumulators.k8")},
            {"Intel, says the guide", {}, {}, {}, views.published("accumulators.intel")}}},
      {{"limited_by", found.adders <= reads ? "the adders do" : "L1 can deliver numbers for"}});
  Curve measured{.name = "measured"},
      line{.name = "latency x throughput", .shape = -1, .key = "predicted"};
  for (int k = 1; k <= simd::kMostAccumulators; ++k) {
    measured.x.push_back(k);
    measured.y.push_back(found.rates[static_cast<std::size_t>(k - 1)]);
    line.x.push_back(k);
    line.y.push_back(std::min(limit, k * lanes * found.cycles / latency));
  }
  Curves curves{{"accumulators", ""}, {"additions", "FLOP/s"}, {}};
  add_curve(curves, std::move(measured));
  add_curve(curves, std::move(line));
  curves.marks.push_back({static_cast<double>(predicted), fmt::format("predicted: {}", predicted)});
  views.chart("accumulators", std::move(curves),
              {{"predicted", std::to_string(predicted)},
               {"enough", std::to_string(sufficient)},
               {"latency", fmt::format("{:.1f}", latency)},
               {"a_cycle", fmt::format("{:.2g}", a_cycle)}});
}

// ---- the ladder ----

Entry entry_at(const Rows& rows, const std::string& kernel, std::string_view column) {
  const auto found = std::find(rows.columns.begin(), rows.columns.end(), column);
  const auto i = static_cast<std::size_t>(found - rows.columns.begin());
  for (const auto& row : rows.rows)
    if (i < row.size() && row.front().text == kernel) return row[i];
  return {};
}

Entry share_of(const Entry& part, const Entry& whole) {
  if (!part.value || !whole.value) return {};
  return {*part.value / *whole.value, "share"};
}

// The fastest variant of a kernel that the guide has.
Entry best_published(const Rows& ladder, const std::string& kernel) {
  Entry best;
  for (const char* variant : {"plain loop", "one accumulator", "unrolled"})
    if (Entry entry = entry_at(ladder, kernel, variant);
        entry.value.value_or(0) > best.value.value_or(0))
      best = entry;
  return best;
}

// adders: additions a second here; null: not measured.
void climb_ladder(const StudyViews& views, const Record& record, std::optional<double> adders) {
  const auto* ladder = find_content<Rows>(record, "ladder");
  const auto* theirs = find_content<Rows>(views.report, "ladder");
  if (ladder == nullptr) return;
  Rows rows{{"kernel", "machine", "plain loop", "one accumulator", "unrolled", "shipped",
             "arithmetic peak", "of the peak", "L1 roofline", "of the roofline"},
            {}};
  Bars bars{.unit = "share", .bars = {}, .reference = 1.0, .clustered = true};
  const auto add = [&](const std::string& kernel, const char* machine, const Rows& from,
                       const Entry& best, const Entry& peak) {
    std::vector<Entry> row = {kernel, machine};
    for (const char* variant : {"plain loop", "one accumulator", "unrolled", "shipped"})
      row.push_back(entry_at(from, kernel, variant));
    row.insert(row.end(), {peak, share_of(best, peak)});
    bars.bars.push_back({.group = kernel, .label = machine, .value = row.back().value});
    const Entry roof = entry_at(from, kernel, "limit");
    row.insert(row.end(), {roof, share_of(best, roof)});
    rows.rows.push_back(std::move(row));
  };
  const Result* fma = record.find("peak.fma.core");
  for (const auto& row : ladder->rows) {
    const std::string& kernel = row.front().text;
    const std::optional<double> peak = kernel == "sum"  ? adders
                                       : fma == nullptr ? std::nullopt
                                                        : fma->value;
    add(kernel, kHere, *ladder, entry_at(*ladder, kernel, "shipped"), {peak, "FLOP/s"});
    add(kernel, kReport, *theirs, best_published(*theirs, kernel),
        entry_at(*theirs, kernel, "peak"));
  }
  const CaptionValues width = {{"bytes", std::to_string(simd::vector_bytes())},
                               {"target", simd::target_name()}};
  views.table("simd.table", std::move(rows), width);
  views.chart("simd", std::move(bars), width);
}

}  // namespace

// The additions alone and the cycles are loops that share nothing with the sums.
Sweep sweep(unsigned pu, bool quick) {
  constexpr std::uint64_t kPasses = 64, kAdditions = 4096, kCycles = 64 * 1024;
  const core::ScopedBinding binding(pu);
  alignas(64) std::array<double, 2048> x;  // 16 KiB; no vector crosses a line of the cache
  x.fill(1.0);
  std::vector<core::Contender> contenders;
  for (int k = 1; k <= simd::kMostAccumulators; ++k)
    contenders.push_back(
        {std::to_string(k), core::repeat([&x, k] { core::keep(simd::sum_with(k, x, kPasses)); })});
  contenders.push_back({"adders", core::repeat([] { core::keep(simd::peak_add(kAdditions)); })});
  contenders.push_back({"cycles", core::repeat([] { core::run_add_chain(kCycles); })});
  const auto series =
      core::measure_interleaved(std::move(contenders), {.budget_seconds = quick ? 0.02 : 0.1});
  Sweep found;
  for (int k = 1; k <= simd::kMostAccumulators; ++k)
    found.rates.push_back(static_cast<double>(simd::sum_with(k, x, kPasses).additions) /
                          series[static_cast<std::size_t>(k - 1)].median());
  found.adders =
      static_cast<double>(simd::peak_add(kAdditions)) / series[simd::kMostAccumulators].median();
  found.cycles = kCycles / series.back().median();
  return found;
}

int predicted_accumulators(double latency_cycles, double additions_a_cycle) {
  // A tenth more is how far off the two may have been measured.
  return std::max(1, static_cast<int>(std::ceil(latency_cycles * additions_a_cycle - 0.1)));
}

int sufficient_accumulators(std::span<const double> rates) {
  const double best = *std::ranges::max_element(rates);
  const auto found = std::ranges::find_if(rates, [&](double rate) { return rate >= 0.97 * best; });
  return static_cast<int>(found - rates.begin()) + 1;
}

void show_vectors(const StudyViews& views, Record& record, const Sweep* found) {
  if (found == nullptr) return climb_ladder(views, record, {});
  add_result(record, "peak.add", "additions of doubles a second of one core, on registers only",
             {found->adders, "FLOP/s"}, Better::higher);
  add_result(record, "vector_bytes", "Width of the vectors that the kernels use",
             {static_cast<double>(simd::vector_bytes()), "B"}, Better::neither);
  climb_ladder(views, record, found->adders);
  show_sweep(views, record, *found);
}

}  // namespace tabane::lab::ha8000
