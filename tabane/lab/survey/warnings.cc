// What may spoil the figures: seen in the environment before, and in the samples afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tabane/core/statistics.h"
#include "tabane/core/units.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/consistency.h"

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
  warnings.push_back({"frequency_varies", std::move(seen),
                      "short measurements start slow and figures differ from run to run",
                      "ask an administrator for the governor \"performance\", for example with "
                      "cpupower frequency-set -g performance"});
}

// The load average would still count the compiler that built this program a moment ago.
void check_load(const Environment& environment, int own_tasks, Warnings& warnings) {
  const double others = environment.running.value_or(0) - own_tasks;
  if (others <= 0) return;
  warnings.push_back({"busy", fmt::format("other tasks running at the start: {:.0f}", others),
                      "other programs took time, caches and memory bandwidth from the measurement",
                      "stop other programs or measure on a machine of your own, then run again"});
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
    seen += fmt::format("; it has stopped this group {:.0f} time{}", throttled,
                        throttled == 1 ? "" : "s");
    if (environment.throttled_seconds)
      seen += fmt::format(", for {} in all", core::format_seconds(*environment.throttled_seconds));
  }
  const bool less_than_one = quota && *quota < 1;
  warnings.push_back(
      {"cpu_quota", std::move(seen),
       less_than_one
           ? "even one worker is stopped for milliseconds at a time, so that slow samples "
             "are of the quota and not of the machine"
           : "work on all PUs is stopped for milliseconds at a time",
       less_than_one ? "raise the container's CPU limit to at least one CPU"
                     : "raise the container's CPU limit, or use no more workers than the quota"});
}

void check_pus(const core::Topology& topology, Warnings& warnings) {
  const auto usable = static_cast<unsigned>(topology.pus().size());
  if (usable < topology.machine_pu_count()) {
    const std::string restriction = topology.restriction();
    warnings.push_back(
        {"part_of_machine",
         fmt::format("{} of the machine's {} PUs may be used{}{}", usable,
                     topology.machine_pu_count(), restriction.empty() ? "" : ": ", restriction),
         "the figures are of this part; others may work on the rest meanwhile",
         "ask the batch system for a whole machine if you want its figures"});
  }
  const bool siblings = std::any_of(topology.pus().begin(), topology.pus().end(),
                                    [](const core::Pu& pu) { return pu.smt > 0; });
  if (siblings) {
    warnings.push_back({"smt_siblings",
                        fmt::format("{} PUs share {} cores (SMT)", usable, topology.core_count()),
                        "two workers on one core share its arithmetic units and caches",
                        "for arithmetic try one worker a core first"});
  }
}

void check_virtual(const Environment& environment, Warnings& warnings) {
  if (environment.virtual_machine != true) return;
  std::string seen = "this is a virtual machine";
  if (environment.steal_share)
    seen += fmt::format("; {:.1f} % of its CPU time went to others so far",
                        100 * *environment.steal_share);
  warnings.push_back(
      {"virtual_machine", std::move(seen),
       "neighbours change the figures, and caches and NUMA nodes may be shown wrongly",
       "measure again at another time; for final figures measure on bare metal"});
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
    warnings.push_back(
        {"timer_not_invariant",
         fmt::format("the tick counter follows the core's frequency: under load its rate changed "
                     "by {:+.0f} %",
                     100 * change),
         "times are wrong whenever the frequency changes",
         "hold the frequency, or take these figures as rough"});
  } else if (kernel_rejects_counter(environment)) {
    warnings.push_back({"timer_rejected",
                        fmt::format("the kernel does not use the tick counter; its clock is {}",
                                    *environment.clock_source),
                        "the counters of the cores may drift or disagree, and times with them",
                        "read the kernel's reason (dmesg, \"tsc\"), and look at clock.skew"});
  }
}

void check_vectors(const Environment& environment, Warnings& warnings) {
  const std::string& disabled = environment.vectors_disabled;
  if (disabled.empty()) return;
  warnings.push_back({"vectors_disabled",
                      "the processor has " + disabled + ", but the system has not enabled it",
                      "arithmetic and encryption run on narrower registers and are slower",
                      "start the kernel without noxsave, or ask the provider of this machine"});
}

