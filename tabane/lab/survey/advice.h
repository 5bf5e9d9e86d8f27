// What to change on this machine, and what it brings, as measured here.
#pragma once

#include <string>
#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

inline constexpr std::size_t kMostAdvice = 5;

// Three sentences in plain words: what the machine is good at, what limits it, what looks wrong.
std::vector<std::string> sentences(const Record& record);

// At most kMostAdvice pieces of advice, the greatest gain first; empty: there is nothing to change,
// or too little was measured. Every gain is a ratio of figures of this record.
std::vector<Advice> advise(const Record& record);

// Whether the record has what advise() looks at: then no advice is an answer.
bool can_advise(const Record& record);

}  // namespace tabane::lab
