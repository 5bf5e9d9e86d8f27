// The head of every record: version, time, machine, environment.
#pragma once

#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

std::string version();  // "0.1.0"

// What a study or a topic is about.
struct About {
  const char* name;
  const char* title;
  const char* source;  // author, year and machine of the report
};

// throws: core::UsageError if the topology is not that of this machine, so that nothing can be
// measured on it.
void require_this_machine(const core::Topology& topology);

// A record of this moment, without a machine and figures: for what is made from other records.
Record begin_record(Kind kind, const About& about, std::string command_line);

// Describes the machine for Record::machine. cost: reads /proc and /sys.
Json describe_machine(const core::Topology& topology);

// Warnings about the map of the machine itself. Every record of this machine begins with them.
std::vector<Warning> topology_warnings(const core::Topology& topology);

// A record of this machine at this moment, without figures.
Record begin_record(const core::Topology& topology, Kind kind, const About& about,
                    std::string command_line, bool quick,
                    const Environment& environment = read_environment());

}  // namespace tabane::lab
