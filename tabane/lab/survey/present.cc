#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

// The order of the page. Views that are not read aloud come last, in the order of the survey.
constexpr std::string_view kOrder[] = {"share_of_limit",
                                       "roofline",
                                       "memory.latency",
                                       "memory.bandwidth",
                                       "memory.bandwidth.cores",
                                       "memory.latency.loaded",
                                       "memcpy",
                                       "core_to_core.latency",
                                       "numa.latency",
                                       "numa.latency.loaded",
                                       "numa.bandwidth.first",
                                       "numa.bandwidth.second",
                                       "ladder.chart",
                                       "clock.core_rate",
                                       "fork.cost",
                                       "device",
                                       "device.transfers",
                                       "device.transfer_sizes",
                                       "device.memory"};

std::ptrdiff_t place_on_page(const View& view) {
  const auto* const end = std::end(kOrder);
  return (view.note.empty() ? end : std::ranges::find(kOrder, view.name)) - std::begin(kOrder);
}

// ---- shares of limits ----

std::string family(const std::string& name) { return name.substr(0, name.find('.')); }

// Families in the order of the survey, the best share first inside each.
std::vector<Bar> sorted_bars(const Record& record) {
  std::vector<std::string> order;
  std::vector<Bar> bars;
  for (const Result& result : record.results) {
    const auto share = result.share_of_limit();
    if (!share || !std::isfinite(share->value)) continue;
    Bar bar{family(result.name), result.name, share->value};
    if (share->pairs > 1) bar.interval = share->interval;
    bar.remark = fmt::format("{}, {}: {}", show(*result.value, result.unit),
                             show_share(result, true), result.limit->how);
    if (std::ranges::find(order, bar.group) == order.end()) order.push_back(bar.group);
    bars.push_back(std::move(bar));
  }
  const auto place = [&](const Bar& bar) {
    return std::ranges::find(order, bar.group) - order.begin();
  };
  std::ranges::stable_sort(bars, [&](const Bar& a, const Bar& b) {
    return place(a) != place(b) ? place(a) < place(b) : *a.value > *b.value;
  });
  for (Bar& bar : bars)
    if (is_of_tabane(bar.label))
      bar.group += bar.group == "comm" ? ": tabane's messages" : ": tabane's vector loops";
  return bars;
}

std::string note_of(const std::vector<Bar>& bars) {
  const Bar *closest = nullptr, *farthest = &bars.front();
  for (const Bar& bar : bars) {
    if (*bar.value <= kAtTheLimit && (closest == nullptr || *bar.value > *closest->value))
      closest = &bar;
    if (*bar.value < *farthest->value) farthest = &bar;
  }
  if (bars.size() == 1)
    return fmt::format("{} reaches {} of its limit.", farthest->label,
                       show_percent(*farthest->value));
  std::string text = "Each bar is one figure as a share of the machine's own limit for it.";
  if (closest != nullptr && closest != farthest)
    text +=
        fmt::format(" {} comes closest with {}; {} is farthest with {}.", closest->label,
                    show_percent(*closest->value), farthest->label, show_percent(*farthest->value));
  if (std::ranges::any_of(bars, is_of_tabane, &Bar::label))
    text +=
        " simd.* are tabane's own vector loops, comm.* its messages: what they leave free is no "
        "fault of the machine.";
  const auto above =
      std::ranges::count_if(bars, [](const Bar& bar) { return *bar.value > kAtTheLimit; });
  if (above > 0)
    text += fmt::format(" {} more than 3 % above the limit: there it was too low.",
                        above == 1 ? "One bar is" : fmt::format("{} bars are", above));
  return text;
}

std::optional<View> shares(const Record& record) {
  Bars bars{.unit = "share", .bars = sorted_bars(record), .reference = 1};
  if (bars.bars.empty()) return std::nullopt;
  std::string text = note_of(bars.bars);
  return View{.name = "share_of_limit",
              .title = "How close to the limit",
              .note = std::move(text),
              .content = std::move(bars)};
}

// ---- the roofline ----

constexpr std::array<std::string_view, 4> kLevels = {"l1", "l2", "l3", "dram"};
constexpr std::array<std::string_view, 4> kLevelNames = {"L1", "L2", "L3", "DRAM"};
constexpr int kPeakColour = 4;  // after those of the levels

struct Roof {
  std::size_t level;
  double bandwidth;  // B/s
};

struct Dot {
  std::string kernel;
  std::size_t level;
  double intensity;  // FLOP/B
  double rate;       // FLOP/s
};

struct Roofline {
  std::vector<Roof> roofs;  // not empty
  double peak;              // FLOP/s
  std::vector<Dot> dots;

  double ridge(const Roof& roof) const { return peak / roof.bandwidth; }
};

std::vector<Roof> find_roofs(const Record& record) {
  std::vector<Roof> roofs;
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    const Result* result = record.find(fmt::format("memory.bandwidth.read.{}.core", kLevels[i]));
    if (result != nullptr && result->value && *result->value > 0)
      roofs.push_back({i, *result->value});
  }
  return roofs;
}

