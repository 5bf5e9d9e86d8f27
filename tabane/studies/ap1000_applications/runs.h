// One run of an application of the study ap1000-applications: with a set of mechanisms, on ranks
// that are forked for it or on those of MPI.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/grid.h"
#include "tabane/core/temporary_file.h"
#include "tabane/solver/solution.h"

namespace tabane::lab::ap1000_applications {

struct MechanismSet {
  std::string name;      // "+broadcast"
  std::string base;      // of the set that has one mechanism less; empty: there is none
  bool messages = true;  // from rank to rank; else as comm/transport/conventional.h does
  comm::Mechanisms collectives = {};
  bool look_ahead = false;  // LINPACK sends its next panel while it works on this one
};

struct Run {
  int application = 0, set = 0;  // numbers
  int n = 0, ranks = 1;
  comm::GridShape grid = {};  // zeros: as the application chooses
  bool counts = false;        // counts calls, in the timed steps
  bool is_simulated = false;  // then application and set are those of a simulated machine
};

struct Application {
  std::string name;                        // "linpack", as in factors
  std::string title;                       // "LINPACK"
  std::string size;                        // what `n` is: "equations"
  std::vector<const char*> steps;          // as the solver names them, see comm::Steps
  std::vector<const char*> communication;  // those of them that are communication
  std::vector<int> sizes, quick_sizes;     // n of the problems
  int chart_size;                          // that of them which each set solves on all ranks
  std::vector<MechanismSet> sets;          // those that use it; the last one is "all"
  // All ranks call it. inputs: has the files that it reads, on rank 0.
  solver::Solution (*solve)(comm::Comm&, const Run& run, const MechanismSet& set,
                            const core::ScratchFolder& inputs);
};
// For a simulated machine: problems and sets as in the report.
const std::vector<Application>& applications(bool is_simulated = false);

// A primitive that ranks call, see comm::CallCounter::Count; means of the ranks.
struct Calls {
  std::string call, how;
  double calls = 0, seconds = 0;
  auto fields() { return std::tie(call, how, calls, seconds); }
};

struct Outcome {
  solver::Solution solution;
  std::vector<Calls> calls;  // in the timed steps, if the run counts
  auto fields() { return std::tie(solution, calls); }
};

// Pictures: base64 of PNG files.
struct Pictures {
  std::string box, mesh;
};

// Runs applications on the ranks of one transport. throws, all: as comm::launch().
class Runner {
 public:
  Runner();
  virtual ~Runner() = default;
  virtual Outcome solve(const Run& run) = 0;
  // Of matrix products, see solver::measure_product_rate().
  virtual double product_rate(int ranks) = 0;
  // Drawn in this process.
  Pictures pictures() const;

 protected:
  const core::ScratchFolder& inputs() const { return inputs_; }

 private:
  core::ScratchFolder inputs_;
};

// Solves on ranks that are forked, or on a simulated machine, of any number of ranks. conventional:
// what changes in it where messages are conventional ones, as LaunchOptions::machine_changes.
// check: as comm::check_run().
std::unique_ptr<Runner> launching_runner(std::string machine = "", std::string conventional = "",
                                         std::function<void()> check = {});

// Calls body with a runner on rank 0, whose runs are on the first ranks of `world`; the other ranks
// take part in these until body has returned. All ranks call it. Returns what body threw, but for
// core::LostError: to launch() it would be the loss of a rank.
[[nodiscard]] std::exception_ptr run_on(comm::Comm& world,
                                        const std::function<void(Runner&)>& body);

}  // namespace tabane::lab::ap1000_applications
