#include <fmt/format.h>

#include <algorithm>

#include "tabane/lab/survey/present.h"

// source: Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC'15.

namespace tabane::lab {
namespace {

constexpr const char* kKept = "kept";
constexpr const char* kPartly = "partly";
constexpr const char* kNotApplicable = "not applicable";

struct Judgement {
  std::string status, evidence;
};

struct Counts {
  std::size_t measured = 0, with_interval = 0, with_samples = 0, with_limit = 0, directed = 0;
  std::size_t far_outliers = 0, with_outliers = 0;
};

Counts count(const Record& record) {
  Counts c;
  for (const auto& result : record.results) {
    if (!result.value) continue;
    ++c.measured;
    c.with_interval += result.interval.has_value();
    c.with_samples += result.samples.size() > 1;
    c.with_limit += result.of_limit().has_value();
    c.directed += result.better != Better::neither;
    const auto outliers =
        result.samples.empty() ? 0 : core::outliers_far_fence(result.samples).size();
    c.far_outliers += outliers;
    c.with_outliers += outliers > 0;
  }
  return c;
}

Judgement nothing_measured() { return {kNotApplicable, "The record holds no measured figure."}; }

Judgement base_case(const Counts& c) {
  if (c.with_limit == 0) return {kNotApplicable, "No figure is given as a share or a speedup."};
  return {kKept,
          fmt::format("{} figures are given as shares of a limit; the limit's absolute value "
                      "and origin stand beside each.",
                      c.with_limit)};
}

Judgement subset(const Record& record) {
  if (!record.complete) return {kPartly, "The survey was stopped before its end."};
  const auto unexplained = std::count_if(record.skipped.begin(), record.skipped.end(),
                                         [](const Skipped& s) { return s.reason.empty(); });
  if (unexplained > 0)
    return {kPartly, fmt::format("{} of {} skipped probes give no reason.", unexplained,
                                 record.skipped.size())};
  return {
      kKept,
      fmt::format("{} probes skipped, each with its reason; the command line is shown{}.",
                  record.skipped.size(), record.quick ? "; run with shortened times (quick)" : "")};
}

Judgement means(const Counts& c) {
  if (c.with_samples == 0) return nothing_measured();
  return {kNotApplicable,
          fmt::format("No means are formed: {} figures are medians of samples.", c.with_samples)};
}

Judgement ratios(const Counts& c) {
  if (c.with_limit == 0) return {kNotApplicable, "No ratios are shown."};
  return {kKept, fmt::format("{} shares, each of one figure and its limit; none are averaged.",
                             c.with_limit)};
}

Judgement intervals(const Counts& c) {
  if (c.measured == 0) return nothing_measured();
  return {c.with_interval == c.measured ? kKept : kPartly,
          fmt::format("{} of {} figures have a 95 % interval of the median.", c.with_interval,
                      c.measured)};
}

Judgement normality(const Counts& c) {
  if (c.with_interval == 0) return {kNotApplicable, "No intervals are given."};
  return {kKept, "Intervals are taken from order statistics; no distribution is assumed."};
}

Judgement comparisons(const Record& record) {
  if (record.find_view("ladder") == nullptr)
    return {kNotApplicable, "Alternatives are not compared; figures are held against limits."};
  return {kPartly, "The variants in the ladder stand side by side without a test of difference."};
}

Judgement middle(const Counts& c) {
  if (c.with_samples == 0) return nothing_measured();
  return {c.with_samples == c.measured ? kKept : kPartly,
          fmt::format("Raw samples of {} of {} figures are kept in order; {} far outliers in {} "
                      "figures are counted and none is dropped.",
                      c.with_samples, c.measured, c.far_outliers, c.with_outliers)};
}

Judgement setup(const Record& record) {
  std::size_t known = 0, unknown = 0;
  for (const auto& group : record.environment)
    if (group.is_object())
      for (const auto& value : group) ++(value.is_null() ? unknown : known);
  if (known == 0) return {kPartly, "The record holds no environment."};
  return {unknown == 0 ? kKept : kPartly,
          fmt::format("{} facts about the machine and its settings are recorded; {} could not be "
                      "read.",
                      known, unknown)};
}

Judgement parallel_time(const Record& record) {
  std::size_t parallel = 0, explained = 0;
  const auto look = [&](bool is_parallel, const Json& details) {
    parallel += is_parallel;
    explained += is_parallel && details.contains(detail::kSynchronisation);
  };
  for (const auto& result : record.results)
    look(result.value && result.name.ends_with(".machine"), result.details);
  for (const auto& table : record.views)
    look(table.name == "memory.bandwidth.cores" || table.name == "clock.core_rate", table.details);
  if (parallel == 0) return {kNotApplicable, "Nothing was measured on several PUs at once."};
  return {explained == parallel ? kKept : kPartly,
          fmt::format("{} of {} parallel figures record how their workers were started together.",
                      explained, parallel)};
}

Judgement bounds(const Counts& c) {
  if (c.directed == 0) return nothing_measured();
  return {c.with_limit >= c.directed ? kKept : kPartly,
          fmt::format("{} of {} figures stand beside an upper bound.", c.with_limit, c.directed)};
}

Judgement plots(const Record& record) {
  std::size_t curves = 0, banded = 0;
  for (const auto& table : record.views)
    if (const auto* content = std::get_if<Curves>(&table.content))
      for (const auto& curve : content->series) {
        ++curves;
        banded += !curve.low.empty() && !curve.high.empty();
      }
  if (curves == 0) return {kNotApplicable, "The record holds no curves."};
  return {
      banded == curves ? kKept : kPartly,
      fmt::format("{} of {} curves carry a 95 % band; every measured point is marked, lines only "
                  "guide the eye; the numbers are tabled.",
                  banded, curves)};
}

}  // namespace

std::vector<ChecklistRow> fill_checklist(const Record& record) {
  const Counts c = count(record);
  std::vector<ChecklistRow> rows;
  const auto add = [&](const char* text, Judgement j) {
    rows.push_back(
        {std::to_string(rows.size() + 1), text, std::move(j.status), std::move(j.evidence)});
  };
  add("A speedup names its base case and that case's absolute time.", base_case(c));
  add("If only a part of the tests or of the machine is used, the reason is given.",
      subset(record));
  add("Costs are averaged arithmetically, rates harmonically.", means(c));
  add("Ratios are not averaged.", ratios(c));
  add("What varies from run to run comes with a confidence interval.", intervals(c));
  add("Normality is not taken for granted.", normality(c));
  add("Alternatives are compared by sound statistics.", comparisons(record));
  add("The middle is not the whole story: spread and worst cases are looked at.", middle(c));
  add("Everything that may change the figures is written down.", setup(record));
  add("Parallel times say how workers were synchronised and times summarised.",
      parallel_time(record));
  add("Figures stand beside the best that is possible.", bounds(c));
  add("Plots show enough, and join points only where that means something.", plots(record));
  return rows;
}

}  // namespace tabane::lab
