// memory.latency.loaded: the latency of memory while other cores use it.
#pragma once

#include "tabane/lab/probe.h"

namespace tabane::lab {

// One core follows a random cycle through memory while k others read from memory, or copy in it:
// how latency grows, and what the others get. source: the loaded-latency mode of Intel's Memory
// Latency Checker.
Probe loaded_latency_probe(const core::Topology& topology);

}  // namespace tabane::lab
