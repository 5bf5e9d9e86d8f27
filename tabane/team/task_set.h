// The tasks of one call of a team and what becomes of their results, without their types.
#pragma once

#include <cstddef>
#include <functional>

#include "tabane/team/job.h"

namespace tabane::team {

// A call may consist of several runs, each of tasks that no other run has done.
struct TaskSet {
  // Before a run. forked: its workers are in other processes than the caller. What a run that
  // failed has left is dropped.
  std::function<void(std::size_t workers, bool forked)> begin_run;
  // On a worker: does tasks begin … end - 1 and keeps their results.
  std::function<void(Progress&, std::size_t begin, std::size_t end)> do_tasks;
  std::function<void(const Worker&)> finish;  // on a worker, after its last task; may be empty
  // After a run that has not failed, in the caller: takes what the workers have returned.
  std::function<void()> end_run;
};

}  // namespace tabane::team
