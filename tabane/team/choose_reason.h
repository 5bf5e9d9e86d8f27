// Says why a shape was chosen.
#pragma once

#include <cstddef>
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

// Of no more tasks than PUs.
std::string reason_for_few(std::size_t tasks);

// Of work that was begun with threads and went on with them: waiting, with more of them because
// the tasks do not use the PUs.
std::string reason_for_begun(const Choice& choice, double seconds, bool waiting);

// Of a shape that is not the chosen one: a number is given, or there are fewer tasks than workers.
std::string reason_for_other(const Choice& chosen, Shape shape, bool is_given);

// Of work that is too little for a sample. work: seconds of all tasks on one worker, as the first
// task tells.
std::string reason_without_sample(const Choice& choice, double work);

}  // namespace tabane::team
