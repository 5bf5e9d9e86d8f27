#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "tabane/lab/probes/working_set.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

constexpr double kTolerance = 1.03;

// A figure as far as it is known: a value and the interval that must contain it.
struct Known {
  std::string name;
  double value = 0;
  core::Interval interval;
  std::string unit;

  std::string text() const { return name + " " + show(value, unit); }
};

std::optional<Known> known(const Record& record, const std::string& name) {
  const Result* result = record.find(name);
  if (result == nullptr || !result->value) return std::nullopt;
  return Known{name, *result->value,
               result->interval.value_or(core::Interval{*result->value, *result->value}),
               result->unit};
}

// A point of a curve at x, named by its view.
std::optional<Known> known_point(const Record& record, const std::string& view,
                                 const std::string& series, double x) {
  const auto* curves = find_content<Curves>(record, view);
  if (curves == nullptr) return std::nullopt;
  for (const Curve& curve : curves->series) {
    if (curve.name != series) continue;
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (curve.x[i] != x || !std::isfinite(curve.y[i])) continue;
      const bool band = i < curve.low.size() && i < curve.high.size();
      return Known{fmt::format("{} at {:g}", view, x), curve.y[i],
                   band ? core::Interval{curve.low[i], curve.high[i]}
                        : core::Interval{curve.y[i], curve.y[i]},
                   curves->y.unit};
    }
  }
  return std::nullopt;
}

// Whether a is certainly more than b.
bool surely_more(const Known& a, const Known& b) {
  return a.interval.low > kTolerance * b.interval.high;
}

class Rules {
 public:
  explicit Rules(const Record& record) : record_(record) {}

  std::vector<Contradiction> check() {
    for (const Result& result : record_.results) {
      together(result.name);
      below_roof(result);
      past_the_caches(result);
    }
    for (const char* mix : {"read", "set", "copy", "triad"}) {
      farther(fmt::format("memory.bandwidth.{}.", mix), ".core", true);
      same_as_curve(mix);
    }
    farther("memory.latency.", "", false);
    bus(".core");
    bus(".machine");
    same_latency();
    return std::move(found_);
  }

 private:
  void together(const std::string& name) {
    const std::string suffix = ".machine";
    if (!name.ends_with(suffix)) return;
    const std::string one_core = name.substr(0, name.size() - suffix.size()) + ".core";
    const auto all = known(record_, name), one = known(record_, one_core);
    if (all && one && surely_more(*one, *all))
      add("slower_together", "all cores together cannot do less than one of them", *one, *all);
  }

  void below_roof(const Result& result) {
    if (!result.is_above_limit()) return;
    found_.push_back(
        {"roof_too_low",
         fmt::format("{} reaches {} of its roof", result.name, show_percent(*result.of_limit())),
         {result.name}});
  }

  void past_the_caches(const Result& result) {
    const auto gain = result.details.find(kGainOfHalf);
    if (!result.value || gain == result.details.end() || !gain->is_array()) return;
    const double low = gain->at(1).get<double>();
    if (low <= kTolerance) return;
    found_.push_back(
        {kPartlyCache,
         fmt::format("{} {}, but {:.2f} times as much from half of the data", result.name,
                     show(*result.value, result.unit), gain->at(0).get<double>()),
         {result.name}});
  }

  // higher: near levels have higher figures.
  void farther(const std::string& prefix, const std::string& suffix, bool higher) {
    std::optional<Known> near;
    for (const char* level : {"l1", "l2", "l3", "dram"}) {
      auto here = known(record_, prefix + level + suffix);
      if (!here) continue;
      if (near && (higher ? surely_more(*here, *near) : surely_more(*near, *here)))
        add("farther_is_better", "what is farther away cannot be faster", *near, *here);
      near = std::move(here);
    }
  }

  // What reads and writes, by how much of its bytes it reads, or writes, is limited by each alone.
  void bus(const std::string& scope) {
    const auto read = known(record_, "memory.bandwidth.read.dram" + scope);
    const auto set = known(record_, "memory.bandwidth.set.dram" + scope);
    for (const auto& [mix, reads, writes] : {std::tuple("copy", 1, 1), std::tuple("triad", 2, 1)}) {
      const auto both = known(record_, fmt::format("memory.bandwidth.{}.dram{}", mix, scope));
      if (!both) continue;
      if (!at_most(*both, read, reads + writes, reads)) at_most(*both, set, reads + writes, writes);
    }
  }

  // Whether the contradiction is found: `of` parts of `all` are what the other figure is about.
  bool at_most(const Known& both, const std::optional<Known>& part, double all, double of) {
    if (!part) return false;
    Known most = *part;
    most.interval.low *= all / of;
    most.interval.high *= all / of;
    if (!surely_more(both, most)) return false;
    add("above_the_bus",
        fmt::format("the first cannot be more than {:g} times the other", all / of), both, most);
    return true;
  }

  // Intervals that meet, as one is wide, do not save medians of which each lies outside the
  // other's.
  void same(const std::optional<Known>& a, const std::optional<Known>& b) {
    const auto apart = [](const Known& more, const Known& less) {
      return surely_more(more, less) || (more.value > kTolerance * less.interval.high &&
                                         more.interval.low > kTolerance * less.value);
    };
    if (a && b && (apart(*a, *b) || apart(*b, *a)))
      add("differs", "two probes give the same quantity different figures", *a, *b);
  }

  void same_as_curve(const char* mix) {
    const auto* curves = find_content<Curves>(record_, "memory.bandwidth.cores");
    if (curves == nullptr || curves->series.empty() || curves->series.front().x.empty()) return;
    const std::string name = fmt::format("memory.bandwidth.{}.dram", mix);
    same(known(record_, name + ".machine"),
         known_point(record_, "memory.bandwidth.cores", mix, curves->series.front().x.back()));
  }

  void same_latency() {
    const Result* dram = record_.find("memory.latency.dram");
    const Result* local = record_.find("numa.latency");
    if (dram == nullptr || local == nullptr) return;
    if (dram->number_detail("bytes") == local->number_detail("bytes"))
      same(known(record_, "memory.latency.dram"), known(record_, "numa.latency"));
  }

  void add(const char* id, const std::string& why, const Known& a, const Known& b) {
    found_.push_back(
        {id, fmt::format("{} and {} ({})", a.text(), b.text(), why), {a.name, b.name}});
  }

  const Record& record_;
  std::vector<Contradiction> found_;
};

}  // namespace

std::vector<Contradiction> contradictions(const Record& record) { return Rules(record).check(); }

std::set<std::string> doubtful_results(const Record& record) {
  std::set<std::string> names;
  for (const Contradiction& one : contradictions(record))
    names.insert(one.names.begin(), one.names.end());
  return names;
}

}  // namespace tabane::lab
