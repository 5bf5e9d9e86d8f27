// The reference transport, for tests: ranks are threads of one process, messages are copied into
// queues under one lock. Slow and obviously correct: the other transports are tested against it.
#pragma once

#include <functional>

#include "tabane/comm/comm.h"

namespace tabane::comm {

// Calls f on each of `ranks` threads and returns when all have returned. throws: what f threw on
// the rank that failed first, as core::Error with "rank R: ".
void run_plain(int ranks, const std::function<void(Comm&)>& f);

}  // namespace tabane::comm
