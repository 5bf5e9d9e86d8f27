#include "tabane/tools/mine/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/team/places.h"
#include "tabane/tools/mine/factors.h"
#include "tabane/tools/mine/stopwatch.h"
#include "tabane/tools/mine/sums.h"
#include "tabane/tools/mine/tasks.h"

namespace tabane::mine {
namespace {

// Tasks for each PU: enough to choose a team's shape from, and to keep all busy to the end.
constexpr std::size_t kTasksOfPu = 16;

std::size_t pus() { return team::known_topology().pus().size(); }

// The products of one task, added to the sums of the worker that does it.
class TaskCounter {
 public:
  TaskCounter(const Itemsets& candidates, const EncryptedDatabase& database,
              const bgv::Evaluator& evaluator, const CountTask& task, WorkerSums& sums)
      : candidates_(candidates),
        database_(database),
        evaluator_(evaluator),
        task_(task),
        sums_(sums) {}

  void count() {
    switch (candidates_.length()) {
      case 1:
        return count_items();
      case 2:
        return count_pairs();
      default:
        return count_longer();
    }
  }

 private:
  bgv::ProductSum& sum(std::size_t candidate) { return sums_.running[candidate]; }

  void count_items() {
    for (std::size_t block = task_.block_begin; block < task_.block_end; ++block) {
      for (std::size_t i = task_.candidate_begin; i < task_.candidate_end; ++i) {
        sum(i).add(database_.at(candidates_[i][0], block));
      }
    }
  }

  void count_pairs() {
    std::vector<bgv::Pair> pairs;
    for (std::size_t i = task_.candidate_begin; i < task_.candidate_end; ++i) {
      pairs.emplace_back(candidates_[i][0], candidates_[i][1]);
    }
    bgv::add_pair_products(
        database_.views(task_.block_begin, task_.block_end), database_.items(), pairs,
        std::span(sums_.running).subspan(task_.candidate_begin, task_.candidates()));
    sums_.work.products += pairs.size() * task_.blocks();
  }

  void count_longer() {
    const std::size_t primes =
        primes_of_factors(candidates_.length(), database_.context()->primes());
    Factors factors(database_, evaluator_, sums_.work);
    for (std::size_t block = task_.block_begin; block < task_.block_end; ++block) {
      factors.begin(block);
      for (std::size_t i = task_.candidate_begin; i < task_.candidate_end; ++i) {
        sum(i).add_product(factors.product(first_factor(candidates_[i]), primes),
                           factors.product(other_factor(candidates_[i]), primes));
        ++sums_.work.products;
      }
    }
  }

