#include "tabane/tools/mine/tasks.h"

#include <algorithm>

namespace tabane::mine {
namespace {

// So that a task's products take much longer than to begin with other blocks.
constexpr std::size_t kLeastBlocks = 4;

std::size_t divided(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

bool share_first_factor(const Itemsets& candidates, std::size_t a, std::size_t b) {
  return std::ranges::equal(first_factor(candidates[a]), first_factor(candidates[b]));
}

}  // namespace

std::size_t end_of_batch(const Itemsets& candidates, std::size_t begin, std::size_t most) {
  if (candidates.size() - begin <= most) return candidates.size();
  const std::size_t end = begin + most;
  if (candidates.length() < 3) return end;  // the factors are there, and shared by all
  std::size_t before = end;
  while (before > begin && share_first_factor(candidates, before - 1, end)) --before;
  return before > begin ? before : end;
}

std::vector<CountTask> plan_tasks(const Itemsets& candidates, std::size_t blocks,
                                  std::size_t wanted) {
  const std::size_t cuts = std::clamp<std::size_t>(blocks / kLeastBlocks, 1, wanted);
  const std::size_t most = divided(candidates.size(), divided(wanted, cuts));
  std::vector<CountTask> tasks;
  for (std::size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
    end = end_of_batch(candidates, begin, most);
    for (std::size_t cut = 0; cut < cuts; ++cut) {
      tasks.push_back({begin, end, blocks * cut / cuts, blocks * (cut + 1) / cuts});
    }
  }
  return tasks;
}

}  // namespace tabane::mine
