// The version of tabane that made a record.
#pragma once

#include <string>

namespace tabane::lab {

std::string version();  // "0.1.0"

}  // namespace tabane::lab
