// Says in one sentence why a shape was chosen.
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

}  // namespace tabane::team
