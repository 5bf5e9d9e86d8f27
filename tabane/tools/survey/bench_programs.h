// The independent programs, likwid-bench, and what the survey calls the figures that they find.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/command.h"
#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"

namespace tabane::bench {

struct Finding {
  std::string line;    // what the program calls it
  std::string result;  // what the survey calls it
  std::string roofs;   // see said_of(); empty: the survey's own figure
  // Why the two are not quite the same thing: then they stand side by side and are not judged.
  std::string differs = {};
};

struct Program {
  std::string name;  // "stream, all cores"
  Command command;
  std::vector<Finding> findings;
};

// One run of each program for one core and, where that differs, for all cores; each with so many
// samples and the working sets that stand for the levels of this machine's memory.
std::vector<Program> independent_programs(const core::Topology& topology, int samples);

// load, store, copy and STREAM triad of likwid-bench in each cache of a core and in memory, for as
// many passes as take about 0.2 s at the speed that the survey found. Levels that the survey lacks
// are left out.
std::vector<Program> likwid_programs(const core::Topology& topology, const lab::Record& survey);

// In B/s, FLOP/s, pages/s or s, by "NAME OF THE PROGRAM: LINE".
using Samples = std::map<std::string, std::vector<double>>;

// Runs the program once and adds what it finds. throws: core::Error if it cannot be started or
// ends before it has told everything.
void run_program(const Program& program, Samples& samples);

}  // namespace tabane::bench
