// JSON that users hand over, bounded before anything is built from it.
#pragma once

#include <string_view>

#include "tabane/lab/record/view.h"

namespace tabane::lab {

inline constexpr int kDeepestJson = 64;           // lists and objects in each other
inline constexpr std::size_t kMostKeys = 10'000;  // of one object
inline constexpr double kLargestNumber = 1e30;    // or its negative

// Reads a JSON text. Whoever reads the values may recur over them and calculate with the numbers.
// throws: core::UsageError if it is no JSON or goes beyond these bounds.
Json json_from_text(std::string_view text);

}  // namespace tabane::lab
