// The survey in three sentences for someone who reads nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tabane/core/units.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/consistency.h"

namespace tabane::lab {
namespace {

constexpr double kGoodShare = 0.80;  // of a limit
constexpr double kPoorShare = 0.60;  // of a limit
constexpr double kSaturated = 0.90;  // of the highest bandwidth
constexpr std::size_t kClauses = 4;  // a longer sentence is not read

std::optional<double> value_of(const Record& record, const std::string& name) {
  const Result* result = record.find(name);
  if (result == nullptr || !result->value || !(*result->value > 0)) return std::nullopt;
  return result->value;
}

std::string shown(const Record& record, const std::string& name) {
  const Result& result = *record.find(name);
  if (result.unit == "s") return core::format_seconds(*result.value);
  if (result.unit == "ns") return core::format_seconds(*result.value * 1e-9);
  return core::format_value(*result.value, result.unit);
}

std::string joined(const std::vector<std::string>& clauses) {
  std::string text;
  for (std::size_t i = 0; i < std::min(clauses.size(), kClauses); ++i) {
    text += (i == 0 ? "" : "; ") + clauses[i];
  }
  return text;
}

// Results that are held against a limit, the nearest to it first.
std::vector<const Result*> by_share_of_limit(const Record& record) {
  std::vector<const Result*> held;
  for (const Result& result : record.results) {
    if (result.of_limit()) held.push_back(&result);
  }
  std::stable_sort(held.begin(), held.end(), [](const Result* a, const Result* b) {
    return *a->of_limit() > *b->of_limit();
  });
  return held;
}

// The name of a measured bandwidth of memory; triad, which loads and stores, stands for programs.
std::optional<std::string> memory_bandwidth_name(const Record& record, const std::string& scope) {
  for (const char* kernel : {"triad", "read", "copy", "set"}) {
    std::string name = fmt::format("memory.bandwidth.{}.dram.{}", kernel, scope);
    if (value_of(record, name)) return name;
  }
  return std::nullopt;
}

// A part of the machine is not "all cores".
std::string on_all(const Record& record) {
  const bool part = std::ranges::any_of(
      record.warnings, [](const Warning& warning) { return warning.id == "part_of_machine"; });
  return part ? " on the cores that may be used" : " on all cores";
}

std::string good_at(const Record& record) {
  std::vector<std::string> clauses;
  if (value_of(record, "peak.fma.machine")) {
    clauses.push_back("arithmetic of " + shown(record, "peak.fma.machine") + on_all(record));
  } else if (value_of(record, "peak.fma.core")) {
    clauses.push_back("arithmetic of " + shown(record, "peak.fma.core") + " on one core");
  }
  if (const auto memory = memory_bandwidth_name(record, "machine")) {
    clauses.push_back("memory of " + shown(record, *memory) + on_all(record));
  }
  if (value_of(record, "comm.latency")) {
    clauses.push_back("a message from process to process in " + shown(record, "comm.latency"));
  }
  const auto held = by_share_of_limit(record);
  const auto good = std::ranges::count_if(
      held, [](const Result* result) { return *result->of_limit() >= kGoodShare; });
  if (good > 0) {
    clauses.push_back(
        fmt::format("{} of {} figures with a known limit reach {:.0f} % of it or more", good,
                    held.size(), 100 * kGoodShare));
  }
  if (clauses.empty()) return "Good at: not judged, because too little was measured.";
  return "Good at: " + joined(clauses) + ".";
}

// Cores after which more of them no longer bring bandwidth, and cores in all; null if it still
// grows.
std::optional<std::pair<double, double>> saturating_cores(const Record& record) {
  const auto* curves = find_content<Curves>(record, "memory.bandwidth.cores");
  if (curves == nullptr || curves->series.empty()) return std::nullopt;
  const Curve& curve = curves->series.front();
  // With fewer than four points a noisy one would look like saturation.
  if (curve.x.size() < 4 || curve.x.size() != curve.y.size()) return std::nullopt;
  const double highest = *std::max_element(curve.y.begin(), curve.y.end());
  for (std::size_t i = 0; i + 1 < curve.x.size(); ++i) {
    if (curve.y[i] >= kSaturated * highest) return std::pair{curve.x[i], curve.x.back()};
  }
  return std::nullopt;
}

void add_memory_clauses(const Record& record, std::vector<std::string>& clauses) {
  const auto peak = value_of(record, "peak.fma.machine");
  const auto memory = memory_bandwidth_name(record, "machine");
  if (peak && memory) {
    clauses.push_back(
        fmt::format("memory bandwidth for programs with less than {:.3g} floating-point "
                    "operations per byte",
                    *peak / *value_of(record, *memory)));
  }
  if (const auto cores = saturating_cores(record)) {
    clauses.push_back(fmt::format("{:.0f} of {:.0f} cores already saturate the memory",
                                  cores->first, cores->second));
  }
  const auto near = value_of(record, "memory.latency.l1");
  const auto far = value_of(record, "memory.latency.dram");
  if (near && far) {
    clauses.push_back(
        fmt::format("a dependent access to memory takes {}, {:.0f} times one to the "
                    "first cache",
                    shown(record, "memory.latency.dram"), *far / *near));
  }
}

void add_system_clauses(const Record& record, std::vector<std::string>& clauses) {
  const Result* faults = record.find("page_fault.rate");
  if (const auto rate = value_of(record, "page_fault.rate")) {
    const auto page = faults->number_detail(detail::kPageBytes);
    clauses.push_back(page ? fmt::format("one thread gets fresh memory at {}",
                                         core::format_value(*rate * *page, "B/s"))
                           : fmt::format("one thread gets {:.3g} fresh pages per second", *rate));
  }
  if (const auto slope = value_of(record, "fork.cost.per_gib")) {
    clauses.push_back(fmt::format("a fork takes {} per GiB held", core::format_seconds(*slope)));
  } else if (value_of(record, "fork.cost")) {
    clauses.push_back("a fork takes " + shown(record, "fork.cost"));
  }
}

std::string limited_by(const Record& record) {
  std::vector<std::string> clauses;
  add_memory_clauses(record, clauses);
  const auto held = by_share_of_limit(record);
  if (!held.empty() && *held.back()->of_limit() < kPoorShare) {
    clauses.push_back(fmt::format("{} reaches only {} of its limit", held.back()->name,
                                  show_percent(*held.back()->of_limit())));
  }
  add_system_clauses(record, clauses);
  if (clauses.empty()) return "Limited by: not judged, because too little was measured.";
  return "Limited by: " + joined(clauses) + ".";
}

std::string looks_wrong(const Record& record) {
  constexpr std::size_t kShown = 2;
  if (record.warnings.empty()) {
    return record.results.empty() ? "Looks wrong: not judged, because nothing was measured."
                                  : "Nothing looks wrong.";
  }
  std::string text = "Looks wrong: ";
  for (std::size_t i = 0; i < std::min(kShown, record.warnings.size()); ++i) {
    // What stands behind a colon is a list of figures: too long for a sentence.
    const std::string& seen = record.warnings[i].seen;
    text += (i == 0 ? "" : "; ") + seen.substr(0, seen.find(':'));
  }
  if (record.warnings.size() > kShown) {
    text += fmt::format("; and {} more, see the warnings", record.warnings.size() - kShown);
  }
  return text + ".";
}

}  // namespace

std::vector<std::string> sentences(const Record& record) {
  // Nothing is said about figures that others contradict.
  Record sound = record;
  const std::set<std::string> doubtful = doubtful_results(record);
  std::erase_if(sound.results,
                [&](const Result& result) { return doubtful.contains(result.name); });
  return {good_at(sound), limited_by(sound), looks_wrong(record)};
}

}  // namespace tabane::lab
