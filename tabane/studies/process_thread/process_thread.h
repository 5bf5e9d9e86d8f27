// The study process-thread: threads only, processes only and teams of both at allocation-heavy
// work, what forks cost, how good the chosen processes × threads are, and how fast encrypted
// transactions are mined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/points.h"
#include "tabane/lab/record/record.h"
#include "tabane/team/choose.h"
#include "tabane/team/team.h"

namespace tabane::lab {

// What is empty or 0 is chosen.
struct ProcessThreadOptions {
  // Of the generated text, without text_bytes.
  static constexpr std::uint64_t kTextBytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kQuickTextBytes = std::uint64_t{6} << 20;
  // Of the report's transactions, without scale.
  static constexpr double kScale = 0.05, kQuickScale = 0.02;

  bool quick = false;
  std::vector<std::string> workloads;   // names; empty: all
  std::vector<std::string> allocators;  // names; empty: all that are installed
  unsigned runs = 0;                    // of each point; 0: as many as the time allows
  std::uint64_t text_bytes = 0;         // of the generated text
  std::string text_directory;           // count the words of these files instead
  double scale = 0;                     // of the report's transactions, for mining
};

// Answers the requests of the study, one at a time. Lives in a process of its own, one per
// allocator, that is small and has no other threads; every measurement is made in a child of it.
class ProcessThreadMeter {
 public:
  ProcessThreadMeter();
  ~ProcessThreadMeter();
  // Never throws: an error is part of the answer.
  Json answer(const Json& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How the study reaches meters.
struct ProcessThreadMeters {
  using Ask = std::function<Json(const Json& request)>;
  // Starts a meter under this allocator; it ends with the last copy of Ask. throws:
  // core::UsageError if the allocator is not known or not installed; core::SystemError. Ask throws
  // core::LostError if the meter is gone.
  std::function<Ask(const std::string& allocator)> start;
  std::vector<std::string> allocators;  // that may be there; the first is the baseline
};

// throws: core::UsageError for options that cannot be, core::VerificationError if a result is
// wrong, core::SystemError, core::LostError.
Record run_process_thread(const core::Topology& topology, const ProcessThreadOptions& options,
                          const ProcessThreadMeters& meters, const Hooks& hooks = {});

namespace process_thread {

using team::Shape;

struct Workload {
  const char* name;
  const char* title;
  double large_share = 0;  // of malloc
  double new_share = 0;    // of insertion
  bool mining = false;     // pairs of encrypted transactions: see below
};
// In the order in which they are measured.
const std::vector<Workload>& workloads();
// throws: core::UsageError with the legal names.
const Workload& find_workload(const std::string& name);

// The factors of a point of a workload with one shape, and those of a point of the forks. memory:
// "as allocated", or "prepared" for forks.
Factors shape_factors(const std::string& workload, const std::string& allocator, Shape shape);
// Of teams that choose their shape, sample and all.
Factors automatic_factors(const std::string& workload, const std::string& allocator);
Factors fork_factors(const std::string& way, std::uint64_t bytes, const Level& piece,
                     const std::string& memory);
// Of the memory that a forking process holds: bytes, or "at once".
inline const std::vector<Level> kPieces = {4096, 2 << 20, "at once"};
inline constexpr int kForkChildren = 8;

// The shapes to measure: on small machines all of at most 2 × PUs workers; on others threads,
// processes and teams as in the report at about ten numbers of workers, and powers of two.
std::vector<Shape> plan_shapes(int pus);
// The report's team of this many workers: the fewest processes, a power of two, of at most 9
// threads. Null if there is none.
std::optional<Shape> report_team(int workers);

// Returns the answer of a meter. throws: the error that it answers with; as Ask.
Json ask(const ProcessThreadMeters::Ask& meter, const Json& request);

// Adds tables and charts. choices: results whose factors are those of the chosen points. The points
// of automatic_factors() hold with each sample what choosing took (sample_s) and whether its
// prediction held (held: 1, 0; not known: nothing was predicted).
void add_views(Record& record, const Points& points, const std::vector<Result>& choices, int pus);

// ---- mining ----
//
// Pairs of items are counted on homomorphically encrypted transactions, by a program that allocates
// every result and by one that works in place.

// An encrypted database, and what is to be counted in it.
class MiningWork {
 public:
  // workload: mining-values or mining-in-place. Makes keys and encrypts with all PUs.
  // throws: core::UsageError if memory does not suffice.
  MiningWork(const std::string& workload, std::size_t transactions);

  // Returns the seconds of the counting. throws: core::VerificationError if a count is not that of
  // the plain loop; as Team::map_reduce().
  double count(team::Team& team) const;

  std::uint64_t products() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// How workers are started: threads of one process, or teams by one of two orders of forks.
struct WorkerStart {
  std::string way;  // "threads", "serial", "tree"
  Shape shape;
  bool operator==(const WorkerStart&) const = default;
};

// The starts to measure: threads, and teams as in the report, up to one worker per PU; on small
// machines processes alone, up to 8, of which a tree needs fewer forks one after the other. few:
// one worker, and as many as PUs.
std::vector<WorkerStart> plan_starts(int pus, bool few);

// The factors of a point of mining. program: "values", "in-place".
Factors mining_factors(const std::string& program, const std::string& allocator,
                       const WorkerStart& start);
// "values" of "mining-values".
std::string program_of(const std::string& workload);

// Transactions of the report's problem at this scale.
std::size_t mining_transactions(double scale);
// throws: core::UsageError if the databases of this many meters do not fit into memory.
void require_mining_memory(double scale, std::size_t meters);

// Prepares a meter and returns what it can measure. throws: as ask().
std::vector<Contender> mining_contenders(const ProcessThreadMeters::Ask& meter,
                                         const std::string& workload, const std::string& allocator,
                                         std::size_t transactions,
                                         const std::vector<WorkerStart>& starts);

// What was mined.
std::string mining_sentence(std::size_t transactions);

// Adds tables and charts of the points that have mining_factors(). With their samples: "start_s",
// of an empty team of the same kind, and "requests", the products of a counting.
void add_mining_views(Record& record, const Points& points, int pus);

}  // namespace process_thread
}  // namespace tabane::lab
