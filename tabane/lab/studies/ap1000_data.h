// What the study ap1000 measures and what is read out of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/comm/collective/choice.h"
#include "tabane/core/statistics.h"
#include "tabane/lab/rank_rounds.h"
#include "tabane/lab/segmented_fit.h"
#include "tabane/lab/studies/ap1000.h"

namespace tabane::lab::ap1000 {

// One thing that was measured.
struct Point {
  std::string part;         // "pingpong", "barrier", "broadcast", "sum", "max_loc", "vector", …
  std::string way;          // "recv", "flags", …
  std::string group;        // "row", "column", "all"; empty where it is all
  int ranks = 2;            // of the grid
  std::uint64_t bytes = 0;  // of the message; of gather and scatter: of the whole array
  std::vector<double> seconds = {};

  bool measured() const { return !seconds.empty(); }
  double median() const { return core::median(seconds); }
};

// a / b of samples taken in turn; null if they were not always taken together.
std::optional<core::Ratio> ratio_in_turn(const Point& a, const Point& b);

struct Findings {
  int pus = 0;            // that the ranks share; 0: not known
  std::string transport;  // "shm", "mpi"
  std::vector<Point> points;

  // Null if absent or not measured.
  const Point* find(std::string_view part, std::string_view way, int ranks, std::uint64_t bytes = 0,
                    std::string_view group = "") const;
  // Of a part and a way, all sizes that were measured, ascending.
  std::vector<const Point*> over_bytes(std::string_view part, std::string_view way,
                                       int ranks) const;
  // Ways of a part in the order of the points; of numbers of ranks, ascending.
  std::vector<std::string> ways(std::string_view part) const;
  std::vector<int> ranks(std::string_view part) const;
};

// Through the medians; empty with fewer than two sizes.
std::vector<FitSegment> fit(const std::vector<const Point*>& points, std::size_t most_segments);

// t = per_doubling · log2 p + constant.
struct LogFit {
  double per_doubling = 0, constant = 0;
};
std::optional<LogFit> fit_log(const Findings& findings, std::string_view part,
                              std::string_view way);

std::string title_of_way(std::string_view way);  // "recv (copy)", "flags in shared memory"

// ---- measuring ----

// Ranks that work together, and what they measure in turn.
struct Job {
  int ranks = 2;
  std::string what;                 // for the progress
  std::vector<std::size_t> points;  // indices in Findings::points
  std::vector<RankWorkload> workloads;
  std::vector<double> factors;  // of an iteration's time
};

// Runs jobs: by forking, or within MPI's world.
struct RankRunner {
  // Empty samples on MPI's other ranks.
  std::function<RankSamples(int ranks, const std::vector<RankWorkload>&, const RoundsOptions&)> run;
  std::function<bool(bool)> agree;                  // what rank 0 says, on all ranks
  std::function<comm::Setting(int ranks)> setting;  // of groups of so many
  bool shows = true;                                // this process has the results
  std::string transport = "shm";
  bool shares_memory = true;
  int most_ranks = 2;
};
// Calls body with a runner for the transport of the options. throws: core::UsageError if there are
// not two ranks.
void with_runner(const core::Topology& topology, const Ap1000Options& options,
                 const std::function<void(const RankRunner&)>& body);

// Numbers of ranks to measure: powers of two and `most`.
std::vector<int> plan_ranks(int most);
// NetPIPE's sizes: powers of two up to `most` and three bytes less and more.
std::vector<std::uint64_t> ping_pong_sizes(std::uint64_t most);
// Adds the points and the jobs that measure them.
std::vector<Job> plan_jobs(const RankRunner& runner, Findings& findings);

struct PassOptions {
  double budget_seconds = 20;
  double most_seconds = 40;
  int passes = 3;
};
// budget_seconds: if the options have none.
PassOptions pass_options(const Ap1000Options& options, double budget_seconds, int passes);
// Runs all jobs in turn, again and again, until the budget is spent. In the first pass, which may
// take more, each job has an equal share of most_seconds. Returns false if it was stopped.
bool run_passes(const RankRunner& runner, const std::vector<Job>& jobs, const PassOptions& options,
                const SurveyHooks& hooks, std::vector<Point>& points);

// Name, time, machine and environment.
SurveyRecord begin_record(const core::Topology& topology, const Ap1000Options& options,
                          std::string_view verb);

// Of operations whose root goes round, so that no call can begin everywhere before the last one has
// ended somewhere: a root that waits for nobody would only be timed on its way in.
class Roots {
 public:
  explicit Roots(const comm::Comm& comm) : ranks_(comm.size()) {}
  int next() { return static_cast<int>(calls_++ % static_cast<std::uint64_t>(ranks_)); }

 private:
  int ranks_;
  std::uint64_t calls_ = 0;
};

// ---- calibration ----

// Points are of part name_of(kind) and way algorithm. Where nothing is surely faster than what the
// built-in rules say, that stays.
struct ChoicePoint {
  comm::Setting setting;
  comm::Kind kind;
  const Point *chosen = nullptr, *built_in = nullptr;
};
std::vector<ChoicePoint> choose(const std::vector<Point>& points,
                                const std::function<comm::Setting(int ranks)>& setting);
std::vector<comm::Rule> rules_of(const std::vector<ChoicePoint>& chosen);

// ---- what is shown ----

void add_tables(Study& study, const Findings& findings);
void add_record(SurveyRecord& record, const Findings& findings);

}  // namespace tabane::lab::ap1000