// "simd.dot.l1" is the dot product over data in L1.
std::vector<Dot> find_dots(const Record& record) {
  std::vector<Dot> dots;
  for (const Result& result : record.results) {
    if (!result.name.starts_with("simd.") || result.unit != "FLOP/s" || !result.value) continue;
    const auto dot = result.name.rfind('.');
    const auto level = std::ranges::find(kLevels, result.name.substr(dot + 1));
    const double flops = result.number_detail(detail::kFlopsPerElement).value_or(0);
    const double bytes = result.number_detail(detail::kBytesPerElement).value_or(0);
    if (level == kLevels.end() || dot <= 5 || !(flops > 0 && bytes > 0 && *result.value > 0))
      continue;
    dots.push_back({result.name.substr(5, dot - 5),
                    static_cast<std::size_t>(level - kLevels.begin()), flops / bytes,
                    *result.value});
  }
  return dots;
}

std::vector<Curve> roof_curves(const Roofline& roofline) {
  double left = 1.0 / 16, first_ridge = roofline.ridge(roofline.roofs.front());
  for (const Dot& dot : roofline.dots) left = std::min(left, dot.intensity / 2);
  for (const Roof& roof : roofline.roofs) first_ridge = std::min(first_ridge, roofline.ridge(roof));
  const double right = std::max(2 * roofline.ridge(roofline.roofs.back()), 16 * left);
  std::vector<Curve> curves;
  for (const Roof& roof : roofline.roofs)
    curves.push_back(
        {.name = fmt::format("{} {}", kLevelNames[roof.level], show(roof.bandwidth, "B/s")),
         .x = {left, roofline.ridge(roof)},
         .y = {left * roof.bandwidth, roofline.peak},
         .colour = static_cast<int>(roof.level),
         .shape = -1});
  curves.push_back({.name = "FMA " + show(roofline.peak, "FLOP/s"),
                    .x = {first_ridge, right},
                    .y = {roofline.peak, roofline.peak},
                    .colour = kPeakColour,
                    .shape = -1});
  return curves;
}

// A curve for each point: its colour is that of the level, its shape that of the kernel.
std::vector<Curve> dot_curves(const std::vector<Dot>& dots) {
  std::vector<std::string> kernels;
  std::vector<Curve> curves;
  for (const Dot& dot : dots) {
    const auto known = std::ranges::find(kernels, dot.kernel);
    const auto kernel = static_cast<int>(known - kernels.begin());
    Curve curve{.name = fmt::format("{} in {}", dot.kernel, kLevelNames[dot.level]),
                .x = {dot.intensity},
                .y = {dot.rate},
                .joined = false,
                .colour = static_cast<int>(dot.level),
                .shape = kernel};
    curve.key = known == kernels.end() ? dot.kernel : "";
    if (known == kernels.end()) kernels.push_back(dot.kernel);
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::string note_of(const Roofline& roofline) {
  const Roof &near = roofline.roofs.front(), &far = roofline.roofs.back();
  std::string text = fmt::format(
      "One core computes at most {} and reads {} from {}. Below {:.3g} FLOP per byte {} decides, "
      "above it the arithmetic.",
      show(roofline.peak, "FLOP/s"), show(far.bandwidth, "B/s"), kLevelNames[far.level],
      roofline.ridge(far), kLevelNames[far.level]);
  if (roofline.roofs.size() > 1)
    text += fmt::format(" With data in {} ({}) the ridge is at {:.3g} FLOP per byte.",
                        kLevelNames[near.level], show(near.bandwidth, "B/s"), roofline.ridge(near));
  const auto best = std::ranges::max_element(
      roofline.dots, [](const Dot& a, const Dot& b) { return a.rate < b.rate; });
  if (best != roofline.dots.end())
    text += fmt::format(
        " The points are tabane's vector loops: colours tell where the data are, shapes which loop "
        "it is. The fastest, {} in {}, runs at {}, {} of the peak.",
        best->kernel, kLevelNames[best->level], show(best->rate, "FLOP/s"),
        show_percent(best->rate / roofline.peak));
  return text + " All roofs are measured on this machine.";
}

std::optional<View> roofline_of(const Record& record) {
  const Result* fma = record.find("peak.fma.core");
  if (fma == nullptr || !fma->value || !(*fma->value > 0)) return std::nullopt;
  const Roofline roofline{find_roofs(record), *fma->value, find_dots(record)};
  if (roofline.roofs.empty()) return std::nullopt;
  Curves curves{{"arithmetic intensity, FLOP per byte", "FLOP/B", true},
                {"arithmetic", "FLOP/s", true},
                roof_curves(roofline)};
  for (Curve& curve : dot_curves(roofline.dots)) curves.series.push_back(std::move(curve));
  const Roof& far = roofline.roofs.back();
  curves.marks = {{roofline.ridge(far),
                   fmt::format("{} ridge {:.3g}", kLevelNames[far.level], roofline.ridge(far))}};
  return View{.name = "roofline",
              .title = "Roofline of one core",
              .note = note_of(roofline),
              .content = std::move(curves)};
}

}  // namespace

void present(Record& record) {
  for (auto& view : {shares(record), roofline_of(record)}) {
    if (!view) continue;
    View* known = record.find_view(view->name);
    (known != nullptr ? *known : record.views.emplace_back()) = *view;
  }
  std::ranges::stable_sort(record.views, {}, place_on_page);
}

// The checklist. source: Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems,
// SC'15.

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

constexpr const char* kNothing = "The record holds no measured figure.";

// none: the evidence where there are none of what the rule is about.
Judgement judged(std::size_t number, bool kept, std::string evidence, const char* none = kNothing) {
  if (number == 0) return {kNotApplicable, none};
  return {kept ? kKept : kPartly, std::move(evidence)};
}

Judgement subset(const Record& record) {
  if (!record.complete) return {kPartly, "The survey was stopped before its end."};
  const auto unexplained =
      std::ranges::count_if(record.skipped, [](const Skipped& s) { return s.reason.empty(); });
  if (unexplained > 0)
    return {kPartly, fmt::format("{} of {} skipped probes give no reason.", unexplained,
                                 record.skipped.size())};
  return {kKept,
          fmt::format("{} probe{} skipped, each with its reason; the command line is shown{}.",
                      record.skipped.size(), record.skipped.size() == 1 ? "" : "s",
                      record.quick ? "; run with shortened times (quick)" : "")};
}

Judgement means(const Counts& c) {
  if (c.with_samples == 0) return {kNotApplicable, kNothing};
  return {kNotApplicable,
          fmt::format("No means are formed: {} figures are medians of samples.", c.with_samples)};
}

Judgement comparisons(const Record& record) {
  if (record.find_view("ladder") == nullptr)
    return {kNotApplicable, "Alternatives are not compared; figures are held against limits."};
  return {kPartly, "The variants in the ladder are shown without a test of their differences."};
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
  return judged(parallel, explained == parallel,
                fmt::format("{} of {} parallel figures record how their workers were started "
                            "together.",
                            explained, parallel),
                "Nothing was measured on several PUs at once.");
}

Judgement plots(const Record& record) {
  std::size_t curves = 0, banded = 0;
  for (const auto& table : record.views)
    if (const auto* content = std::get_if<Curves>(&table.content))
      for (const auto& curve : content->series) {
        ++curves;
        banded += !curve.low.empty() && !curve.high.empty();
      }
  return judged(curves, banded == curves,
                fmt::format("{} of {} curves carry a 95 % band; every measured point is marked, "
                            "lines only guide the eye; the numbers are tabled.",
                            banded, curves),
                "The record holds no curves.");
}

}  // namespace