  const Itemsets& candidates_;
  const EncryptedDatabase& database_;
  const bgv::Evaluator& evaluator_;
  const CountTask& task_;
  WorkerSums& sums_;
};

// Bits that stay free, so that the noise, which is an estimate, does not spoil what the loss of a
// prime is to save.
constexpr double kSpareBits = 6;

bool may_lose_a_prime(const bgv::Context& context, const bgv::CiphertextView& ciphertext) {
  if (ciphertext.primes < 2) return false;
  const auto& primes = context.parameters().primes();
  const double lost = std::log2(primes[ciphertext.primes - 1]);
  double left = 0;
  for (std::size_t i = 0; i + 1 < ciphertext.primes; ++i) left += std::log2(primes[i]);
  const double deviation =
      context.noise().switched(ciphertext.deviation, lost, static_cast<int>(ciphertext.components));
  return bgv::needed_bits(deviation) + kSpareBits < left;
}

}  // namespace

double sum_bytes(const bgv::Parameters& parameters) {
  return 6.0 * 8.0 * static_cast<double>(parameters.degree() * parameters.primes().size());
}

Server::Server(const PublicKeys& keys, const EncryptedDatabase& database)
    : keys_(keys),
      database_(database),
      evaluator_(keys.context, keys.evaluation ? &*keys.evaluation : nullptr) {
  if (database.key() == keys.id) return;
  throw core::UsageError("the database was encrypted with other keys than these");
}

void Server::check(const Itemsets& candidates) const {
  const std::size_t most = keys_.scheme.most_length;
  if (candidates.length() > most) {
    throw core::UsageError(
        fmt::format("these keys are made for itemsets of up to {} items, not {}: make keys with "
                    "--max-length {}",
                    most, candidates.length(), candidates.length()));
  }
  for (const Item item : candidates.items()) {
    if (item < database_.items()) continue;
    throw core::UsageError(fmt::format("a candidate has item {} of a database with {} items", item,
                                       database_.items()));
  }
}

// Sums take memory in every worker; what is free and not wanted for results is shared by them.
std::size_t Server::most_candidates(std::size_t length) const {
  const double each = sum_bytes(keys_.context->parameters()) * (length < 3 ? 1.5 : 2.5);
  const auto usable = core::usable_memory_bytes();
  const double workers = 2 * static_cast<double>(pus());
  const double fit = usable ? *usable / 2 / (each * workers) : kMostCandidates;
  if (fit < 1) {
    throw core::UsageError("there is not enough memory left to count a single candidate");
  }
  return std::min(static_cast<std::size_t>(fit), kMostCandidates);
}

std::vector<bgv::Ciphertext> Server::count(const Itemsets& candidates, team::Team& team,
                                           Work& work) const {
  std::vector<bgv::Ciphertext> all;
  for (std::size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
    end = end_of_batch(candidates, begin, kMostCandidates);
    std::vector<bgv::Ciphertext> some = sums(some_of(candidates, begin, end), team, work);
    finish(some, team, work);
    std::ranges::move(some, std::back_inserter(all));
  }
  return all;
}

std::vector<bgv::Ciphertext> Server::sums(const Itemsets& candidates, team::Team& team,
                                          Work& work) const {
  check(candidates);
  Stopwatch watch;
  const std::size_t most = most_candidates(candidates.length());
  std::vector<bgv::Ciphertext> all;
  for (std::size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
    end = end_of_batch(candidates, begin, most);
    std::ranges::move(sums_of_batch(some_of(candidates, begin, end), team, work),
                      std::back_inserter(all));
  }
  work.seconds += watch.lap();
  return all;
}

std::vector<bgv::Ciphertext> Server::sums_of_batch(const Itemsets& candidates, team::Team& team,
                                                   Work& work) const {
  const bgv::SharedContext& context = keys_.context;
  SumsOfEachWorker workers(context, candidates.size(),
                           primes_of_factors(candidates.length(), context->primes()));
  const std::vector<CountTask> tasks =
      plan_tasks(candidates, database_.blocks(), kTasksOfPu * pus());
  const Sums sums = team.map_reduce<Sums>(
      tasks.size(),
      [&](std::size_t i) {
        Sums own{.running = workers.of_this_worker(), .finished = {}, .work = {}};
        TaskCounter(candidates, database_, evaluator_, tasks[i], *own.running).count();
        return own;
      },
      Sums{}, [&](Sums a, Sums b) { return combined(std::move(a), std::move(b), *context); });
  work += sums.work;
  if (sums.running) work += sums.running->work;
  work += {.processes = team.report().processes, .threads = team.report().threads};
  return mine::finished(sums, candidates.size(), context);
}

bgv::Ciphertext Server::finished(const bgv::Ciphertext& sum) const {
  bgv::Ciphertext result = sum;
  if (keys_.scheme.hide_slots) {
    result = evaluator_.sum_slots(sum.components() == 2 ? sum : evaluator_.relinearise(sum));
  }
  while (may_lose_a_prime(*keys_.context, result)) result = evaluator_.switch_modulus(result);
  return result;
}

void Server::finish(std::vector<bgv::Ciphertext>& sums, team::Team& team, Work& work) const {
  Stopwatch watch;
  const auto results = team.map<StoredCiphertext>(
      sums.size(), [&](std::size_t i) { return StoredCiphertext::of(finished(sums[i])); });
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = results[i].restored(*keys_.context);
  if (keys_.scheme.hide_slots) {
    const auto rotations = static_cast<std::uint64_t>(std::bit_width(keys_.context->degree()) - 1);
    work.key_switches += sums.size() * (1 + rotations);
  }
  work.seconds += watch.lap();
}

}  // namespace tabane::mine
