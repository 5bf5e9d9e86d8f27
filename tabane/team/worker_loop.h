// What one worker does from its start to its end.
#pragma once

#include <span>

#include "tabane/team/control.h"
#include "tabane/team/job.h"

namespace tabane::team {

// Binds the calling thread to the PUs (none: leaves it), does chunks of the job until none is left
// or the team stops, and finishes. Failures are recorded in control.
void work(const Job& job, Control& control, const Worker& worker, std::span<const unsigned> pus);

// The worker that the calling thread is; null outside of work(). Lives as long as the call.
const Worker* this_worker();

}  // namespace tabane::team
