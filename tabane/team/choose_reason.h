// Says why a shape was chosen.
#pragma once

#include <string>

#include "tabane/team/choose.h"
#include "tabane/team/team_model.h"

namespace tabane::team {

struct ReasonFacts {
  StartCost start;
  double results = 0;  // seconds to return all results from children
  double work = 0;     // seconds of all tasks on one worker
  int threads = 1;     // as many as a NUMA node has cores for
};

std::string reason_for(const Choice& choice, const ReasonFacts& facts);

// Of work that is too little for a sample. work: seconds of all tasks on one worker, as the first
// task tells.
std::string reason_without_sample(const Choice& choice, double work);

}  // namespace tabane::team
