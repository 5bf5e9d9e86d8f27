// What may spoil the figures: seen in the environment before, and in the samples afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/statistics.h"
#include "tabane/core/units.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

constexpr double kSlowerPu = 0.10;        // share below the median of all PUs
constexpr double kSpreadAtStart = 0.10;   // (highest - lowest) / highest MHz
constexpr double kDriftShare = 0.03;      // change of the median over the run
constexpr double kDriftEffect = 0.8;      // Cliff's delta: of 100 pairs 90 go the same way
constexpr double kOutlierShare = 0.05;    // of the samples
constexpr double kOutlierEffect = 0.05;   // distance from the median, as a share of it
constexpr double kWideInterval = 0.05;    // half the width of the 95 % interval over the figure
constexpr double kPointShare = 1.0 / 3;   // of a study: so many scatter by themselves
constexpr double kSkewNs = 100;           // a tenth of a remote memory access would hide in less
constexpr double kTickRateChange = 0.02;  // calibrations agree far better
constexpr double kSwapUsed = 64.0 * 1024 * 1024;

using Warnings = std::vector<Warning>;

// What each warning may mean, and what to do about it.
constexpr std::string_view kTexts =
#include "tabane/lab/survey/warnings.txt"
    ;

// What follows `key` in a paragraph, up to `end` or the paragraph's, in one line.
std::string text_after(std::string_view paragraph, std::string_view key, std::string_view end) {
  const std::size_t at = paragraph.find(key);
  TABANE_ASSERT(at != paragraph.npos);
  const std::size_t begin = at + key.size();
  std::string text(paragraph.substr(begin, paragraph.find(end, begin) - begin));
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// name: of a paragraph in warnings.txt: an id, or "id: case".
void warn(Warnings& warnings, std::string_view name, std::string seen) {
  const std::size_t at = kTexts.find(fmt::format("[{}]\n", name));
  TABANE_ASSERT(at != kTexts.npos);
  const std::string_view paragraph = kTexts.substr(at, kTexts.find("\n\n", at) - at);
  warnings.push_back({std::string(name.substr(0, name.find(':'))), std::move(seen),
                      text_after(paragraph, "may mean: ", "\ndo: "),
                      text_after(paragraph, "\ndo: ", "\n\n")});
}

// At most four names, and how many more.
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text = fmt::format("{}", fmt::join(names | std::views::take(kShown), ", "));
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

// Unless there are none.
void warn_of(Warnings& warnings, std::string_view name, const char* what,
             const std::vector<std::string>& names) {
  if (!names.empty()) warn(warnings, name, what + list_of(names));
}

void check_frequency(const Environment& environment, Warnings& warnings) {
  const auto &low = environment.lowest_mhz, &high = environment.highest_mhz;
  const auto& governor = environment.governor;
  // A governor called "powersave" may still hold the frequency: what the cores do decides.
  const bool known = low && high && *high > 0;
  const bool spread = known && (*high - *low) / *high > kSpreadAtStart;
  const bool suspicious = governor && *governor != "performance" && !known;
  if (!spread && !suspicious) return;
  std::string seen = known ? fmt::format("the cores ran at {:.0f} to {:.0f} MHz", *low, *high)
                           : std::string("the frequencies of the cores are not known");
  if (governor) seen += fmt::format("; the governor is \"{}\"", *governor);
  warn(warnings, "frequency_varies", std::move(seen));
}

// The load average would still count the compiler that built this program a moment ago.
void check_load(const Environment& environment, int own_tasks, Warnings& warnings) {
  const double others = environment.running.value_or(0) - own_tasks;
  if (others <= 0) return;
  warn(warnings, "busy", fmt::format("other tasks running at the start: {:.0f}", others));
}

std::string quota_text(std::optional<double> quota, double pus) {
  if (!quota) return "a control group limits CPU time";
  if (*quota < 1)
    return fmt::format("a control group allows {:.0f} % of one CPU's time", 100 * *quota);
  return fmt::format("a control group allows the time of {:.3g} {} where {:.0f} PUs may be used",
                     *quota, *quota == 1 ? "CPU" : "CPUs", pus);
}

void check_quota(const Environment& environment, const core::Topology& topology,
                 Warnings& warnings) {
  const auto& quota = environment.cpu_quota;
  const double throttled = environment.throttled_periods.value_or(0);
  const auto pus = static_cast<double>(topology.pus().size());
  const bool small = quota && *quota < pus;
  if (!small && throttled <= 0) return;
  std::string seen = quota_text(small ? quota : std::nullopt, pus);
  if (throttled > 0) {
    seen += fmt::format("; it has stopped this group {}",
                        core::counted(static_cast<std::size_t>(throttled), "time"));
    if (environment.throttled_seconds)
      seen += fmt::format(", for {} in all", core::format_seconds(*environment.throttled_seconds));
  }
  warn(warnings, quota && *quota < 1 ? "cpu_quota: below one" : "cpu_quota", std::move(seen));
}

void check_pus(const core::Topology& topology, Warnings& warnings) {
  const auto usable = static_cast<unsigned>(topology.pus().size());
  if (usable < topology.machine_pu_count()) {
    const std::string restriction = topology.restriction();
    warn(warnings, "part_of_machine",
         fmt::format("{} of the machine's {} PUs may be used{}{}", usable,
                     topology.machine_pu_count(), restriction.empty() ? "" : ": ", restriction));
  }
  if (std::ranges::any_of(topology.pus(), [](const core::Pu& pu) { return pu.smt > 0; }))
    warn(warnings, "smt_siblings",
         fmt::format("{} PUs share {} cores (SMT)", usable, topology.core_count()));
}

void check_virtual(const Environment& environment, Warnings& warnings) {
  if (environment.virtual_machine != true) return;
  std::string seen = "this is a virtual machine";
  if (environment.steal_share)
    seen += fmt::format("; {:.1f} % of its CPU time went to others so far",
                        100 * *environment.steal_share);
  warn(warnings, "virtual_machine", std::move(seen));
}

// The kernel compares the counter with other clocks all the time, and drops it when it drifts.
bool kernel_rejects_counter(const Environment& environment) {
  const auto &used = environment.clock_source, &offered = environment.clock_sources;
  if (environment.counter != "rdtsc" || !used || !offered) return false;
  return *used != "tsc" && (" " + *offered + " ").find(" tsc ") == std::string::npos;
}

// That the counter is not announced as invariant says little: some hypervisors hide the flag.
void check_timer(const Environment& environment, Warnings& warnings) {
  const double change = environment.tick_rate_change.value_or(0);
  if (std::abs(change) > kTickRateChange) {
    warn(warnings, "timer_not_invariant",
         fmt::format("the tick counter follows the core's frequency: under load its rate changed "
                     "by {:+.0f} %",
                     100 * change));
  } else if (kernel_rejects_counter(environment)) {
    warn(warnings, "timer_rejected",
         "the kernel does not use the tick counter; its clock is " + *environment.clock_source);
  }
}

void check_vectors(const Environment& environment, Warnings& warnings) {
  const std::string& disabled = environment.vectors_disabled;
  if (disabled.empty()) return;
  warn(warnings, "vectors_disabled",
       "the processor has " + disabled + ", but the system has not enabled it");
}

void check_memory(const Environment& environment, const core::Topology& topology,
                  Warnings& warnings) {
  if (environment.huge_pages == "never")
    warn(warnings, "thp_off", "transparent huge pages are off (\"never\")");
  const double swapped = environment.swap_used.value_or(0);
  if (swapped > kSwapUsed)
    warn(warnings, "swap_used",
         core::format_bytes(static_cast<std::uint64_t>(swapped)) + " of memory are swapped out");
  if (topology.numa_nodes().size() < 2) return;
  if (environment.numa_balancing > 0)
    warn(warnings, "numa_balancing", "the kernel moves pages between NUMA nodes by itself");
  if (!environment.numa_calls)
    warn(warnings, "no_numa_calls", "the system refuses the calls that place memory on nodes");
}

void check_build(const Environment& environment, Warnings& warnings) {
  if (environment.optimised && !environment.sanitizer) return;
  warn(warnings, "slow_build", "tabane was built without optimisation or with sanitizers");
}

// What follows judges samples.

// Share of pairs in which b is larger minus share in which it is smaller, -1…1. It needs no
// standard deviation, so that a series without scatter raises no false alarm.
double cliffs_delta(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (const double x : a)
    for (const double y : b) sum += (y > x) - (y < x);
  return sum / static_cast<double>(a.size() * b.size());
}

// Change of the median from the first third of the run to the last, as a share; 0 if it is not
// clear.
double drift(std::span<const double> samples) {
  const std::size_t third = samples.size() / 3;
  if (third < 4) return 0;
  const auto first = samples.first(third);
  const auto last = samples.last(third);
  const double begin = core::median(first);
  if (begin == 0) return 0;
  const double change = core::median(last) / begin - 1;
  const bool clear =
      std::abs(change) > kDriftShare && std::abs(cliffs_delta(first, last)) > kDriftEffect;
  return clear ? change : 0;
}

bool has_many_outliers(std::span<const double> samples) {
  if (samples.size() < 20) return false;
  const double middle = core::median(samples);
  const auto outliers = core::outliers_far_fence(samples);
  const auto far = std::ranges::count_if(outliers, [&](std::size_t i) {
    return std::abs(samples[i] - middle) > kOutlierEffect * std::abs(middle);
  });
  return static_cast<double>(far) > kOutlierShare * static_cast<double>(samples.size());
}

// The figures of single PUs that a result carries in details.per_pu: [[os_index, value], …].
std::vector<std::pair<std::string, double>> figures_per_pu(const Result& result) {
  std::vector<std::pair<std::string, double>> figures;
  for (const Json& pair : result.details.value(detail::kPerPu, Json())) {
    if (pair.is_array() && pair.size() == 2 && pair[1].is_number())
      figures.emplace_back(pair[0].dump(), pair[1].get<double>());
  }
  return figures;
}

void check_slow_pus(const Record& record, Warnings& warnings) {
  std::vector<std::string> seen;
  for (const Result& result : record.results) {
    const auto figures = figures_per_pu(result);
    std::vector<double> values;
    for (const auto& figure : figures) values.push_back(figure.second);
    if (values.size() < 2 || result.better == Better::neither) continue;
    // Of two PUs the median is their mean: the better one is what a PU can do.
    const bool higher = result.better == Better::higher;
    const double usual = values.size() > 2 ? core::median(values)
                         : higher          ? std::ranges::max(values)
                                           : std::ranges::min(values);
    if (usual <= 0) continue;
    for (const auto& [pu, value] : figures) {
      if (value <= 0) continue;
      const double slower = higher ? 1 - value / usual : 1 - usual / value;
      if (slower < kSlowerPu) continue;
      seen.push_back(fmt::format("CPU {} is {:.0f} % slower ({})", pu, 100 * slower, result.name));
    }
  }
  warn_of(warnings, "slow_pu", "", seen);
}

bool has_wide_interval(const Result& result) {
  if (!result.value || !result.interval || *result.value == 0) return false;
  return (result.interval->high - result.interval->low) / 2 / std::abs(*result.value) >
         kWideInterval;
}

bool is_judged_by_samples(const Result& result) {
  return result.repeats_one_thing() && result.value && *result.value != 0;
}

void check_samples(const Record& record, Warnings& warnings) {
  std::vector<std::string> drifting, outlying, bimodal, wide;
  for (const Result& result : record.results) {
    if (!is_judged_by_samples(result)) continue;
    if (const double change = drift(result.samples); change != 0)
      drifting.push_back(fmt::format("{} ({:+.0f} %)", result.name, 100 * change));
    if (!result.factors.empty()) continue;  // check_scatter_of_points()
    if (has_many_outliers(result.samples)) outlying.push_back(result.name);
    if (const auto states = result.states())
      bimodal.push_back(fmt::format("{} ({} for {:.0f} % of the time, else {})", result.name,
                                    show(states->high, result.unit), 100 * states->high_share,
                                    show(states->low, result.unit)));
    if (has_wide_interval(result)) wide.push_back(result.name);
  }
  warn_of(warnings, "drift", "these figures drifted during the measurement: ", drifting);
  warn_of(warnings, "outliers", "more than 5 % of the samples are far outside: ", outlying);
  warn_of(warnings, "bimodal", "figures with two states: ", bimodal);
  warn_of(warnings, "wide_interval", "the 95 % interval is wider than ± 5 % of the figure: ", wide);
}

// Points of a study may scatter by themselves, such as those with more threads than PUs, and the
// study shows how. Only where many do is it the machine.
void check_scatter_of_points(const Record& record, Warnings& warnings) {
  std::size_t points = 0, outlying = 0, bimodal = 0, wide = 0;
  for (const Result& result : record.results) {
    if (result.factors.empty() || !is_judged_by_samples(result)) continue;
    ++points;
    outlying += has_many_outliers(result.samples);
    bimodal += result.states().has_value();
    wide += has_wide_interval(result);
  }
  const auto add = [&](const char* id, std::size_t found, const char* what) {
    if (static_cast<double>(found) > kPointShare * static_cast<double>(points))
      warn(warnings, id, fmt::format("{} of {} points {}", found, points, what));
  };
  add("outliers: points", outlying, "have more than 5 % of their samples far outside");
  add("bimodal: points", bimodal, "have two states");
  add("wide_interval: points", wide, "have a 95 % interval wider than ± 5 % of the figure");
}

void check_skew(const Record& record, Warnings& warnings) {
  const Result* skew = record.find("clock.skew");
  if (skew == nullptr) return;
  const auto offset = skew->number_detail(detail::kOffsetNs);
  const auto bound = skew->number_detail(detail::kBoundNs);
  if (!offset || !bound) return;
  // What is left when the error of the measurement itself is taken off is certain.
  const double certain = std::abs(*offset) - *bound;
  if (certain <= kSkewNs) return;
  warn(warnings, "clock_skew",
       "the tick counters of two PUs differ by at least " + core::format_seconds(certain * 1e-9));
}

// A cache of which only a part is there for this machine answers like memory well inside its size.
void check_last_cache(const Record& record, Warnings& warnings) {
  constexpr double kLikeMemory = 0.6;  // of memory's latency; a whole cache has a third or less
  const Result* memory = record.find("memory.latency.dram");
  if (memory == nullptr || !memory->value) return;
  const auto cache = memory->number_detail(kHalfOfLastCacheNs);
  if (!cache || *cache < kLikeMemory * *memory->value) return;
  warn(warnings, "last_cache_small",
       fmt::format(
           "at half the stated size of the last cache a load takes {:.0f} ns, in memory {:.0f} ns",
           *cache, *memory->value));
}

void check_consistency(const Record& record, Warnings& warnings) {
  constexpr const char* kRoof = "roof_too_low";
  std::vector<std::string> roofs, cached, pairs;
  for (const Contradiction& one : contradictions(record))
    (one.id == kRoof ? roofs : one.id == kPartlyCache ? cached : pairs).push_back(one.seen);
  warn_of(warnings, kPartlyCache, "", cached);
  warn_of(warnings, kRoof, "", roofs);
  warn_of(warnings, "contradiction", "figures that cannot both be true: ", pairs);
}

// What a survey or a study that was short cannot know.
void check_length(const Record& record, Warnings& warnings) {
  if (!record.quick || record.results.empty()) return;
  warn(warnings, "quick",
       fmt::format("a quick {}: it measured for {}",
                   record.kind == Kind::survey ? "survey" : "study",
                   core::format_seconds(record.duration_s)));
}

// Of probes, those of a study, too: they are measured in passes. Points, which have factors, and
// figures made from them, which have no samples, are not.
void check_passes(const Record& record, Warnings& warnings) {
  if (record.complete) return;
  bool has_probes = false;
  std::size_t fewest = 0;
  for (const Result& result : record.results) {
    if (!result.factors.empty() || result.samples.empty()) continue;
    has_probes = true;
    if (result.passes.size() > 1 && (fewest == 0 || result.passes.size() < fewest))
      fewest = result.passes.size();
  }
  // None has several passes when it was stopped in the first one.
  if (has_probes && fewest < core::kFewestForInterval)
    warn(warnings, "few_passes",
         "the measurement was stopped before six passes, so the intervals are less reliable");
}

// Of a study, whose points have factors.
void check_runs(const Record& record, Warnings& warnings) {
  std::size_t points = 0, few = 0;
  for (const Result& result : record.results) {
    if (result.factors.empty() || result.samples.empty()) continue;
    ++points;
    few += result.samples.size() < core::kFewestForInterval;
  }
  if (few == 0) return;
  warn(warnings, record.quick ? "few_runs: quick" : "few_runs",
       fmt::format("{} of {} points have fewer than {} runs", few, points,
                   core::kFewestForInterval));
}

}  // namespace

std::vector<Warning> environment_warnings(const Environment& environment,
                                          const core::Topology& topology, int own_tasks) {
  Warnings warnings;
  check_build(environment, warnings);
  check_vectors(environment, warnings);
  check_timer(environment, warnings);
  check_quota(environment, topology, warnings);
  check_load(environment, own_tasks, warnings);
  check_frequency(environment, warnings);
  check_virtual(environment, warnings);
  check_memory(environment, topology, warnings);
  check_pus(topology, warnings);
  return warnings;
}

std::vector<Warning> measurement_warnings(const Record& record) {
  Warnings warnings;
  check_consistency(record, warnings);
  check_last_cache(record, warnings);
  check_skew(record, warnings);
  check_slow_pus(record, warnings);
  check_samples(record, warnings);
  check_scatter_of_points(record, warnings);
  check_passes(record, warnings);
  if (record.kind == Kind::study) check_runs(record, warnings);
  check_length(record, warnings);
  return warnings;
}

}  // namespace tabane::lab
