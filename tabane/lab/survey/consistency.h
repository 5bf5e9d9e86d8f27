// Figures of a survey that cannot all be true.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

// A figure of memory of which a part came from a cache.
inline constexpr const char* kPartlyCache = "partly_cache";

struct Contradiction {
  std::string id;                  // stable: "slower_together"
  std::string seen;                // the pair of figures, and what they should be
  std::vector<std::string> names;  // of the results
};

// Pairs of figures whose intervals are more than 3 % apart in the wrong order:
// - all cores together slower than one of them;
// - a level of the memory slower than one farther away;
// - copying or a triad faster than the reading, or the writing, in it can be;
// - the same quantity different in two probes, also if only each median is outside the other's
//   interval;
// a share of a limit above 103 %: the roof is too low; and a figure of memory that half of the data
// make 3 % greater.
std::vector<Contradiction> contradictions(const Record& record);

// The names of all results in contradictions: no sentence praises them or reckons with them.
std::set<std::string> doubtful_results(const Record& record);

}  // namespace tabane::lab
