// Run-time dispatch without a call into the vector library: a kernel of 1000 elements lasts 100
// cycles.
//
// For the .cc files of this module, after highway.h.
#pragma once

#include <hwy/highway.h>

namespace tabane::simd {

// The library's choice of target; null until this module's static data is initialised.
inline hwy::ChosenTarget* const chosen_target = &hwy::GetChosenTarget();

inline std::size_t chosen_index() {
  return HWY_LIKELY(chosen_target != nullptr) ? chosen_target->GetIndex()
                                              : hwy::GetChosenTarget().GetIndex();
}

}  // namespace tabane::simd

// What HWY_DYNAMIC_DISPATCH does, for a function named in HWY_EXPORT.
#define TABANE_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[::tabane::simd::chosen_index()]))
