// The parts of counting on encrypted data: how candidates and blocks are cut into tasks, the
// products that candidates are made of, and the sums that workers collect.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/team/places.h"
#include "tabane/team/serialiser.h"
#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/bgv/product_sum.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/results.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

// PUs that may be used.
inline int pus() { return static_cast<int>(team::known_topology().pus().size()); }

// ---- tasks ----

// An itemset is the product of its first and of its other items, and each of the two again a
// product. The first factor has the largest power of two items that leaves something: so products
// have the least depth, and neighbours share their first factor.
constexpr std::size_t first_factor_length(std::size_t length) { return std::bit_floor(length - 1); }

inline std::span<const Item> first_factor(std::span<const Item> itemset) {
  return itemset.first(first_factor_length(itemset.size()));
}
inline std::span<const Item> other_factor(std::span<const Item> itemset) {
  return itemset.subspan(first_factor_length(itemset.size()));
}

struct CountTask {
  std::size_t candidate_begin = 0, candidate_end = 0, block_begin = 0, block_end = 0;

  std::size_t candidates() const { return candidate_end - candidate_begin; }
  std::size_t blocks() const { return block_end - block_begin; }
  bool operator==(const CountTask&) const = default;
};

// Returns where a batch of at most `most` candidates ends: if possible, where the first factor
// changes. begin: < candidates.size(); most: > 0.
std::size_t end_of_batch(const Itemsets& candidates, std::size_t begin, std::size_t most);

// Calls f with the candidates, batch by batch.
template <class F>
void for_batches(const Itemsets& candidates, std::size_t most, const F& f) {
  for (std::size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
    end = end_of_batch(candidates, begin, most);
    f(candidates.part(begin, end));
  }
}

// Returns tasks that cover each candidate in each block once, about as many as wanted: the blocks
// are cut first, because what is read of a block serves all candidates, and the candidates where
// there are few blocks. candidates: not empty; blocks, wanted: > 0.
std::vector<CountTask> plan_tasks(const Itemsets& candidates, std::size_t blocks,
                                  std::size_t wanted);

// ---- products ----

// Returns how many of the primes the two factors of a candidate of this length have left: a product
// of depth d has lost d primes.
std::size_t primes_of_factors(std::size_t length, std::size_t primes);

// The products that a block's candidates are made of, each computed once. One thread at a time.
class ProductCache {
 public:
  // All must live as long as this. work: key switches are added to it.
  ProductCache(const EncryptedDatabase& database, const bgv::Evaluator& evaluator, Work& work)
      : database_(database), evaluator_(evaluator), work_(work) {}

  // Forgets the products of the previous block.
  void begin(std::size_t block) {
    block_ = block;
    products_.clear();
  }

  // Returns the product of the items' ciphertexts with so many primes left; valid until begin().
  // cost: a product, a key switch and the division by a prime for each product that is new.
  bgv::CiphertextView product(std::span<const Item> items, std::size_t primes);

 private:
  bgv::Ciphertext computed(std::span<const Item> items, std::size_t primes);

  const EncryptedDatabase& database_;
  const bgv::Evaluator& evaluator_;
  Work& work_;
  std::size_t block_ = 0;
  std::map<std::pair<std::vector<Item>, std::size_t>, bgv::Ciphertext> products_;
};

// ---- sums ----

// The running sums of one worker.
struct WorkerSums {
  std::vector<bgv::ProductSum> running;  // by candidate
  Work work;
};

// The result of tasks. All tasks of a worker of this process share one WorkerSums, so that nothing
// has to be merged between them; other processes send finished sums.
struct CandidateSums {
  std::shared_ptr<WorkerSums> running;                     // null: of another process
  std::map<std::uint64_t, bgv::Ciphertext> finished = {};  // then by candidate
  Work work = {};                                          // of `finished`
};

// Gives each thread of each process its own sums. A forked process leaves those of its parent
// alone.
class SumsByWorker {
 public:
  // candidates: their number; primes: of the ciphertexts that are multiplied.
  SumsByWorker(bgv::SharedContext context, std::size_t candidates, std::size_t primes)
      : context_(std::move(context)), candidates_(candidates), primes_(primes) {}

  std::shared_ptr<WorkerSums> of_this_worker();

 private:
  bgv::SharedContext context_;
  std::size_t candidates_, primes_;
  std::mutex mutex_;
  std::map<std::pair<int, std::thread::id>, std::shared_ptr<WorkerSums>> sums_;
};

// Returns the sums of both. a: of this process.
CandidateSums combined(CandidateSums a, CandidateSums b);

}  // namespace tabane::mine

template <>
struct tabane::team::Serialiser<tabane::mine::CandidateSums> {
  static void put(Bytes& out, const mine::CandidateSums& value);
  static mine::CandidateSums get(Reader& in);
};
