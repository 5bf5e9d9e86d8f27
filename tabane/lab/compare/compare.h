// Whether two records differ in a figure: the ratio of the medians, its interval, and what it says.
// tabane/tools/compare/README.md says the same in words.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

enum class Finding {
  none,     // no difference seen
  better,   // than the baseline
  worse,    // than the baseline
  other,    // it differs, and neither direction is better
  few,      // the intervals say that it differs, but so few samples may lie so by chance
  unknown,  // without an interval of both nothing can be said
};

struct FigureRatio {
  std::string name, unit;
  Better better = Better::neither;
  double baseline = 0, value = 0;  // medians, in `unit`, > 0
  double ratio = 1;                // value / baseline
  // 95 % of the ratio, with what two runs on one machine differ by; null without either's interval.
  std::optional<core::Interval> interval = {};
  double chance_of_samples = 1;  // core::rank_sum_chance() of both records' samples
  Finding finding = Finding::unknown;
  bool regression = false;  // worse by more than the threshold with its whole interval
};

// The ratio a / b of positive numbers that were measured independently, from their intervals.
// source: MOVER on logarithms; Zou and Donner, Construction of confidence limits about effect
// measures, Statistics in Medicine 27, 2008.
core::Interval independent_ratio_interval(double a, core::Interval of_a, double b,
                                          core::Interval of_b);

// Why figures or charts with these details do not belong together: what was held fixed differs.
// Empty if they do.
std::string held_apart(const Json& a, const Json& b);

// The ratios of all results that both records have in the same unit and version, in the order of
// the baseline; nothing is judged yet. What cannot be compared is added to `left_out` with the
// reason.
std::vector<FigureRatio> ratios_of(const Record& baseline, const Record& other,
                                   std::vector<Skipped>& left_out);

// Standard deviation of the logarithms of the ratios around their median (rates upside down), from
// the median absolute deviation: what two runs on one machine differ by, if most figures became
// better or worse by the same factor, or not at all.
// Null for fewer than ten ratios with an interval.
// source: the empirical null of Efron, Large-scale simultaneous hypothesis testing, JASA 99, 2004.
std::optional<double> scatter_of(const std::vector<FigureRatio>& ratios);

// Widens the intervals by the scatter (a standard deviation of logarithms), finds the differences
// and the regressions among all figures together. A difference must be too large for chance both by
// the interval, which takes logarithms of medians for normal, and by the ranks of the samples,
// whatever their distribution: six samples of a thing that has two states may all be of one state.
// threshold: smaller differences do not count; 0.05 is 5 %.
// source: at most 1 % of the differences named are chance by Benjamini and Hochberg, Controlling
// the false discovery rate, J. Royal Statistical Society B 57, 1995.
void judge(std::vector<FigureRatio>& ratios, double scatter, double threshold);

// Records side by side: the ratios of their figures to those of one of them, and the curves of all
// in one chart.

struct Side {
  std::string label;  // unique
  Record record;
};

// Names for records: their machines, or the names of their files where machines are equal.
// stems: file names without folder and extension, one per record.
std::vector<std::string> labels_of(std::span<const Record> records,
                                   std::span<const std::string> stems);

struct CompareOptions {
  std::size_t baseline = 0;  // index
  double threshold = 0.05;   // smaller differences do not count
  std::string command_line;
};

// What one record shows against the baseline.
struct BesideBaseline {
  std::size_t side = 0;              // index
  std::vector<FigureRatio> figures;  // differences first, then those without interval, then others;
                                     // in each part those farthest from 1 first
  double scatter = 0;                // as used by judge()

  std::size_t count(Finding finding) const;
};

struct Comparisons {
  std::size_t baseline = 0;
  std::vector<BesideBaseline> others;
  Record record;  // of kind comparison: tables, charts, and each ratio as a result

  bool regression() const;
};

// throws: core::UsageError if records of different machines or versions have nothing in common, or
// if a record is itself a comparison.
Comparisons compare(const std::vector<Side>& sides, const CompareOptions& options);

// Figure, baseline, other, ratio with interval, finding. all: also those where no difference was
// seen.
Rows figure_table(const std::vector<Side>& sides, std::size_t baseline, const BesideBaseline& other,
                  bool all);

// Adds for every chart of the same name in two or more records one with all curves, and one of
// their ratios to those of the baseline where both have the same x.
void add_merged_charts(Record& record, const std::vector<Side>& sides, std::size_t baseline);

}  // namespace tabane::lab
