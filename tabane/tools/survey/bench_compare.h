// Whether several surveys of one machine say the same, and whether what an independent program
// found agrees with them; and these programs, likwid-bench among them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/command.h"
#include "tabane/core/statistics.h"
#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"

namespace tabane::bench {

// The intervals of one figure in two surveys.
struct IntervalPair {
  std::string name, unit;
  std::size_t first = 0, second = 0;  // which surveys, from 0
  core::Interval a, b;

  bool overlap() const { return a.low <= b.high && b.low <= a.high; }
  // How far apart they are, of the middle between them; negative where they overlap.
  double gap() const;
};
// Of every figure that has an interval in both, for any two surveys; the farthest apart first.
std::vector<IntervalPair> interval_pairs(std::span<const lab::Record> surveys);

// Half the width of each interval over its value, of all surveys; values of 0 are left out.
std::vector<double> relative_half_widths(std::span<const lab::Record> surveys);

// A figure's shares of its limit in two surveys.
struct SharePair {
  std::string name;
  double a = 0, b = 0;
};
// Of every figure that has a limit in both, for any two surveys; the farthest apart first.
std::vector<SharePair> share_pairs(std::span<const lab::Record> surveys);

// How many of all are true; 1 if there are none.
template <class Range, class Predicate>
double share_of(const Range& range, Predicate is_true) {
  std::size_t count = 0, all = 0;
  for (const auto& each : range) ++all, count += is_true(each) ? 1 : 0;
  return all == 0 ? 1 : static_cast<double>(count) / static_cast<double>(all);
}

// What surveys say about one figure.
struct SurveyFigure {
  std::string unit;
  bool lower_is_better = false;
  double median = 0;      // of the surveys' values
  core::Interval united;  // from the lowest to the highest end of the intervals
  // The best that any of the surveys holds possible: the figure's limit, else the best of the
  // figures that `roofs` matches, else its own value.
  double roof = 0;

  double of_roof(double found) const { return lower_is_better ? roof / found : found / roof; }
  // 0 inside the united interval, else the distance from the median, relative to it.
  double off(double found) const;
};
// roofs: names of figures, in which one * stands for a word without dots; may be empty.
// Null if a survey lacks the figure.
std::optional<SurveyFigure> figure_in_surveys(std::span<const lab::Record> surveys,
                                              const std::string& name,
                                              const std::string& roofs = "");

struct Finding {
  std::string line;    // what the program calls it
  std::string result;  // what the survey calls it
  std::string roofs;   // see figure_in_surveys(); empty: the survey's own figure
  // Why the two are not quite the same thing: then they stand side by side and are not judged.
  std::string differs = {};
};

struct Program {
  std::string name;  // "stream, all cores"
  Command command;
  std::vector<Finding> findings;
};

// One run of each program for one core and, where that differs, for all cores; each with so many
// samples, and as many bytes a thread as the survey's figure is of.
std::vector<Program> independent_programs(const core::Topology& topology, const lab::Record& survey,
                                          int samples);

// load, store, copy and STREAM triad of likwid-bench in each cache of a core and in memory, for as
// many passes as take about 0.2 s at the speed that the survey found. Levels that the survey lacks
// are left out.
std::vector<Program> likwid_programs(const core::Topology& topology, const lab::Record& survey);

// In B/s, FLOP/s, pages/s or s, by "NAME OF THE PROGRAM: LINE".
using Samples = std::map<std::string, std::vector<double>>;

// Runs the program once and adds what it finds. throws: core::Error if it cannot be started or
// ends before it has told everything.
void run_program(const Program& program, Samples& samples);

}  // namespace tabane::bench
