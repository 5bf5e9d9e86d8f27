// What is said of a peer: its command line and the version that it reports itself.
#pragma once

#include <string>

#include "bench/command.h"

namespace tabane::bench {

// The first line with a digit of what the command prints, for example "openssl version"; empty if
// it cannot be started.
std::string version_said_by(const std::string& shell_command);

// "cp -r in out; cp (GNU coreutils) 9.1", the command cut to a readable length.
std::string started_as(const Command& command, const std::string& version);

// The compiler of this program: "GCC 12.2.0".
std::string compiler_version();

}  // namespace tabane::bench
