// A figure of a survey as one line of text.
#pragma once

#include <string>

#include "tabane/lab/record/record.h"

namespace tabane::program {

// Name, value, interval, share of the limit.
std::string result_line(const lab::Result& result);

}  // namespace tabane::program
