// The threads of a job, and who does what.
#pragma once

#include <memory>

#include "tabane/tools/encrypt/copy_share.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

// Gives the units of a plan to the threads of a process that works with others.
class UnitSource {
 public:
  virtual ~UnitSource() = default;
  // Returns null if there is none any more, or if the job stops. A unit is done with when the last
  // pointer to it goes. Thread-safe.
  virtual std::shared_ptr<Share> next() = 0;
  // Called every millisecond from the thread that called run_job_threads(). Must not throw.
  virtual void tick() = 0;
};

// Does the units of the plan, with the job's device if it has one; returns when all are done or the
// job has stopped. Calls the hooks from the calling thread, ten times a second. copies: if not
// null, gets what copying takes beside; not from encrypting with CBC, where files of several units
// are on their way at once. engine: of the CPU. source: gives the units; null: they are all done
// here. throws: what a thread could not attribute to a file.
void run_job_threads(JobState& job, const Plan& plan, crypto::Engine engine, const Hooks& hooks,
                     CopyPairs* copies, UnitSource* source = nullptr);

}  // namespace tabane::encrypt
