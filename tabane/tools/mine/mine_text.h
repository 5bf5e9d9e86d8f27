// What mining has found, as text and as JSON.
#pragma once

#include <string>

#include "tabane/lab/record/record.h"
#include "tabane/tools/mine/outcome.h"

namespace tabane::cli {

// What was mined and how, the itemsets by length, the most frequent first, and the rules.
std::string mine_text(const workloads::fhe_mining::Outcome& outcome);

// As in the outcome: itemsets by length, then in the order of their items.
lab::Json mine_json(const workloads::fhe_mining::Outcome& outcome);

}  // namespace tabane::cli
