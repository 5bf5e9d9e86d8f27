// Run-time dispatch without a call into the vector library: a kernel of 1000 elements lasts 100
// cycles.
//
// For the .cc files of this module, after highway.h.
#pragma once

#include <hwy/highway.h>

#include "tabane/core/vector_registers.h"

namespace tabane::simd {

// The targets, as Highway's bits, whose instructions the system has not enabled.
std::int64_t disabled_targets(const core::VectorRegisters& registers);

// The library's choice of target, from which those of this machine are taken away at the first
// call: Highway 1.0 believes CPUID where the system has not enabled XSAVE.
hwy::ChosenTarget& safe_target();

// Null until this module's static data is initialised.
inline hwy::ChosenTarget* const chosen_target = &safe_target();

inline std::size_t chosen_index() {
  return HWY_LIKELY(chosen_target != nullptr) ? chosen_target->GetIndex()
                                              : safe_target().GetIndex();
}

}  // namespace tabane::simd

// What HWY_DYNAMIC_DISPATCH does, for a function named in HWY_EXPORT.
#define TABANE_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[::tabane::simd::chosen_index()]))