void check_memory(const Environment& environment, const core::Topology& topology,
                  Warnings& warnings) {
  if (environment.huge_pages == "never") {
    warnings.push_back({"thp_off", "transparent huge pages are off (\"never\")",
                        "large arrays need more page-table walks, and forks copy more",
                        "ask an administrator to set "
                        "/sys/kernel/mm/transparent_hugepage/enabled to madvise"});
  }
  const double swapped = environment.swap_used.value_or(0);
  if (swapped > kSwapUsed) {
    warnings.push_back(
        {"swap_used",
         core::format_bytes(static_cast<std::uint64_t>(swapped)) + " of memory are swapped out",
         "pages may come from disk in the middle of a measurement", "free memory, then run again"});
  }
  if (topology.numa_nodes().size() < 2) return;
  if (environment.numa_balancing > 0) {
    warnings.push_back({"numa_balancing", "the kernel moves pages between NUMA nodes by itself",
                        "extra page faults, and pages that are not where they were put",
                        "bind memory and workers, or ask for kernel.numa_balancing=0"});
  }
  if (!environment.numa_calls) {
    warnings.push_back(
        {"no_numa_calls", "the system refuses the calls that place memory on nodes",
         "memory is on the node of the thread that touches it first, whatever was asked",
         "allow mbind and move_pages, in a container with the capability SYS_NICE"});
  }
}

void check_build(const Environment& environment, Warnings& warnings) {
  if (environment.optimised && !environment.sanitizer) return;
  warnings.push_back({"slow_build", "tabane was built without optimisation or with sanitizers",
                      "the figures are of the build, not of the machine",
                      "build with -DCMAKE_BUILD_TYPE=Release and without TABANE_SANITIZE"});
}

// What follows judges samples.

// Share of pairs in which b is larger minus share in which it is smaller, -1…1. It needs no
// standard deviation, so that a series without scatter raises no false alarm.
double cliffs_delta(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (const double x : a) {
    for (const double y : b) sum += (y > x) - (y < x);
  }
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
  const auto far = std::count_if(outliers.begin(), outliers.end(), [&](std::size_t i) {
    return std::abs(samples[i] - middle) > kOutlierEffect * std::abs(middle);
  });
  return static_cast<double>(far) > kOutlierShare * static_cast<double>(samples.size());
}

// At most four names, and how many more.
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
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
    double usual = core::median(values);
    if (values.size() == 2) {
      usual = higher ? std::max(values[0], values[1]) : std::min(values[0], values[1]);
    }
    if (usual <= 0) continue;
    for (const auto& [pu, value] : figures) {
      if (value <= 0) continue;
      const double slower = higher ? 1 - value / usual : 1 - usual / value;
      if (slower < kSlowerPu) continue;
      seen.push_back(fmt::format("CPU {} is {:.0f} % slower ({})", pu, 100 * slower, result.name));
    }
  }
  if (seen.empty()) return;
  warnings.push_back(
      {"slow_pu", list_of(seen),
       "a busy sibling or neighbour, another kind of core, heat or a lower power limit",
       "see what else runs on these CPUs; if they stay slow, leave them out with --cpus"});
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
    if (const double change = drift(result.samples); change != 0) {
      drifting.push_back(fmt::format("{} ({:+.0f} %)", result.name, 100 * change));
    }
    if (!result.factors.empty()) continue;  // check_scatter_of_points()
    if (has_many_outliers(result.samples)) outlying.push_back(result.name);
    if (const auto states = result.states())
      bimodal.push_back(fmt::format("{} ({} for {:.0f} % of the time, else {})", result.name,
                                    show(states->high, result.unit), 100 * states->high_share,
                                    show(states->low, result.unit)));
    if (has_wide_interval(result)) wide.push_back(result.name);
  }
  const auto add = [&](const char* id, const char* what, const std::vector<std::string>& names,
                       const char* may_mean, const char* advice) {
    if (!names.empty()) warnings.push_back({id, what + list_of(names), may_mean, advice});
  };
  add("drift", "these figures drifted during the measurement: ", drifting,
      "the processor warms up, its frequency changes, or another program started or ended",
      "run again on a warm, idle machine");
  add("outliers", "more than 5 % of the samples are far outside: ", outlying,
      "interrupts or other programs stop the measurement now and then",
      "trust the median, not the worst case; run again on an idle machine");
  add("bimodal", "figures with two states: ", bimodal,
      "two states of the machine, such as two frequencies, a busy sibling or two page placements",
      "expect both states; bind to other CPUs, or run again on an idle machine");
  add("wide_interval", "the 95 % interval is wider than ± 5 % of the figure: ", wide,
      "the machine changed during the measurement, or is shared with others",
      "run again on an idle machine; do not compare small differences");
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
  const auto add = [&](const char* id, std::size_t found, const char* what, const char* advice) {
    if (static_cast<double>(found) <= kPointShare * static_cast<double>(points)) return;
    warnings.push_back({id, fmt::format("{} of {} points {}", found, points, what),
                        "other programs disturbed the measurement, or these points scatter by "
                        "themselves, such as those with more threads than PUs",
                        advice});
  };
  add("outliers", outlying, "have more than 5 % of their samples far outside",
      "trust medians, not worst cases; run again on an idle machine");
  add("bimodal", bimodal, "have two states", "expect both states, or run again on an idle machine");
  add("wide_interval", wide, "have a 95 % interval wider than ± 5 % of the figure",
      "run again on an idle machine; do not compare small differences");
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
  warnings.push_back({"clock_skew",
                      fmt::format("the tick counters of two PUs differ by at least {}",
                                  core::format_seconds(certain * 1e-9)),
                      "times taken on one PU and compared on another are wrong by that much",
                      "compare only times of the same PU; a reboot or the firmware may help"});
}

