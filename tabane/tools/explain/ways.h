// The ways in which a command is run to explain its time: each with one thing taken away or given.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/topology.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/commands/run_plan.h"
#include "tabane/tools/explain/evidence.h"
#include "tabane/tools/explain/thieves.h"

namespace tabane::lab::explain {

struct Request {
  std::vector<std::string> command;  // {threads} in it is replaced
  std::vector<int> threads;          // to try; empty: chosen
  double seconds = 120;              // that all may take, about
  std::string prepare;               // a line that is run before each run; empty: none
  std::string input;                 // the command's standard input; empty: /dev/null
};

// Which PUs the command keeps, and which thieves have meanwhile.
struct DividedPus {
  std::vector<unsigned> victim, thieves;
  std::vector<unsigned> siblings;  // of the victim's cores, which it does not use; may be empty
  std::string impossible;          // why no PU is left for thieves; empty: there are some
};

// busy: PUs that the command keeps busy on average. usable: PUs that can be busy all the time.
DividedPus divide_pus(const core::Topology& topology, double busy, int usable);

int runs_in_a_sample(double run_seconds);  // more than one of very short ones

// How many ways to run the command fit into a time, and in how many rounds.
struct Rounds {
  std::size_t ways = 0;
  int rounds = 0;
};
// run_seconds: that one run takes. Two rounds of fewer ways are better than one of more.
Rounds plan_rounds(std::size_t ways, double run_seconds, double seconds);

// How many undisturbed runs go with so many others in a round.
std::size_t undisturbed_runs(std::size_t ways);

// What is known of a command before anything is tried.
struct Subject {
  const Request& request;
  const core::Topology& topology;
  double busy_pus = 0;
  bool uses_disk = false;
  std::set<std::string> files = {};  // that it reads

  int own_threads() const;     // of the variables, else all PUs
  bool takes_threads() const;  // it has {threads}
  ChildCommand command(int threads) const;
  // throws: core::UsageError.
  ChildCommand command(int threads, const program::RunRequest& way) const;
};

struct Way {
  std::optional<Resource> resource = {};  // null: undisturbed
  Level level = {};
  ChildCommand command = {};
  bool given_up = false;  // on the victim's PUs, and compared with undisturbed runs there
  Theft theft = {};
  Thieves* thieves = nullptr;
  double alone = 0;  // the thieves' speed without the command; 0: not known
  std::function<void()> before = [] {};
};

// All ways for a subject, with the thieves.
class Ways {
 public:
  // Calibrates, for at most so long. throws: as show, which is told how far that is.
  Ways(const Subject& subject, double most_seconds, const std::function<void(double)>& show);

  std::vector<Way> by_importance();  // the most important first; once
  Way undisturbed(bool given_up) const;

  MachineLimits limits;
  std::vector<Trial> trials;  // without levels
  std::string note;           // empty: nothing is to be said

 private:
  void add(double rank, Way way);
  void add_theft(double rank, const Theft& theft, Thieves& thieves, Level level, double alone = 0);
  void add_thefts(double most_seconds, const std::function<void(double)>& show);
  void add_bandwidth(const Calibration& calibration);
  void add_cache(const Calibration& calibration);
  void add_disk();
  void add_threads();
  void add_memory();
  void add_nodes();
  void add_cold();
  Trial& trial(Resource resource);
  void untried(Resource resource, const std::string& why) { trial(resource).untried = why; }

  const Subject& subject_;
  std::vector<unsigned> pus_;
  DividedPus divided_;
  core::Descriptor folder_;
  std::vector<std::unique_ptr<Thieves>> crews_;
  std::multimap<double, Way> ways_;  // by rank
};

}  // namespace tabane::lab::explain
