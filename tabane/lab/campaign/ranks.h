// Campaigns on ranks, which several processes measure together, forked here or started by MPI.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/grid.h"
#include "tabane/comm/launch.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"

namespace tabane::lab {

// Holds back the signals that ask a whole group of processes to end: SIGINT (Ctrl-C), SIGTERM (as
// of timeout) and SIGHUP (the terminal is closed), for the calling thread and for the processes
// that it forks. These would die of Ctrl-C, and what they have measured would be lost. Afterwards
// the signals reach the caller alone, if the others have ended.
class BlockInterrupts {
 public:
  BlockInterrupts() {
    sigset_t asking;
    sigemptyset(&asking);
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&asking, signal_number);
    pthread_sigmask(SIG_BLOCK, &asking, &before_);
  }
  ~BlockInterrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockInterrupts(const BlockInterrupts&) = delete;
  BlockInterrupts& operator=(const BlockInterrupts&) = delete;

 private:
  sigset_t before_;
};

// Times what several ranks do together. Contenders are measured in turn, as by
// core::measure_interleaved(): in every round each gives one sample, in an order drawn anew.

// Does one rank's part of an operation several times; all ranks do so at the same time.
using RankWork = std::function<void(std::uint64_t iterations)>;
// Makes a rank's part. All ranks call it, in the same order. Empty, on all ranks: this grid
// has no such operation.
using RankWorkload = std::function<RankWork(comm::Grid& grid)>;

inline constexpr double kEpochSeconds = 300e-6;  // a sample takes at least about this long

// Samples of each workload, seconds an iteration by the clock of rank 0, one a round: as many of
// each workload as of any other, or none.
using RankSamples = std::vector<std::vector<double>>;

// All ranks of the grid call it with the same workloads; the samples are on rank 0, none elsewhere.
// After effort.most_seconds no other operation begins either, so that some may have no samples; one
// that has begun is not cut short. throws: as the work.
RankSamples measure_rounds(comm::Grid& grid, std::span<const RankWorkload> workloads,
                           const Effort& effort, double epoch_seconds = kEpochSeconds);

inline constexpr int kMostRanksForked = 4096;  // as comm::launch()

struct RankOptions {
  comm::TransportKind transport = comm::TransportKind::automatic;
  int most_ranks = 0;        // 0: four times the PUs; over MPI as many as there are
  std::string machine = {};  // to simulate, with its shape, as comm::LaunchOptions; empty: none
};

struct RankContender {
  Factors factors;
  RankWorkload workload;
  double factor = 1;  // of an iteration's time
};

// Runs operations on ranks.
struct RankRunner {
  // Empty samples on MPI's other ranks.
  std::function<RankSamples(int ranks, const std::vector<RankWorkload>&, const Effort&)> run;
  std::function<bool(bool)> agree;  // rank 0's answer on all ranks; empty if they are forked
  std::function<comm::Setting(int ranks)> setting;  // of groups of so many
  bool shows = true;                                // this process has the results
  std::string transport = "shm";
  bool shares_memory = true;
  bool is_simulated = false;
  int most_ranks = 2;
  int pus = 0;  // that the ranks share; 0: not known
};

// Calls body with a runner for the transport of the options; under MPI all its processes do. hooks:
// end a simulated run that is under way.
// throws: core::UsageError if there are not two ranks, or fewer than wanted.
void with_ranks(const core::Topology& topology, const RankOptions& options,
                const std::function<void(const RankRunner&)>& body, const Hooks& hooks = {});

// Numbers of ranks to measure: powers of two and `most`.
std::vector<int> plan_ranks(int most);
// One rank, too; most: 0: the PUs.
std::vector<int> plan_ranks_from_one(int most, const core::Topology& topology);

// The machine with so many ranks: in its own shape, if that has as many, or else as square as can
// be.
std::string machine_with(const std::string& machine, int ranks);
// Numbers of ranks of a machine to simulate: powers of four, from 4 on, and `most`.
std::vector<int> plan_simulated_ranks(int most);
// Says that the record is of a simulated machine, and takes out what is of this one.
void tell_simulated(Record& record, const std::string& machine);

// A block of contenders that this number of ranks measures in turn.
Block rank_block(const RankRunner& runner, int ranks, std::string what,
                 std::vector<RankContender> contenders);

// Roots that change from call to call, so that no call can begin everywhere before the last one has
// ended somewhere: of a root that waits for nobody only the entry would be timed. On a simulated
// machine, whose own report timed that, it is always rank 0.
class Roots {
 public:
  explicit Roots(comm::Comm& comm) : ranks_(comm.transport().name() == "sim" ? 1 : comm.size()) {}
  int next() { return static_cast<int>(calls_++ % static_cast<std::uint64_t>(ranks_)); }

 private:
  int ranks_;
  std::uint64_t calls_ = 0;
};

}  // namespace tabane::lab