// A cache of which only a part is there for this machine answers like memory well inside its size.
void check_last_cache(const Record& record, Warnings& warnings) {
  constexpr double kLikeMemory =
      0.6;  // of the latency of memory; a whole cache shows a third or less
  const Result* memory = record.find("memory.latency.dram");
  if (memory == nullptr || !memory->value) return;
  const auto cache = memory->number_detail(kHalfOfLastCacheNs);
  if (!cache || *cache < kLikeMemory * *memory->value) return;
  warnings.push_back(
      {"last_cache_small",
       fmt::format(
           "at half the stated size of the last cache a load takes {:.0f} ns, in memory {:.0f} ns",
           *cache, *memory->value),
       "this machine gets only a part of that cache: other machines or programs use the rest",
       "take the cache size from the figure of latency over size, not from the system"});
}

void check_consistency(const Record& record, Warnings& warnings) {
  constexpr const char* kRoof = "roof_too_low";
  std::vector<std::string> roofs, cached, pairs;
  for (const Contradiction& one : contradictions(record))
    (one.id == kRoof ? roofs : one.id == kPartlyCache ? cached : pairs).push_back(one.seen);
  if (!cached.empty())
    warnings.push_back(
        {kPartlyCache, list_of(cached),
         "a cache is larger than the system states, or there was too little memory "
         "for data of four times its size in each array",
         "these figures are higher than what memory gives; run again when more memory "
         "is free"});
  if (!roofs.empty())
    warnings.push_back({kRoof, list_of(roofs),
                        "no loop that was tried as the roof is as fast as this figure",
                        "do not use these shares; the figures themselves are right"});
  if (!pairs.empty())
    warnings.push_back({"contradiction", "figures that cannot both be true: " + list_of(pairs),
                        "other programs disturbed one of the two, or the machine changed",
                        "run again on an idle machine; do not rely on these figures"});
}

// What a survey or a study that was short cannot know.
void check_length(const Record& record, Warnings& warnings) {
  if (!record.quick || record.results.empty()) return;
  warnings.push_back({"quick",
                      record.kind == Kind::survey
                          ? "a quick survey: all of it lasted less than a minute"
                          : fmt::format("a quick study: it measured for {}",
                                        core::format_seconds(record.duration_s)),
                      "slower changes of the machine are not in the intervals",
                      "run without --quick before you rely on a figure"});
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
    warnings.push_back(
        {"few_passes",
         "the measurement was stopped before six passes, so the intervals are less reliable",
         "an interval describes fewer moments of the machine than it should",
         "let it run to its end"});
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
  warnings.push_back(
      {"few_runs",
       fmt::format("{} of {} points have fewer than {} runs", few, points,
                   core::kFewestForInterval),
       "their intervals reach from the least to the greatest run and contain the median in less "
       "than "
       "95 % of the cases",
       record.quick ? "run without --quick, or ask for more runs or for fewer points"
                    : "ask for more runs or for fewer points where there are options for it; do "
                      "not compare small differences"});
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
