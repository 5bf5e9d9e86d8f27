#include "tabane/tools/mine/counting.h"

#include <unistd.h>

#include <algorithm>

namespace tabane::mine {
namespace {

// Enough that a task's products take much longer than the change to other blocks.
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

std::size_t primes_of_factors(std::size_t length, std::size_t primes) {
  return length < 2 ? primes : primes - static_cast<std::size_t>(depth_of(length) - 1);
}

bgv::CiphertextView ProductCache::product(std::span<const Item> items, std::size_t primes) {
  const bgv::CiphertextView fresh = database_.at(items[0], block_);
  if (items.size() == 1 && primes == fresh.primes) return fresh;
  std::pair<std::vector<Item>, std::size_t> name({items.begin(), items.end()}, primes);
  const auto found = products_.find(name);
  if (found != products_.end()) return found->second;
  bgv::Ciphertext made = computed(items, primes);
  return products_.emplace(std::move(name), std::move(made)).first->second;
}

bgv::Ciphertext ProductCache::computed(std::span<const Item> items, std::size_t primes) {
  if (items.size() == 1) {
    return evaluator_.switch_modulus_to(database_.at(items[0], block_), primes);
  }
  const std::size_t own = primes_of_factors(items.size(), database_.context()->primes());
  if (primes + 1 < own) return evaluator_.switch_modulus_to(product(items, own - 1), primes);
  const bgv::CiphertextView first = product(first_factor(items), own);
  const bgv::CiphertextView other = product(other_factor(items), own);
  ++work_.products;
  ++work_.key_switches;
  return evaluator_.switch_modulus(evaluator_.relinearise(evaluator_.multiply(first, other)));
}

std::shared_ptr<WorkerSums> SumsByWorker::of_this_worker() {
  const std::lock_guard lock(mutex_);
  auto& own = sums_[{static_cast<int>(::getpid()), std::this_thread::get_id()}];
  if (!own) {
    own = std::make_shared<WorkerSums>();
    own->running.assign(candidates_, bgv::ProductSum(context_, primes_));
  }
  return own;
}

CandidateSums combined(CandidateSums a, CandidateSums b) {
  WorkerSums& sums = *a.running;
  for (const auto& [candidate, sum] : b.finished) sums.running[candidate].add(sum);
  sums.work += b.work;
  if (!b.running || b.running == a.running) return a;
  for (std::size_t i = 0; i < sums.running.size(); ++i) {
    sums.running[i].add(b.running->running[i]);
    b.running->running[i].clear();
  }
  sums.work += std::exchange(b.running->work, {});
  return a;
}

}  // namespace tabane::mine

namespace tabane::team {

using mine::CandidateSums;
namespace bgv = mine::bgv;
using mine::Work;

// In a child process, which has no sums of others.
void Serialiser<CandidateSums>::put(Bytes& out, const CandidateSums& value) {
  std::map<std::uint64_t, bgv::Ciphertext> finished;
  for (std::size_t i = 0; i < value.running->running.size(); ++i) {
    const auto& sum = value.running->running[i];
    if (!sum.empty()) finished.emplace(i, sum.finish());
  }
  put_value(out, finished);
  put_value(out, value.running->work);
}

CandidateSums Serialiser<CandidateSums>::get(Reader& in) {
  CandidateSums sums;
  sums.finished = get_value<std::map<std::uint64_t, bgv::Ciphertext>>(in);
  sums.work = get_value<Work>(in);
  return sums;
}

}  // namespace tabane::team
