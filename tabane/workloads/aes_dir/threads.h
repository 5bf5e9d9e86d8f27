// The threads of a job, and who does what.
#pragma once

#include "tabane/workloads/aes_dir/file_task.h"
#include "tabane/workloads/aes_dir/plan.h"
#include "tabane/workloads/aes_dir/request.h"

namespace tabane::workloads::aes_dir {

// Does the units of the plan; returns when all are done or the job has stopped. Calls the hooks
// from the calling thread, ten times a second. throws: what a thread could not attribute to a file.
void run_job_threads(JobState& job, const Plan& plan, Engine engine, const Hooks& hooks);

}  // namespace tabane::workloads::aes_dir
