// Commands of tabane and its peers: runs them, says what they used, how they were started, and
// their versions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tabane::bench {

using Command = std::vector<std::string>;  // program and arguments

struct Usage {
  double wall_seconds = 0;
  double cpu_seconds = 0;                 // user and system, with children that it waited for
  std::uint64_t peak_resident_bytes = 0;  // at most: never below what this program held itself

  // Adds times; keeps the higher peak.
  Usage& operator+=(const Usage& other);
  double cores_busy() const { return wall_seconds > 0 ? cpu_seconds / wall_seconds : 0; }
};

// Runs a command without input, its results thrown away. throws: core::SystemError if it cannot be
// started; core::Error with the last line of its messages if it fails.
Usage run_command(const Command& command);

// Whether a program of this name is in PATH.
bool in_path(const std::string& name);

// A line for the shell, which is found whatever PATH says.
inline Command shell(const std::string& line) { return {"/bin/sh", "-c", line}; }

// The first line with a digit of what the command prints, for example "openssl version"; empty if
// it cannot be started.
std::string version_said_by(const std::string& shell_command);

// "cp -r in out; cp (GNU coreutils) 9.1", the command cut to a readable length.
std::string started_as(const Command& command, const std::string& version);

// The compiler of this program: "GCC 12.2.0".
std::string compiler_version();

}  // namespace tabane::bench
