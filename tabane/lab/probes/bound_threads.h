// What the probes that bind threads share: a system that refuses to bind makes a probe NotHere.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "tabane/core/error.h"
#include "tabane/core/pinned_pool.h"
#include "tabane/lab/probe.h"

namespace tabane::lab {

// throws: NotHere if the topology is not that of this machine.
inline void require_this_machine(const ProbeContext& context) {
  if (!context.topology().is_this_machine())
    throw NotHere("the topology describes another machine, so nothing can be bound");
}

// Runs body(i) on a thread bound to pus[i], for all i at once, and joins them. Once all are bound a
// body may wait for another one. throws: NotHere if a thread cannot be bound; then no body ran.
inline void run_bound(std::span<const unsigned> pus, const std::function<void(std::size_t)>& body) {
  try {
    core::PinnedPool(pus).run(body);
  } catch (const core::SystemError& error) {
    throw NotHere(error.what());
  }
}

}  // namespace tabane::lab
