// How fast this machine does what solvers do and no survey measures.
#pragma once

#include <map>
#include <string>

namespace tabane::simulate {

// By kind of work (solver/model.h): its law, as in a machine file.
using Rates = std::map<std::string, std::string>;

// How long so much of two things took: u first + v second.
struct Sample {
  double u = 0, v = 0, microseconds = 0;
};
struct Costs {
  double first = 0, second = 0;  // >= 0
};
// Returns the costs that give both times, or, if one would be negative, without it the time of a.
Costs costs_of(const Sample& a, const Sample& b);

// Measures on so many ranks, which all work at once. Returns nothing if less memory than 32 MB a
// rank can be used. cost: 0.3 s, if each rank has a core.
Rates measure_rates(int ranks);

}  // namespace tabane::simulate
