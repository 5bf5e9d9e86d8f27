#include "tabane/lab/survey/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/consistency.h"

namespace tabane::lab {
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
  return Found{{"huge_pages_fork", "Give programs that hold much memory and fork huge pages",
                fmt::format("a fork with {} held takes {} instead of {}", show(point->x, "B"),
                            show(point->huge, "s"), show(point->small, "s")),
                "tabane run --huge-pages -- COMMAND"},
               point->small / point->huge};
}

std::optional<Found> huge_pages_for_access(const Record& record) {
  const auto point = largest_common(record, "memory.latency");
  if (!point || point->small < kWorthIt * point->huge) return {};
  return Found{{"huge_pages_access", "Give programs that jump about in large arrays huge pages",
                fmt::format("a load from {} takes {} instead of {}", show(point->x, "B"),
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
       fmt::format("a load from {} takes {}, from half of what is stated {}", show(real, "B"),
                   show(curve->y[static_cast<std::size_t>(std::ranges::find(curve->x, real) -
                                                          curve->x.begin())],
                        "ns"),
                   show(at_stated, "ns")),
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
                fmt::format("a line goes between CPUs {} in {}, between {} in {}", best,
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
  return Found{{"tree_of_forks", "Start many processes by a tree of forks, as tabane's teams do",
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
