// Runs one job on processes × threads: places, forks or starts threads, waits, and tells how it
// was.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/placement.h"
#include "tabane/team/fork_order.h"
#include "tabane/team/job.h"
#include "tabane/team/loss.h"

namespace tabane::team {

struct Crew {
  int processes = 1, threads = 1;
  bool forked = false;  // false, only with one process: threads of the caller, itself the first
  core::PlacementPolicy placement = core::PlacementPolicy::per_numa_node;
  ForkOrder fork = ForkOrder::tree;
  // Whether process p sits on place p of the plan. Otherwise processes of one thread share out the
  // places: each takes one that no other is working on, if it can the one on which it began.
  bool fixed_places = false;
  bool allow_other_threads = false;
  bool measure_memory = false;
  std::optional<LossListener> loss_listener = {};
};

struct CrewReport {
  double fork_seconds =
      0;  // from the first fork until the last process existed; 0: none was forked
  double work_seconds = 0;         // from the first worker's first task to the last worker's end
  double join_seconds = 0;         // from the last worker's end until all processes were gone
  std::vector<std::size_t> tasks;  // by Worker::index
  std::optional<double> shared_share;  // of the processes' memory, if asked
  std::vector<std::string> remarks;
};

// throws: TaskError, core::LostError, core::SystemError, core::UsageError as Team::map() does.
// Nothing is left behind then.
CrewReport run_crew(const Job& job, const Crew& crew);

// throws: core::UsageError naming the threads of this process beside the calling one.
void require_no_other_threads();

}  // namespace tabane::team
