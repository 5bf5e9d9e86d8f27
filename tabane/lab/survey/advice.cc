// The survey in three sentences for someone who reads nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

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

std::string joined(std::vector<std::string> clauses) {
  clauses.resize(std::min(clauses.size(), kClauses));
  return fmt::format("{}", fmt::join(clauses, "; "));
}

// Figures of the machine that are held against a limit, the nearest to it first.
std::vector<const Result*> by_share_of_limit(const Record& record) {
  std::vector<const Result*> held;
  for (const Result& result : record.results)
    if (result.of_limit() && !is_of_tabane(result.name)) held.push_back(&result);
  std::ranges::stable_sort(
      held, [](const Result* a, const Result* b) { return *a->of_limit() > *b->of_limit(); });
  return held;
}

// The name of a measured bandwidth of memory; triad, which loads and stores, represents programs.
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
  if (value_of(record, "peak.fma.machine"))
    clauses.push_back("arithmetic of " + shown(record, "peak.fma.machine") + on_all(record));
  else if (value_of(record, "peak.fma.core"))
    clauses.push_back("arithmetic of " + shown(record, "peak.fma.core") + " on one core");
  if (const auto memory = memory_bandwidth_name(record, "machine"))
    clauses.push_back("memory of " + shown(record, *memory) + on_all(record));
  if (value_of(record, "core_to_core.latency"))
    clauses.push_back("a cache line from core to core in " + shown(record, "core_to_core.latency"));
  const auto held = by_share_of_limit(record);
  const auto good = std::ranges::count_if(
      held, [](const Result* result) { return *result->of_limit() >= kGoodShare; });
  if (good > 0)
    clauses.push_back(fmt::format(
        "{} of {} with a known limit, tabane's own left out, {} {:.0f} % of it or more", good,
        core::counted(held.size(), "figure"), good == 1 ? "reaches" : "reach", 100 * kGoodShare));
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
  const double highest = *std::ranges::max_element(curve.y);
  for (std::size_t i = 0; i + 1 < curve.x.size(); ++i)
    if (curve.y[i] >= kSaturated * highest) return std::pair{curve.x[i], curve.x.back()};
  return std::nullopt;
}

void add_memory_clauses(const Record& record, std::vector<std::string>& clauses) {
  const auto peak = value_of(record, "peak.fma.machine");
  const auto memory = memory_bandwidth_name(record, "machine");
  if (peak && memory)
    clauses.push_back(
        fmt::format("memory bandwidth for programs with less than {:.3g} floating-point "
                    "operations per byte",
                    *peak / *value_of(record, *memory)));
  if (const auto cores = saturating_cores(record))
    clauses.push_back(fmt::format("{:.0f} of {:.0f} cores already saturate the memory",
                                  cores->first, cores->second));
  const auto near = value_of(record, "memory.latency.l1");
  const auto far = value_of(record, "memory.latency.dram");
  if (near && far)
    clauses.push_back(
        fmt::format("a dependent access to memory takes {}, {:.0f} times one to the first cache",
                    shown(record, "memory.latency.dram"), *far / *near));
}

void add_system_clauses(const Record& record, std::vector<std::string>& clauses) {
  if (const auto rate = value_of(record, "page_fault.rate")) {
    const auto page = record.find("page_fault.rate")->number_detail(detail::kPageBytes);
    clauses.push_back(page ? fmt::format("one thread gets fresh memory at {}",
                                         core::format_value(*rate * *page, "B/s"))
                           : fmt::format("one thread gets {:.3g} fresh pages per second", *rate));
  }
  if (const auto slope = value_of(record, "fork.cost.per_gib"))
    clauses.push_back(fmt::format("a fork takes {} per GiB held", core::format_seconds(*slope)));
  else if (value_of(record, "fork.cost"))
    clauses.push_back("a fork takes " + shown(record, "fork.cost"));
}

std::string limited_by(const Record& record) {
  std::vector<std::string> clauses;
  add_memory_clauses(record, clauses);
  const auto held = by_share_of_limit(record);
  if (!held.empty() && *held.back()->of_limit() < kPoorShare)
    clauses.push_back(fmt::format("{} reaches only {} of its limit", held.back()->name,
                                  show_percent(*held.back()->of_limit())));
  add_system_clauses(record, clauses);
  if (clauses.empty()) return "Limited by: not judged, because too little was measured.";
  return "Limited by: " + joined(clauses) + ".";
}

