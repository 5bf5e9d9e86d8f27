// What workers collect: for each candidate a sum of products over blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/team/serialiser.h"
#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/bgv/product_sum.h"
#include "tabane/tools/mine/outcome.h"

namespace tabane::mine {

// A ciphertext as a value with fields(), for messages and files.
struct StoredCiphertext {
  std::uint64_t degree = 0, components = 0, primes = 0;
  double deviation = 0;
  bgv::KeyId key{};
  bgv::Words words;

  auto fields() { return std::tie(degree, components, primes, deviation, key, words); }
  static StoredCiphertext of(const bgv::CiphertextView& ciphertext);
  // throws: core::UsageError if the words are not as many as is said, or no residues.
  bgv::Ciphertext restored(const bgv::Context& context) const;
};

// The sums of one worker, for all candidates of a counting.
struct WorkerSums {
  std::vector<bgv::ProductSum> running;  // by candidate
  Work work;
};

// What a task leaves. All tasks of a worker of this process share one WorkerSums, so that nothing
// has to be merged between them; from another process come finished sums.
struct Sums {
  std::shared_ptr<WorkerSums> running;
  std::map<std::uint64_t, StoredCiphertext> finished;  // by candidate
  Work work;                                           // of `finished`

  bool empty() const { return !running && finished.empty(); }
};

// Gives each thread of each process its own sums. A process that is forked finds those of its
// parent and does not touch them.
class SumsOfEachWorker {
 public:
  // candidates: how many; primes: of what is multiplied.
  SumsOfEachWorker(bgv::SharedContext context, std::size_t candidates, std::size_t primes)
      : context_(std::move(context)), candidates_(candidates), primes_(primes) {}

  std::shared_ptr<WorkerSums> of_this_worker();

 private:
  bgv::SharedContext context_;
  std::size_t candidates_, primes_;
  std::mutex mutex_;
  std::map<std::pair<int, std::thread::id>, std::shared_ptr<WorkerSums>> sums_;
};

// Returns the sums of both.
Sums combined(Sums a, Sums b, const bgv::Context& context);

// Returns the ciphertexts of three components, by candidate. throws: core::Error if one has no sum.
std::vector<bgv::Ciphertext> finished(const Sums& sums, std::size_t candidates,
                                      const bgv::SharedContext& context);

}  // namespace tabane::mine

template <>
struct tabane::team::Serialiser<tabane::mine::Sums> {
  using Sums = mine::Sums;
  static void put(Bytes& out, const Sums& value);
  static Sums get(Reader& in);
};
