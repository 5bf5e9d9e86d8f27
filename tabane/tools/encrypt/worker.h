// What the ranks of a job do that are not rank 0.
#pragma once

#include "tabane/comm/comm.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

// Does what rank 0, which is in run_job() with the same request, gives this rank; returns when
// there is nothing more, or when a rank was lost: then rank 0 goes on alone. request: its keys and
// places come from rank 0. hooks: progress is not told. What goes wrong here rank 0 tells.
void serve_rank_0(Request request, const Hooks& hooks, comm::Comm& ranks);

// For rank 0 instead of run_job(), if there is no job: lets go those who are in serve_rank_0().
void release_workers(comm::Comm& ranks);

}  // namespace tabane::encrypt
