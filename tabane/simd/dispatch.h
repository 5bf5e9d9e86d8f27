// Run-time dispatch without a call into the vector library: a kernel of 1000 elements lasts 100
// cycles.
//
// For the .cc files of this module, after highway.h.
#pragma once

#include <hwy/highway.h>

#include <atomic>

#include "tabane/core/vector_registers.h"

namespace tabane::simd {

// The targets, as Highway's bits, whose instructions the system has not enabled.
std::int64_t disabled_targets(const core::VectorRegisters& registers);

// The library's choice of target, from which those of this machine are taken away at the first
// call: Highway 1.0 believes CPUID where the system has not enabled XSAVE.
hwy::ChosenTarget& safe_target();

// Null until the first call of safe_target(): programs that compute nothing ask for nothing.
inline constinit std::atomic<hwy::ChosenTarget*> chosen_target = nullptr;

inline std::size_t chosen_index() {
  hwy::ChosenTarget* const chosen = chosen_target.load(std::memory_order_relaxed);
  return HWY_LIKELY(chosen != nullptr) ? chosen->GetIndex() : safe_target().GetIndex();
}

}  // namespace tabane::simd

// What HWY_DYNAMIC_DISPATCH does, for a function named in HWY_EXPORT.
#define TABANE_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[::tabane::simd::chosen_index()]))
