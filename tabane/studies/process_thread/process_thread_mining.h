// The third part of the study process-thread: pairs of items counted on homomorphically encrypted
// transactions, by a program that allocates every result and by one that works in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/points.h"
#include "tabane/lab/record/record.h"
#include "tabane/studies/process_thread/process_thread.h"
#include "tabane/team/team.h"

namespace tabane::lab::process_thread {

// ---- in the meter ----

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
  std::string parameters() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// ---- in the study ----

// How workers are started: threads of one process, or teams by one of two orders of forks.
struct Start {
  std::string way;  // "threads", "serial", "tree"
  Shape shape;
  bool operator==(const Start&) const = default;
};

// The starts to measure: threads, and teams as in the report, up to one worker per PU; on small
// machines processes alone, up to 8, of which a tree needs fewer forks one after the other. few:
// one worker, and as many as PUs.
std::vector<Start> plan_starts(int pus, bool few);

// The factors of a point of mining. program: "values", "in-place".
Factors mining_factors(const std::string& program, const std::string& allocator,
                       const Start& start);
// "values" of "mining-values".
std::string program_of(const std::string& workload);

// Transactions of the report's problem at this scale.
std::size_t mining_transactions(double scale);
// throws: core::UsageError if the databases of so many meters do not fit into memory.
void require_mining_memory(double scale, std::size_t meters);

// Prepares a meter and returns what it can measure. throws: as ask().
std::vector<Contender> mining_contenders(const ProcessThreadMeters::Ask& meter,
                                         const std::string& workload, const std::string& allocator,
                                         std::size_t transactions,
                                         const std::vector<Start>& starts);

// What was mined.
std::string mining_sentence(std::size_t transactions);

// Adds tables and charts of the points that have mining_factors(). Beside their samples: "start_s",
// of an empty team of the same kind, and "requests", the products of a counting.
void add_mining_views(Record& record, const Points& points, int pus);

}  // namespace tabane::lab::process_thread
