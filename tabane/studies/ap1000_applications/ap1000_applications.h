// The study ap1000-applications: LINPACK, SCG and SLALOM on ranks of this machine, with the
// mechanisms of message handling switched on one by one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/core/temporary_file.h"
#include "tabane/lab/study/study.h"
#include "tabane/solver/solution.h"

namespace tabane::lab {

struct Ap1000ApplicationsOptions {
  bool quick = false;
  int most_ranks = 0;  // 0: the PUs
  double seconds = 0;  // that SLALOM may take where the largest problem is sought; 0: 10, quick 2
  double budget_seconds = 0;  // 0: about 2 minutes, quick 20 s
};

// throws: core::UsageError for options that cannot be; as comm::launch() otherwise.
std::optional<Record> run_ap1000_applications(const core::Topology& topology,
                                              const Ap1000ApplicationsOptions& options,
                                              const Hooks& hooks = {});

namespace ap1000_applications {

struct Application {
  std::string name;                        // "linpack", as in factors
  std::string title;                       // "LINPACK"
  std::string size;                        // what `n` is: "equations"
  std::vector<const char*> steps;          // as the solver names them, see comm::Steps
  std::vector<const char*> communication;  // those of them that are communication
  std::vector<int> sizes, quick_sizes;     // n of the problems
  // Solves a problem of size n. All ranks call it. inputs: has the files that it reads.
  solver::Solution (*solve)(comm::Comm&, int n, const core::ScratchFolder& inputs);
};
const std::vector<Application>& applications();

// The last run at each point, for what is not a figure of its own.
using LastRuns = std::map<std::string, solver::Solution>;
std::string key_of(const Factors& factors);

// Pictures: base64 of PNG files.
struct Pictures {
  std::string box, mesh;
};

// Adds tables, charts and pictures.
void add_views(Record& record, const Points& points, const LastRuns& last,
               const Pictures& pictures);

}  // namespace ap1000_applications
}  // namespace tabane::lab
