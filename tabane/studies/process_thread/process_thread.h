// The study process-thread: threads only, processes only and teams of both at allocation-heavy
// work, what forks cost, how good the chosen processes × threads are, and how fast encrypted
// transactions are mined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/study/study.h"
#include "tabane/team/team.h"

namespace tabane::lab {

// What is empty or 0 is chosen.
struct ProcessThreadOptions {
  // Of the generated text, without text_bytes.
  static constexpr std::uint64_t kTextBytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kQuickTextBytes = std::uint64_t{6} << 20;
  // Of the report's transactions, without scale.
  static constexpr double kScale = 0.05, kQuickScale = 0.015;

  bool quick = false;
  std::vector<std::string> workloads;   // names; empty: all
  std::vector<std::string> allocators;  // names; empty: all that are installed
  unsigned runs = 0;                    // of each point; 0: as many as the time allows
  std::uint64_t text_bytes = 0;         // of the generated text
  std::string text_directory;           // count the words of these files instead
  double scale = 0;                     // of the report's transactions, for mining
  std::uint64_t most_fork_bytes = 0;    // that a process that forks holds
};

// Answers a request of the study. Never throws of its own: an error is part of the answer.
using ProcessThreadMeter = std::function<Json(const Json& request)>;

// Makes a meter that measures in children of this process, which should be small and have no other
// threads, and with its allocator.
ProcessThreadMeter process_thread_meter();

// How the study reaches meters.
struct ProcessThreadMeters {
  // Starts a process with a meter under this allocator; it ends with the last copy of the meter.
  // throws: core::UsageError if the allocator is not known or not installed; core::SystemError. The
  // meter throws core::LostError if its process is gone.
  std::function<ProcessThreadMeter(const std::string& allocator)> start;
  std::vector<std::string> allocators;  // that may be there; the first is the baseline
};

// throws: core::UsageError for options that cannot be, core::VerificationError if a result is
// wrong, core::SystemError, core::LostError.
Record run_process_thread(const core::Topology& topology, const ProcessThreadOptions& options,
                          const ProcessThreadMeters& meters, const Hooks& hooks = {});

namespace process_thread {

using team::Shape;

// ---- workloads ----

struct Workload {
  const char* name;
  const char* title;
  std::optional<double> large_share = {};  // of malloc
  std::optional<double> new_share = {};    // of insertion
  const char* program = nullptr;           // that mines; null: another workload
  bool between = false;  // only for the curve over shares: few shapes, under the first allocator
};
// In the order in which they are measured.
const std::vector<Workload>& workloads();
// throws: core::UsageError with the legal names.
const Workload& find_workload(const std::string& name);

// What a meter has prepared.
struct PreparedWork {
  std::uint64_t requests = 0;  // of all tasks
  // Does the work with a team and checks its result. throws: core::VerificationError.
  std::function<Json(team::Team&)> measure;
  Json expected = {};  // what a request for the same work may bring, so that it is not found again
};
Json report_json(const team::TeamReport& report);

// ---- factors ----

// Of a point of a workload with one shape.
Factors shape_factors(const std::string& workload, const std::string& allocator, Shape shape);
Shape shape_of(const Factors& factors);
// Of teams that choose their shape, sample and all.
Factors automatic_factors(const std::string& workload, const std::string& allocator);
// The shapes to measure: on small machines all of at most 2 × PUs workers; on others threads,
// processes and teams as in the report at about ten numbers of workers, and powers of two.
std::vector<Shape> plan_shapes(int pus);
// The report's team of this many workers: the fewest processes, a power of two, of at most 9
// threads; up to 9 workers these are the threads of one process. Null if there is none.
std::optional<Shape> report_team(int workers);
// That team if it has several processes; else as many processes as workers.
Shape team_of_processes(int workers);

// Returns the answer of a meter. throws: the error that it answers with.
Json ask(const ProcessThreadMeter& meter, const Json& request);

// ---- forks ----

// way: "one", "serial", "tree", "threads" (kForkChildren children), or "one thread", which is no
// fork. memory: "as allocated", "prepared" for forks, or one of the sizes of pages below.
Factors fork_factors(const std::string& way, std::uint64_t bytes, const Level& piece,
                     const std::string& memory);
// Of the memory that a forking process holds: bytes, or "at once".
inline const std::vector<Level> kPieces = {4096, 2 << 20, "at once"};
inline constexpr int kForkChildren = 8;
inline constexpr const char* kSmallPages = "small pages";  // huge ones are forbidden
inline constexpr const char* kHugePages = "huge pages";    // are asked for

struct ForkPlan {
  Effort effort;  // of a kind of memory, all passes
  int passes = 1;
  bool quick = false;
  std::uint64_t most_bytes = 0;  // 0: up to 1 GiB
};
// The least memory with which a fork was refused.
struct ForkRefusal {
  std::uint64_t bytes = 0;  // 0: none was
  std::string reason = {};
};

// throws: core::UsageError naming what fits, if this much is not free.
void require_fork_memory(std::uint64_t most_bytes);
// Adds a block for each size. start: a meter. refusal: lives as long as the campaign.
void add_fork_blocks(Campaign& campaign, const ForkPlan& plan,
                     const std::function<ProcessThreadMeter()>& start, ForkRefusal& refusal);
// A refusal is the record's result forks.refused_above.
void add_fork_views(const StudyViews& views);

// ---- mining ----
//
// Pairs of items are counted on homomorphically encrypted transactions, by a program that allocates
// every result ("values") and by one that works in place ("in-place").

// How workers are started: threads of one process, or teams by one of two orders of forks.
struct WorkerStart {
  std::string way;  // "threads", "serial", "tree"
  Shape shape;
  bool operator==(const WorkerStart&) const = default;
};

// The starts to measure: threads, and teams as in the report, up to one worker per PU; on small
// machines processes alone, up to 8, of which a tree needs fewer forks one after the other. few:
// one worker, and as many as PUs, as threads and as a tree.
std::vector<WorkerStart> plan_starts(int pus, bool few);
Factors mining_factors(const std::string& program, const std::string& allocator,
                       const WorkerStart& start);

// Adds what is mined, and how it is encrypted, by the names of the report's parameters.
void add_mining_parameters(Record& record, double scale);
// Transactions of the report's problem at this scale.
std::size_t mining_transactions(double scale);
// throws: core::UsageError if the databases of this many meters do not fit into memory.
void require_mining_memory(double scale, std::size_t meters);
// What was mined.
std::string mining_sentence(std::size_t transactions);
// Makes keys and encrypts with all PUs. An answer also has the start of an empty team.
// throws: core::UsageError if memory does not suffice.
PreparedWork prepare_mining(const std::string& program, std::size_t transactions);

// ---- what is shown ----

// Adds tables and charts. choices: results whose factors are those of the chosen points. With their
// samples, points of automatic_factors() hold what choosing took (sample_s) and whether its
// prediction held (held: 1, 0; not known: nothing was predicted); those of mining_factors() the
// start of an empty team of the same kind (start_s); all of work its requests.
void add_views(Record& record, const Points& points, const std::vector<Result>& choices, int pus);
// Those of mining alone.
void add_mining_views(Record& record, const Points& points, int pus);

// What both share.

// A way to have a number of workers: a row's point.
struct WorkerLine {
  std::string name, head;  // of a curve, of a column
  Pick pick;
};
// Times and speed-ups over one worker, and the shape of the last line's teams.
std::vector<Column> speedup_columns(const Pick& one, const std::vector<WorkerLine>& lines);
Curves speedup_curves(const Points& points, const Pick& one, const std::vector<WorkerLine>& lines,
                      const std::vector<Factors>& rows);
// Adds the result that the report publishes. team: what threads are compared with.
void add_gain(const StudyViews& views, const std::string& workload, const std::string& allocator,
              const char* team, const Entry& gain);
// The median time of a point of work over its requests.
double seconds_per_request(const Point& point);
// "2 x 4": processes and threads of a point of work.
Entry shape_label(const Point& point);
// "At 2 workers: threads 1.25; processes 1.98": where the measured curves end.
std::string ends_of(const Curves& curves);

}  // namespace process_thread
}  // namespace tabane::lab
