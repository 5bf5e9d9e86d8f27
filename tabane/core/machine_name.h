// Which machine a process runs on.
#pragma once

#include <string>

namespace tabane::core {

std::string host_name();

// The same in all containers of a machine, where host names differ.
std::string machine_name();

}  // namespace tabane::core
