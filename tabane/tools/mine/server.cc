#include "tabane/tools/mine/server.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/tools/mine/counting.h"
#include "tabane/tools/mine/files.h"

namespace tabane::mine {
namespace {

// Tasks for each PU: enough to choose a team's shape from, and to keep all busy to the end.
constexpr std::size_t kTasksOfPu = 16;

// Bytes that each worker takes for the sums of one candidate, with all primes.
double sum_bytes(const bgv::Parameters& parameters) {
  return 6.0 * 8.0 * static_cast<double>(parameters.degree() * parameters.primes().size());
}

// Adds the products of one task to the sums of a worker.
void count_task(const Itemsets& candidates, const EncryptedDatabase& database,
                const bgv::Evaluator& evaluator, const CountTask& task, WorkerSums& all) {
  const Itemsets own = candidates.part(task.candidate_begin, task.candidate_end);
  const auto sums = std::span(all.running).subspan(task.candidate_begin, own.size());
  if (own.length() == 2) {
    std::vector<bgv::Pair> pairs;
    for (std::size_t i = 0; i < own.size(); ++i) pairs.emplace_back(own[i][0], own[i][1]);
    bgv::add_pair_products(database.views(task.block_begin, task.block_end), database.items(),
                           pairs, sums);
    all.work.products += pairs.size() * task.blocks();
    return;
  }
  const std::size_t primes = primes_of_factors(own.length(), database.context()->primes());
  ProductCache factors(database, evaluator, all.work);
  for (std::size_t block = task.block_begin; block < task.block_end; ++block) {
    factors.begin(block);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own.length() == 1) {
        sums[i].add(database.at(own[i][0], block));
        continue;
      }
      sums[i].add_product(factors.product(first_factor(own[i]), primes),
                          factors.product(other_factor(own[i]), primes));
      ++all.work.products;
    }
  }
}

// Bits that stay free, since the noise is an estimate.
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

constexpr std::size_t kWordsOfMessage = std::size_t{1} << 20;  // 8 MiB

// Broadcasts candidates; length 0 is the end.
Itemsets broadcast_candidates(comm::Comm& comm, const Itemsets& candidates) {
  return value_of<Itemsets>(broadcast_bytes(comm, bytes_of(candidates)),
                            "the candidates from rank 0");
}

}  // namespace

Server::Server(const PublicKeys& keys, const EncryptedDatabase& database, comm::Comm* ranks)
    : keys_(keys),
      database_(database),
      ranks_(ranks),
      evaluator_(keys.context, keys.evaluation ? &*keys.evaluation : nullptr) {
  if (database.key() == keys.id) return;
  throw core::UsageError("the database was encrypted with other keys than these");
}

void Server::check(const Itemsets& candidates) const {
  const std::size_t most = keys_.spec.most_length;
  if (candidates.length() > most) {
    throw core::UsageError(
        "these keys are made for itemsets of up to {} items, not {}: make keys with "
        "--max-length {}",
        most, candidates.length(), candidates.length());
  }
  for (const Item item : candidates.items()) {
    if (item < database_.items()) continue;
    throw core::UsageError("a candidate has item {} of a database with {} items", item,
                           database_.items());
  }
}

// Sums take memory in every worker: workers share half of what is free, results take the rest.
std::size_t Server::most_candidates(std::size_t length) const {
  const double each = sum_bytes(keys_.context->parameters()) * (length < 3 ? 1.5 : 2.5);
  const auto usable = core::usable_memory_bytes();
  const double workers = 2.0 * pus();
  const double fit = usable ? *usable / 2 / (each * workers) : kMostCandidates;
  if (fit < 1) {
    throw core::UsageError("there is not enough memory left to count a single candidate");
  }
  return std::min(static_cast<std::size_t>(fit), kMostCandidates);
}

std::vector<bgv::Ciphertext> Server::sums(const Itemsets& candidates, team::Team& team,
                                          Work& work) const {
  check(candidates);
  if (database_.blocks() == 0) {  // of a rank without any: 0
    bgv::Ciphertext zero(keys_.context->degree(), 3,
                         primes_of_factors(candidates.length(), keys_.context->primes()));
    std::ranges::fill(zero.words(), 0);
    zero.key = keys_.id;
    return std::vector<bgv::Ciphertext>(candidates.size(), zero);
  }
  std::vector<bgv::Ciphertext> all;
  for_batches(candidates, most_candidates(candidates.length()), [&](const Itemsets& batch) {
    std::ranges::move(sums_of_batch(batch, team, work), std::back_inserter(all));
  });
  return all;
}

std::vector<bgv::Ciphertext> Server::sums_of_batch(const Itemsets& candidates, team::Team& team,
                                                   Work& work) const {
  const bgv::SharedContext& context = keys_.context;
  SumsByWorker workers(context, candidates.size(),
                       primes_of_factors(candidates.length(), context->primes()));
  const std::vector<CountTask> tasks =
      plan_tasks(candidates, database_.blocks(), kTasksOfPu * static_cast<std::size_t>(pus()));
  CandidateSums sums = team.map_reduce<CandidateSums>(
      tasks.size(),
      [&](std::size_t i) {
        CandidateSums own{.running = workers.of_this_worker()};
        count_task(candidates, database_, evaluator_, tasks[i], *own.running);
        return own;
      },
      CandidateSums{.running = workers.of_this_worker()}, combined);
  work += sums.running->work;
  work += {.processes = team.report().processes, .threads = team.report().threads};
  std::vector<bgv::Ciphertext> finished;
  for (const bgv::ProductSum& sum : sums.running->running) finished.push_back(sum.finish());
  return finished;
}

