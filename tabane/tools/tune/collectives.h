// Finds the fastest algorithm of each collective on this machine, over sizes and numbers of ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/campaign/ranks.h"

namespace tabane::lab {

struct CollectivesOptions {
  bool quick = false;
  RankOptions ranks;
  double budget_seconds = 0;  // 0: 90 s, quick 20 s
  double most_seconds = 0;    // then the rest stays unmeasured; 0: twice the budget
  std::string command_line;
};

struct CollectivesTuning {
  Record record;       // every algorithm measured, and what the rules gain
  std::string choice;  // rules for comm::LaunchOptions::choice_file; empty if it was stopped
};

// Under MPI all its processes call it; those of other ranks than 0 get null.
// throws: core::UsageError as with_ranks().
std::optional<CollectivesTuning> tune_collectives(const core::Topology& topology,
                                                  const CollectivesOptions& options,
                                                  const Hooks& hooks = {});

// Which algorithm wins at one number of ranks and one size. Points have the factors collective,
// algorithm, ranks and bytes. Where nothing is surely faster than what the built-in rules say, that
// stays.
struct Choice {
  comm::Setting setting;
  comm::Kind kind;
  const Point *chosen = nullptr, *built_in = nullptr;
};
std::vector<Choice> choose_algorithms(const Points& points,
                                      const std::function<comm::Setting(int ranks)>& setting);
std::vector<comm::Rule> rules_of(const std::vector<Choice>& choices);

}  // namespace tabane::lab
