// What mining has found, as text and as JSON.
#pragma once

#include <string>

#include "tabane/lab/record/record.h"
#include "tabane/tools/mine/outcome.h"

namespace tabane::program {

// What was mined and how, the itemsets by length, the most frequent first, and the rules.
std::string mine_text(const mine::Outcome& outcome);

// As in the outcome: itemsets by length, then in the order of their items.
lab::Json mine_json(const mine::Outcome& outcome);

}  // namespace tabane::program
