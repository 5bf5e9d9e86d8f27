// A transport on which time is simulated and results are real: the ranks take turns on the calling
// thread, and their clocks advance by the laws of a machine.
#pragma once

#include <functional>
#include <memory>

#include "tabane/comm/machine.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::sim {

// Calls f on every rank of the machine and returns when all have returned; failed: the number of
// the rank that threw first, or -1. f sees the caller's data and may change them: the ranks are no
// processes. throws: what f threw there; core::Error that says who waits for whom if no rank can go
// on.
void run(const Machine& machine,
         const std::function<void(int rank, std::unique_ptr<Transport> transport)>& f, int& failed);

}  // namespace tabane::comm::sim
