// The threads of a job, and who does what.
#pragma once

#include "tabane/workloads/aes_dir/copy_sampler.h"
#include "tabane/workloads/aes_dir/file_task.h"
#include "tabane/workloads/aes_dir/plan.h"
#include "tabane/workloads/aes_dir/request.h"

namespace tabane::workloads::aes_dir {

// Does the units of the plan; returns when all are done or the job has stopped. Calls the hooks
// from the calling thread, ten times a second. copies: if not null, gets what copying takes beside;
// not from encrypting with CBC, where files of several units are on their way at once.
// throws: what a thread could not attribute to a file.
void run_job_threads(JobState& job, const Plan& plan, Engine engine, const Hooks& hooks,
                     CopyPairs* copies);

}  // namespace tabane::workloads::aes_dir
