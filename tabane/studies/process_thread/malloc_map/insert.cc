#include "tabane/studies/process_thread/malloc_map/insert.h"

#include <map>
#include <string>

#include "tabane/core/error.h"

namespace tabane::malloc_map {

InsertTotals insert_task(const InsertProblem& problem, std::size_t task) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for_each_key(problem, task, [&](std::uint64_t key) { ++counts[key]; });
  InsertTotals totals{.distinct = counts.size()};
  for (const auto& [key, count] : counts) totals.digest += key * count;
  return totals;
}

std::vector<InsertTotals> insert(team::Team& team, const InsertProblem& problem) {
  check(problem);
  return team.map<InsertTotals>(problem.tasks,
                                [&](std::size_t task) { return insert_task(problem, task); });
}

void verify(const InsertProblem& problem, std::span<const InsertTotals> totals) {
  if (totals.size() != problem.tasks)
    throw core::VerificationError("tasks of insertion with a result",
                                  static_cast<double>(totals.size()),
                                  static_cast<double>(problem.tasks));
  for (std::size_t task = 0; task < totals.size(); ++task) {
    InsertTotals expected{.distinct = distinct_after(problem, problem.inserts)};
    for_each_key(problem, task, [&](std::uint64_t key) { expected.digest += key; });
    if (totals[task] != expected)
      throw core::VerificationError("keys in the map of task " + std::to_string(task), 1, 0);
  }
}

}  // namespace tabane::malloc_map
