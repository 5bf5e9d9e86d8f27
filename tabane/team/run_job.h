// Runs one job on processes × threads: places the workers, forks or starts threads, waits for them
// and reports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/placement.h"
#include "tabane/team/fork_order.h"
#include "tabane/team/job.h"
#include "tabane/team/loss.h"
#include "tabane/team/task_error.h"

namespace tabane::team {

struct JobOptions {
  int processes = 1, threads = 1;
  bool forked = false;  // false only with one process: the caller and its threads do the job
  core::PlacementPolicy placement = core::PlacementPolicy::per_numa_node;
  ForkOrder fork = ForkOrder::tree;
  // If true, process p is bound to place p of the placement. Otherwise processes of one thread take
  // any free place, and prefer the one on which they began.
  bool fixed_places = false;
  bool allow_other_threads = false;
  bool measure_memory = false;
  std::optional<LossListener> loss_listener = {};
};

struct JobReport {
  // From the first fork until the last process existed; 0: none was forked.
  double fork_seconds = 0;
  double work_seconds = 0;         // from the first worker's first task to the last worker's end
  double join_seconds = 0;         // from the last worker's end until all processes were gone
  std::vector<std::size_t> tasks;  // by Worker::index
  std::optional<double> shared_share;  // of the processes' memory, if asked
  std::vector<std::string> remarks;
};

// throws: TaskError, core::LostError, core::SystemError, OtherThreads, as Team::map(); no process
// is left then.
JobReport run_job(const Job& job, const JobOptions& options);

// The other threads of this process, as "2 other threads run: 4711 (worker), 4712 (worker)"; empty
// if there are none. throws: core::SystemError if /proc cannot be read. cost: one system call if
// there are none.
std::string running_threads();

// throws: OtherThreads that names the other threads of this process, if there are any.
void require_no_other_threads();

}  // namespace tabane::team
