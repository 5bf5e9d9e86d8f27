// Finds the fastest algorithm of each collective on this machine, over sizes and numbers of ranks.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/lab/campaign/ranks.h"

namespace tabane::lab {

// The command line in a record of tuning, with what the search depended on:
// "tabane tune --collectives --quick -n 4", without options that are false, 0 or empty.
class CommandLine {
 public:
  explicit CommandLine(std::string command) : text_(std::move(command)) {}

  CommandLine& add(const char* flag, bool given) {
    if (given) text_ += fmt::format(" {}", flag);
    return *this;
  }
  template <class T>
  CommandLine& add(const char* flag, const T& value) {
    if (value != T{}) text_ += fmt::format(" {} {}", flag, value);
    return *this;
  }
  template <class T>
  CommandLine& add(const char* flag, const std::vector<T>& values) {
    return add(flag, fmt::format("{}", fmt::join(values, ",")));
  }
  operator std::string() const { return text_; }  // NOLINT: reads as text

 private:
  std::string text_;
};

struct CollectivesOptions {
  bool quick = false;
  RankOptions ranks;
  double budget_seconds = 0;  // 0: 90 s, quick 20 s
  double most_seconds = 0;    // then the rest stays unmeasured; 0: twice the budget
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