std::string looks_wrong(const Record& record) {
  constexpr std::size_t kShown = 2;
  if (record.warnings.empty())
    return record.results.empty() ? "Looks wrong: not judged, because nothing was measured."
                                  : "Nothing looks wrong.";
  std::vector<std::string> parts;
  // What follows a colon, such as a list of figures, or a semicolon is too long for a sentence.
  for (const Warning& warning : record.warnings)
    parts.push_back(warning.seen.substr(0, warning.seen.find_first_of(":;")));
  if (parts.size() > kShown) {
    parts.resize(kShown);
    parts.push_back(fmt::format("and {} more, see the warnings", record.warnings.size() - kShown));
  }
  return fmt::format("Looks wrong: {}.", fmt::join(parts, "; "));
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

namespace {

constexpr double kWorthIt = 1.2;       // a smaller gain is not worth a change
constexpr double kShortFork = 1e-3;    // seconds; programs do not feel shorter ones
constexpr double kNearlyAll = 0.95;    // of the highest bandwidth
constexpr double kSmallerCache = 0.5;  // of the stated size
constexpr const char* kHuge = "huge pages";

struct Found {
  Advice advice;
  double gain = 1;  // times
};

const Curve* curve_of(const Record& record, const char* view, std::string_view name) {
  const auto* curves = find_content<Curves>(record, view);
  if (curves == nullptr) return nullptr;
  const auto curve = std::ranges::find(curves->series, name, &Curve::name);
  return curve == curves->series.end() || curve->x.empty() ? nullptr : &*curve;
}

// The curve on base pages: the one that is not on huge pages.
const Curve* small_pages(const Record& record, const char* view) {
  const auto* curves = find_content<Curves>(record, view);
  if (curves == nullptr) return nullptr;
  for (const Curve& curve : curves->series)
    if (curve.name != kHuge && curve.name.ends_with("pages") && !curve.x.empty()) return &curve;
  return nullptr;
}

struct PagesPoint {
  double x = 0, small = 0, huge = 0;
};

// The largest x that both kinds of pages have.
std::optional<PagesPoint> largest_common(const Record& record, const char* view) {
  const Curve* small = small_pages(record, view);
  const Curve* huge = curve_of(record, view, kHuge);
  if (small == nullptr || huge == nullptr) return std::nullopt;
  std::map<double, double> at;
  for (std::size_t i = 0; i < small->x.size(); ++i) at[small->x[i]] = small->y[i];
  std::optional<PagesPoint> found;
  for (std::size_t i = 0; i < huge->x.size(); ++i) {
    const auto same = at.find(huge->x[i]);
    if (same != at.end() && huge->y[i] > 0 && (!found || huge->x[i] > found->x))
      found = PagesPoint{huge->x[i], same->second, huge->y[i]};
  }
  return found;
}

std::optional<Found> huge_pages_for_forks(const Record& record) {
  const auto point = largest_common(record, "fork.cost");
  if (!point || point->small < kShortFork || point->small < kWorthIt * point->huge) return {};
  return Found{{"huge_pages_fork", "Use huge pages for programs that hold much memory and fork",
                fmt::format("a fork with {} held takes {} instead of {}", show(point->x, "B"),
                            show(point->huge, "s"), show(point->small, "s")),
                "tabane run --huge-pages -- COMMAND"},
               point->small / point->huge};
}

std::optional<Found> huge_pages_for_access(const Record& record) {
  const auto point = largest_common(record, "memory.latency");
  if (!point || point->small < kWorthIt * point->huge) return {};
  return Found{
      {"huge_pages_access", "Use huge pages for programs that access large arrays at random",
       fmt::format("a load from an array of {} takes {} instead of {}", show(point->x, "B"),
                   show(point->huge, "ns"), show(point->small, "ns")),
       "tabane run --huge-pages -- COMMAND"},
      point->small / point->huge};
}

// The fewest cores that read nearly as fast as any number of them.
std::optional<Found> fewer_threads(const Record& record, const std::set<std::string>& doubtful) {
  const Curve* read = curve_of(record, "memory.bandwidth.cores", "read");
  if (read == nullptr || read->x.size() < 2) return {};
  if (doubtful.contains("memory.bandwidth.read.dram.machine")) return {};
  const double highest = *std::ranges::max_element(read->y);
  std::size_t enough = 0;
  while (read->y[enough] < kNearlyAll * highest) ++enough;
  const double cores = read->x[enough], all = read->x.back();
  if (all < kWorthIt * cores) return {};
  const Result* loaded = record.find("memory.latency.loaded");
  std::string gain = fmt::format("{:.0f} of {:.0f} cores already read {} of at most {}", cores, all,
                                 show(read->y[enough], "B/s"), show(highest, "B/s"));
  if (loaded != nullptr && loaded->value) {
    const auto alone = loaded->number_detail("alone_ns");
    if (alone && *loaded->value > kWorthIt * *alone)
      gain += fmt::format("; with all at work a load takes {} instead of {}",
                          show(*loaded->value, "ns"), show(*alone, "ns"));
  }
  return Found{{"fewer_threads",
                fmt::format("Use {:.0f} thread{} for work that only reads memory", cores,
                            cores == 1 ? "" : "s"),
                std::move(gain), fmt::format("tabane run -t {:.0f} -- COMMAND", cores)},
               all / cores};
}

// The stated size of the last cache, bytes; null if there is none.
std::optional<double> stated_cache(const Record& record) {
  const auto caches = record.machine.find("caches");
  if (caches == record.machine.end() || !caches->is_array() || caches->empty()) return {};
  const Json& last = caches->back();
  if (!last.is_object() || !last.contains("bytes") || !last["bytes"].is_number()) return {};
  return last["bytes"].get<double>();
}

// The largest working set that still answers in half the time of memory: what there really is of a
// shared cache.
std::optional<Found> smaller_cache(const Record& record) {
  const auto stated = stated_cache(record);
  const Curve* curve = curve_of(record, "memory.latency", kHuge);
  if (curve == nullptr) curve = small_pages(record, "memory.latency");
  const Result* memory = record.find("memory.latency.dram");
  if (!stated || curve == nullptr || memory == nullptr || !memory->value) return {};
  const double between = 0.5 * *memory->value;
  double real = 0, at_stated = 0;
  for (std::size_t i = 0; i < curve->x.size(); ++i) {
    if (curve->y[i] < between) real = std::max(real, curve->x[i]);
    if (curve->x[i] <= *stated / 2) at_stated = curve->y[i];
  }
  if (real <= 0 || real > kSmallerCache * *stated || at_stated < between) return {};
  return Found{
      {"smaller_cache",
       fmt::format("Block loops for {} of shared cache, not for the {} that the system "
                   "states",
                   show(real, "B"), show(*stated, "B")),
       fmt::format("a load from an array of {} takes {}, from one of {} {}", show(real, "B"),
                   show(curve->y[static_cast<std::size_t>(std::ranges::find(curve->x, real) -
                                                          curve->x.begin())],
                        "ns"),
                   show(*stated / 2, "B"), show(at_stated, "ns")),
       ""},
      at_stated / between};
}

std::string pair_text(const Json& details, const char* key) {
  const auto pair = details.find(key);
  if (pair == details.end() || !pair->is_array() || pair->size() != 2) return "";
  return fmt::format("{},{}", (*pair)[0].dump(), (*pair)[1].dump());
}

std::optional<Found> near_pairs(const Record& record) {
  const Result* result = record.find("core_to_core.latency");
  if (result == nullptr) return {};
  const auto least = result->number_detail("min_ns"), most = result->number_detail("max_ns");
  const std::string best = pair_text(result->details, "best_pair");
  const std::string worst = pair_text(result->details, "worst_pair");
  if (!least || !most || best.empty() || worst.empty() || *most < 1.5 * *least) return {};
  return Found{{"near_pairs", "Put processes that talk to each other on CPUs that are near",
                fmt::format("a cache line goes between CPUs {} in {}, between CPUs {} in {}", best,
                            show(*least, "ns"), worst, show(*most, "ns")),
                fmt::format("tabane run -c {} -- COMMAND", best)},
               *most / *least};
}

std::optional<Found> tree_of_forks(const Record& record) {
  const Result* gain = record.find("fork.tree.gain");
  const Result* tree = record.find("fork.tree");
  if (gain == nullptr || tree == nullptr || !gain->value || !gain->interval || !tree->value)
    return {};
  if (gain->interval->low < kWorthIt) return {};
  return Found{
      {"tree_of_forks", "Start many processes by a tree of forks, as a team of tabane does",
       fmt::format("starting and joining takes {} instead of {}", show(*tree->value, "s"),
                   show(*tree->value * *gain->value, "s")),
       ""},
      *gain->value};
}

}  // namespace

std::vector<Advice> advise(const Record& record) {
  const std::set<std::string> doubtful = doubtful_results(record);
  std::vector<Found> found;
  for (auto& one : {huge_pages_for_forks(record), huge_pages_for_access(record),
                    fewer_threads(record, doubtful), smaller_cache(record), near_pairs(record),
                    tree_of_forks(record)})
    if (one) found.push_back(*one);
  std::ranges::stable_sort(found, std::ranges::greater(), &Found::gain);
  std::vector<Advice> advice;
  for (std::size_t i = 0; i < std::min(kMostAdvice, found.size()); ++i)
    advice.push_back(std::move(found[i].advice));
  return advice;
}

bool can_advise(const Record& record) {
  return record.complete && small_pages(record, "memory.latency") != nullptr &&
         curve_of(record, "memory.bandwidth.cores", "read") != nullptr &&
         small_pages(record, "fork.cost") != nullptr;
}

}  // namespace tabane::lab
