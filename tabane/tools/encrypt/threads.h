// The threads of a job, and who does what.
#pragma once

#include "tabane/tools/encrypt/copy_share.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

// Does the units of the plan, with the job's device if it has one; returns when all are done or the
// job has stopped. Calls the hooks from the calling thread, ten times a second. copies: if not
// null, gets what copying takes beside; not from encrypting with CBC, where files of several units
// are on their way at once. engine: of the CPU. source: gives the units; null: they are all done
// here. throws: what a thread could not attribute to a file.
void run_job_threads(JobState& job, const Plan& plan, crypto::Engine engine, const Hooks& hooks,
                     CopyPairs* copies, UnitSource* source = nullptr);

}  // namespace tabane::encrypt
