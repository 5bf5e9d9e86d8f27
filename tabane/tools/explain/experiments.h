// The runs of a command by which its time is explained: in turn, each with one thing changed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
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

// Runs the command for about request.seconds. What the user stops after a round is incomplete.
// throws: core::Error if the command cannot be run, or not again; Stopped before the first round.
Evidence gather(const Request& request, const core::Topology& topology, const Hooks& hooks);

int runs_in_a_sample(double run_seconds);  // more than one of very short ones

// How many ways to run the command fit into a time, and in how many rounds.
struct Rounds {
  std::size_t ways = 0;
  int rounds = 0;
};
// run_seconds: that one run takes. Two rounds of fewer ways are better than one of more.
Rounds plan_rounds(std::size_t ways, double run_seconds, double seconds);

// How many undisturbed runs a round has for so many other ways.
std::size_t undisturbed_runs(std::size_t ways);

// ---- the ways to run it (ways.cc) ----

// The PUs of the command, and those of the thieves that run at the same time.
struct DividedPus {
  std::vector<unsigned> victim, thieves;
  std::vector<unsigned> siblings;  // of the victim's cores, which it does not use; may be empty
  std::string impossible;          // why no PU is left for thieves; empty: there are some
};
// busy: PUs that the command keeps busy on average. usable: PUs that can be busy all the time.
DividedPus divide_pus(const core::Topology& topology, double busy, int usable);

// Why no thieves of processor time can run on all PUs; empty: they can.
std::string cpu_time_reason(double busy, std::size_t pus, int usable);

// Whether a command that keeps so many PUs busy may have this number of threads.
bool may_have_threads(double busy, double threads);

// What is known of a command before anything is tried.
struct Subject {
  const Request& request;
  const core::Topology& topology;
  double busy_pus = 0;
  bool uses_disk = false;
  bool works_alone = false;          // one of its threads, and no other
  std::set<std::string> files = {};  // that it reads

  int own_threads() const;     // of the variables, else all PUs
  bool takes_threads() const;  // it has {threads}
  // Whether there is some way to tell it a number of threads, as far as is known.
  bool follows_numbers() const;
  ChildCommand command(int threads) const;
  // throws: core::UsageError.
  ChildCommand command(int threads, const program::RunRequest& way) const;
};

struct Way {
  double rank = 0;                        // the most important has the lowest
  std::optional<Resource> resource = {};  // null: undisturbed
  Level level = {};
  ChildCommand command = {};
  bool given_up = false;  // on the victim's PUs, and compared with undisturbed runs there
  Theft theft = {};
  Thieves* thieves = nullptr;
  double alone = 0;  // the thieves' speed without the command; 0: not known
};

struct Ways {
  std::vector<Way> all;  // the most important first
  Way undisturbed, undisturbed_given_up;
  MachineLimits limits;
  std::vector<Trial> trials;  // one of each resource, in order, without levels
  std::string note;           // empty: nothing is to be said
  std::vector<std::unique_ptr<Thieves>> crews;
  std::unique_ptr<Sharing> sharing;  // of thieves of the memory; null: not known
  core::Descriptor folder;           // that a thief writes to
};
// Calibrates, for at most most_seconds. show: gets the share that is done. throws: as show.
Ways ways_of(const Subject& subject, double most_seconds, const std::function<void(double)>& show);

}  // namespace tabane::lab::explain
