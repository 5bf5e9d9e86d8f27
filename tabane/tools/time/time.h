// Commands of the user, with the parameters that they are run with, measured in turn, until what
// they differ by is known.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/statistics.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/record/points.h"
#include "tabane/program/output.h"

namespace tabane::lab {

// {NAME} in a command line is replaced by each of the values in turn.
struct Parameter {
  std::string name;
  std::vector<std::string> values;  // at least one
};

// From the first number up to the last in steps, without rounding: "0.1" to "0.3" by "0.1" is 0.1,
// 0.2, 0.3. throws: core::UsageError naming what is not a number, empty or too much.
Parameter number_parameter(std::string name, std::string_view first, std::string_view last,
                           std::string_view step = "1");

// "a,b,c"; "\," is a comma in a value. throws: core::UsageError for a name that cannot be in
// braces.
Parameter list_parameter(std::string name, std::string_view values);

using Values = std::vector<std::pair<std::string, std::string>>;

// All combinations of values, the last parameter's change fastest; without parameters an empty one.
// throws: core::UsageError for more than 10 000.
std::vector<Values> combinations_of(const std::vector<Parameter>& parameters);

// A number if that is how it is written, else a word: "8" and "0.5", but not "08".
Level level_of(const std::string& value);

// Names of what is recorded of each run in addition to its time.
namespace seen {
inline constexpr const char* kUser = "user_s";
inline constexpr const char* kSystem = "system_s";
inline constexpr const char* kPeakBytes = "peak_bytes";
inline constexpr const char* kVoluntarySwitches = "voluntary_switches";
inline constexpr const char* kInvoluntarySwitches = "involuntary_switches";
inline constexpr const char* kMinorFaults = "minor_faults";
inline constexpr const char* kMajorFaults = "major_faults";
inline constexpr const char* kExitCode = "exit_code";  // 128 + signal where one ended it
inline constexpr const char* kOrder = "order";         // among all runs, from 0
}  // namespace seen

inline constexpr const char* kCommandFactor = "command";

struct TimeContender {
  std::string name;  // unique
  Factors factors;   // unique; with a word for kCommandFactor
  // One run, ended after so many seconds. for_peak: in the warm-up, for its peak memory, too,
  // perhaps more slowly.
  std::function<ChildRun(double timeout_seconds, bool for_peak)> run;
  // Before and after each run, outside its time.
  std::function<void()> prepare = [] {}, conclude = [] {};
};

struct TimeEffort {
  core::Effort rounds = {.fewest = 10, .most = 100'000, .budget_seconds = 60, .warmups = 1};
  double least_seconds = 3;
  // Enough is known when half the interval of each ratio to the first is at most this share of it,
  // or 1 is outside; of a single contender, when half the interval of its median is.
  double precision = 0.01;
  double confidence = 0.95;  // that all intervals hold together
  int repeat = 1;            // runs one after the other that make one sample
  // Of a run; 0: ten times the contender's first, and at least 10 s.
  double timeout_seconds = 0;
  bool ignore_failure = false;
};

enum class TimeEnd { known, most_rounds, budget, stopped };

struct Timings {
  Points points;                        // one per contender, in their order; samples per run
  std::vector<core::Ratio> to_first;    // that of the first is 1; empty without a round
  std::vector<core::Interval> medians;  // running intervals of the medians
  std::vector<int> failures;            // runs that did not end with 0
  std::vector<bool> left_processes;
  std::vector<std::optional<double>> warm_peak_bytes;  // the largest of the warm-up
  std::vector<std::size_t> order;  // in which results are shown; at first theirs
  TimeEnd end = TimeEnd::stopped;
  double precision = 0;  // that was reached, as in TimeEffort; infinite without an interval
  double seconds = 0;    // that all took

  std::size_t rounds() const { return points.size() == 0 ? 0 : points[0].samples.size(); }
};

// A command failed, or was not finished in time; with its last messages.
using CommandFailed = program::WithLines<core::Error>;

// Measures in turn, one run of each per round, in an order drawn anew. The user's stop ends it with
// the whole rounds so far. throws: CommandFailed, unless ignore_failure; as the contenders.
Timings time_in_turn(const std::vector<TimeContender>& contenders, const TimeEffort& effort,
                     core::Clock& clock, const Hooks& hooks);

// Shows the fastest first; ratios are still to the first contender.
void sort_by_time(Timings& timings);

// What was seen of each run as well, by the name that the contender gave it.
const std::vector<double>& seen_with(const Point& point, const char* what);

// The interval, if both its ends are finite.
std::optional<core::Interval> with_ends(const core::Interval& interval);

// The confidence of each of so many intervals that together hold with `confidence`.
double confidence_of_each(double confidence, std::size_t intervals);

}  // namespace tabane::lab
