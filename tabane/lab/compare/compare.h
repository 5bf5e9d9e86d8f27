// Records side by side: the ratios of their figures to those of one of them, and the curves of all
// in one chart.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tabane/lab/compare/judge.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

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

// What one record shows beside the baseline.
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
