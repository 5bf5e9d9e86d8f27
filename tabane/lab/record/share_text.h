// How near a figure comes to its limit, in words that agree with the value and the limit beside
// them.
#pragma once

#include <string>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

// "87 %", or "40 % in turn, 76 %" where figure and limit, taken in turn, were mostly at another
// ratio than their medians, as on a machine whose speed changes: the quotient of the value and the
// limit comes last. result: has a share.
std::string show_share(const Result& result);

}  // namespace tabane::lab
