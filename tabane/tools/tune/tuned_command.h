// The command of a tuning, run with one candidate's setting and judged: by its times, its memory,
// or a number that it prints.
#pragma once

#include <regex.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/tools/tune/tune_plan.h"
#include "tabane/tools/tune/tuning.h"

namespace tabane::program {

// A number that a command prints, found by one of the system's extended regular expressions (POSIX,
// as of grep -E): those of the standard library recur for every character, so that a long line
// overflows the stack.
class Metric {
 public:
  // Of a longer line only so many bytes are searched, the last ones: the time grows with their
  // square.
  static constexpr std::size_t kLongestLine = 4096;

  // throws: core::UsageError for what is no such expression or has no group.
  explicit Metric(const std::string& expression);

  // The number in the first group of the last match in any line; null if there is none.
  std::optional<double> last_in(std::string_view output) const;

 private:
  std::unique_ptr<regex_t, void (*)(regex_t*)> expression_;
};

enum class Goal { time, cpu_time, memory, cost, metric };
struct GoalWords {
  const char *name, *what, *unit;  // of --goal; "wall time"; "s"
};
inline constexpr GoalWords kGoals[] = {{"time", "wall time", "s"},
                                       {"cpu", "processor time", "s"},
                                       {"memory", "peak memory", "B"},
                                       {"cost", "PUs x time", "s"},
                                       {nullptr, "metric", "1"}};

struct Judging {
  Goal goal = Goal::time;
  std::string metric;  // as of Metric, for Goal::metric
  bool higher_is_better = false;
  bool ignore_output = false;
  std::string check, prepare;             // lines for the shell; empty: none
  std::string input;                      // file; empty: none
  std::optional<double> timeout_seconds;  // null: 10 times the first run
  std::optional<int> repeat;              // runs that are one sample; null: as they are short
  int warmups = 2;                        // runs as started before anything counts, at least 2
};

class TunedCommand {
 public:
  // throws: core::UsageError for a metric that is none.
  TunedCommand(const TunePlan& plan, Judging judging, std::function<bool()> stop_requested);

  // Runs the command as started, before anything is measured: whether it works, how long it takes,
  // what it prints and whether that is always the same.
  // throws: core::Error with what it printed if it fails, or if it takes longer than all of the
  // budget; core::UsageError if the budget holds no round, or the metric is not in what it prints;
  // core::SystemError if it is not found; lab::Stopped.
  void try_out(const lab::tune::Budget& budget);
  // In a proof the very line that is printed for a setting is started. throws: lab::Stopped,
  // core::SystemError.
  lab::tune::RunResult run(const lab::tune::Proposal& proposal);
  // Whether runs are so short that the start of `tabane run` matters, and a line without it does
  // the same: then that is the line to use.
  bool is_better_bare(const CommandSetting& setting) const;

  double timeout_seconds() const { return timeout_seconds_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Measured {
    double value = 0;
    bool timed_out = false;
    bool stopped = false;  // all of its runs together, at their limit
    std::string refused;
    lab::ChildRun last;
  };
  // run_limit: seconds of one run; limit: of all of them.
  Measured measure(std::size_t candidate, double run_limit, double limit, bool as_printed);
  int repeat_for(const lab::tune::Budget& budget) const;
  bool prints_the_same(const lab::tune::Proposal& proposal, const Measured& measured) const;
  std::vector<lab::ChildCommand> commands(const CommandSetting& setting, bool as_printed) const;
  void know_first(const lab::ChildRun& run, const lab::tune::Budget& budget);
  void run_line(const std::string& line, const char* what);
  std::string no_memory_for(std::size_t candidate) const;

  const TunePlan& plan_;
  Judging judging_;
  std::function<bool()> stop_requested_;
  std::optional<Metric> metric_;
  double first_seconds_ = 0, timeout_seconds_ = 0;  // of a run
  int repeat_ = 1;
  std::optional<double> first_peak_bytes_;
  std::string output_hash_;  // empty: not compared
  std::vector<std::string> warnings_;
};

}  // namespace tabane::program