void Server::finish(std::vector<bgv::Ciphertext>& sums, team::Team& team, Work& work) const {
  sums = team.map<bgv::Ciphertext>(sums.size(), [&](std::size_t i) {
    bgv::Ciphertext result = sums[i];
    if (keys_.spec.hide_slots) {
      result =
          evaluator_.sum_slots(result.components() == 2 ? result : evaluator_.relinearise(result));
    }
    while (may_lose_a_prime(*keys_.context, result)) result = evaluator_.switch_modulus(result);
    return result;
  });
  if (!keys_.spec.hide_slots) return;
  const auto rotations = static_cast<std::uint64_t>(std::bit_width(keys_.context->degree()) - 1);
  work.key_switches += sums.size() * (1 + rotations);
}

BlockRange blocks_of_rank(std::size_t blocks, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  const auto first = [&](int r) { return (blocks * static_cast<std::size_t>(r) + all - 1) / all; };
  return {first(rank), first(rank + 1)};
}

team::Bytes broadcast_bytes(comm::Comm& comm, team::Bytes bytes) {
  std::uint64_t size = bytes.size();
  comm::broadcast(comm, size, 0);
  bytes.resize(size);
  if (size > 0) comm::broadcast(comm, bytes, 0);
  return bytes;
}

void check_memory_of_ranks(comm::Comm& comm, const bgv::Parameters& parameters,
                           DatabaseShape shape) {
  const double usable = comm::usable_memory_of_all(comm) / comm.size();
  if (comm.rank() != 0) return;
  const BlockRange own = blocks_of_rank(shape.blocks, 0, comm.size());
  check_memory(parameters, {.items = shape.items, .blocks = own.size()}, usable);
}

// Many sums in one message: each reduction waits for the slowest rank. Residues have less than 50
// bits, so the integers of 4096 ranks add up without loss, and are reduced once.
void Server::add_all(std::vector<bgv::Ciphertext>& sums) const {
  if (sums.empty()) return;
  const std::size_t each = sums.front().words().size();
  const std::size_t at_once = std::max<std::size_t>(kWordsOfMessage / each, 1);
  std::vector<std::uint64_t> words;
  for (std::size_t begin = 0; begin < sums.size(); begin += at_once) {
    const std::size_t end = std::min(begin + at_once, sums.size());
    words.clear();
    for (std::size_t i = begin; i < end; ++i) {
      words.insert(words.end(), sums[i].words().begin(), sums[i].words().end());
    }
    comm::reduce(*ranks_, words, comm::Operation::sum, 0);
    if (ranks_->rank() != 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<std::uint64_t> sum = sums[i].words();
      for (std::size_t at = 0, n = keys_.context->degree(); at < each; at += n) {
        const bgv::Modulus& modulus = keys_.context->modulus(at / n % sums[i].primes());
        for (std::size_t k = at; k < at + n; ++k) {
          sum[k] = modulus.reduce(words[(i - begin) * each + k]);
        }
      }
      sums[i].deviation += std::log2(ranks_->size());  // no rank has more blocks than rank 0
    }
  }
}

std::vector<bgv::Ciphertext> Server::sums_of_all(const Itemsets& candidates, team::Team& team,
                                                 Work& work) const {
  std::vector<bgv::Ciphertext> sums = this->sums(candidates, team, work);
  if (ranks_ == nullptr) return sums;
  add_all(sums);
  std::array<std::uint64_t, 2> done{work.products, work.key_switches};
  comm::reduce(*ranks_, done, comm::Operation::sum, 0);
  work.products = done[0];
  work.key_switches = done[1];
  return sums;
}

std::vector<bgv::Ciphertext> Server::count(const Itemsets& candidates, team::Team& team,
                                           Work& work) const {
  if (ranks_ != nullptr) ranks_->set_phase("counting candidates");
  std::vector<bgv::Ciphertext> all;
  for_batches(candidates, kMostCandidates, [&](const Itemsets& batch) {
    Stopwatch watch;
    Work done;
    if (ranks_ != nullptr) broadcast_candidates(*ranks_, batch);
    std::vector<bgv::Ciphertext> sums = sums_of_all(batch, team, done);
    finish(sums, team, done);
    std::ranges::move(sums, std::back_inserter(all));
    done.seconds = watch.lap();
    work += done;
  });
  return all;
}

void Server::end() const {
  if (ranks_ != nullptr) broadcast_candidates(*ranks_, Itemsets());
}

void Server::serve(team::Team& team) const {
  for (;;) {
    ranks_->set_phase("waiting for candidates");
    const Itemsets candidates = broadcast_candidates(*ranks_, {});
    if (candidates.length() == 0) return;
    ranks_->set_phase("counting candidates");
    Work own;
    sums_of_all(candidates, team, own);
  }
}

}  // namespace tabane::mine