std::vector<ChecklistRow> fill_checklist(const Record& record) {
  const Counts c = count(record);
  std::vector<ChecklistRow> rows;
  const auto add = [&](const char* text, Judgement j) {
    rows.push_back(
        {std::to_string(rows.size() + 1), text, std::move(j.status), std::move(j.evidence)});
  };
  add("A speedup names its base case and that case's absolute time.",
      judged(c.with_limit, true,
             fmt::format("{} figures are given as shares of a limit; the limit's absolute value "
                         "and origin are given with each.",
                         c.with_limit),
             "No figure is given as a share or a speedup."));
  add("If only a part of the tests or of the machine is used, the reason is given.",
      subset(record));
  add("Costs are averaged arithmetically, rates harmonically.", means(c));
  add("Ratios are not averaged.",
      judged(c.with_limit, true,
             fmt::format("{} shares, each of one figure and its limit; none are averaged.",
                         c.with_limit),
             "No ratios are shown."));
  add("What varies from run to run comes with a confidence interval.",
      judged(c.measured, c.with_interval == c.measured,
             fmt::format("{} of {} figures have a 95 % interval of the median.", c.with_interval,
                         c.measured)));
  add("Normality is not taken for granted.",
      judged(c.with_interval, true,
             "Intervals are taken from order statistics; no distribution is assumed.",
             "No intervals are given."));
  add("Alternatives are compared by sound statistics.", comparisons(record));
  add("The middle is not the whole story: spread and worst cases are looked at.",
      judged(c.with_samples, c.with_samples == c.measured,
             fmt::format("Raw samples of {} of {} figures are kept in order; {} far outliers in {} "
                         "figures are counted and none is dropped.",
                         c.with_samples, c.measured, c.far_outliers, c.with_outliers)));
  add("Everything that may change the figures is written down.", setup(record));
  add("Parallel times say how workers were synchronised and times summarised.",
      parallel_time(record));
  add("Figures are shown with the best that is possible.",
      judged(c.directed, c.with_limit >= c.directed,
             fmt::format("{} of {} figures are shown with an upper bound.", c.with_limit,
                         c.directed)));
  add("Plots show enough, and join points only where that means something.", plots(record));
  return rows;
}

}  // namespace tabane::lab
