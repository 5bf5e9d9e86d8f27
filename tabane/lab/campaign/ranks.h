// Campaigns on ranks: blocks whose contenders are operations that several ranks do together, forked
// here or those of MPI.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/launch.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/campaign/rank_rounds.h"

namespace tabane::lab {

inline constexpr int kMostRanksForked = 4096;  // as comm::launch()

struct RankOptions {
  comm::TransportKind transport = comm::TransportKind::automatic;
  int most_ranks = 0;  // 0: four times the PUs; over MPI as many as there are
};

struct RankContender {
  Factors factors;
  RankWorkload workload;
  double factor = 1;  // of an iteration's time
};

// Runs operations on ranks.
struct RankRunner {
  // Empty samples on MPI's other ranks.
  std::function<RankSamples(int ranks, const std::vector<RankWorkload>&, const RankRoundsOptions&)>
      run;
  std::function<bool(bool)> agree;  // what rank 0 says, on all ranks; none if they are forked
  std::function<comm::Setting(int ranks)> setting;  // of groups of so many
  bool shows = true;                                // this process has the results
  std::string transport = "shm";
  bool shares_memory = true;
  int most_ranks = 2;
  int pus = 0;  // that the ranks share; 0: not known
};

// Calls body with a runner for the transport of the options; under MPI all its processes do.
// throws: core::UsageError if there are not two ranks, or fewer than wanted.
void with_ranks(const core::Topology& topology, const RankOptions& options,
                const std::function<void(const RankRunner&)>& body);

// Numbers of ranks to measure: powers of two and `most`.
std::vector<int> plan_ranks(int most);
// One rank, too; most: 0: the PUs.
std::vector<int> plan_ranks_from_one(int most, const core::Topology& topology);

// Contenders that so many ranks measure in turn.
Block rank_block(const RankRunner& runner, int ranks, std::string what,
                 std::vector<RankContender> contenders);

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

}  // namespace tabane::lab
