#include "tabane/tools/mine/sums.h"

#include <unistd.h>

#include <algorithm>

#include "tabane/core/error.h"

namespace tabane::mine {
namespace {

[[noreturn]] void throw_no_ciphertext() {
  throw core::UsageError("what should be a ciphertext is none: it is damaged");
}

// sum += term, residue by residue.
void add(StoredCiphertext& sum, const StoredCiphertext& term, const bgv::Context& context) {
  bgv::Ciphertext added = sum.restored(context);
  std::size_t at = 0;
  for (std::size_t component = 0; component < added.components(); ++component) {
    for (std::size_t prime = 0; prime < added.primes(); ++prime) {
      const bgv::Modulus& modulus = context.modulus(prime);
      for (std::uint64_t& residue : added.residues(component, prime)) {
        residue = modulus.add(residue, term.words[at++]);
      }
    }
  }
  const double deviation = context.noise().sum(sum.deviation, term.deviation);
  sum = StoredCiphertext::of(added);
  sum.deviation = deviation;
}

}  // namespace

StoredCiphertext StoredCiphertext::of(const bgv::CiphertextView& ciphertext) {
  const std::size_t size =
      bgv::Ciphertext::size_of(ciphertext.degree, ciphertext.components, ciphertext.primes);
  return {.degree = ciphertext.degree,
          .components = ciphertext.components,
          .primes = ciphertext.primes,
          .deviation = ciphertext.deviation,
          .key = ciphertext.key,
          .words = bgv::Words(ciphertext.words, ciphertext.words + size)};
}

bgv::Ciphertext StoredCiphertext::restored(const bgv::Context& context) const {
  if (degree != context.degree() || components < 2 || components > 3 || primes == 0 ||
      primes > context.primes() || words.size() != degree * components * primes) {
    throw_no_ciphertext();
  }
  bgv::Ciphertext ciphertext(degree, components, primes);
  std::ranges::copy(words, ciphertext.words().begin());
  ciphertext.deviation = deviation;
  ciphertext.key = key;
  for (std::size_t component = 0; component < components; ++component) {
    for (std::size_t prime = 0; prime < primes; ++prime) {
      const auto residues = ciphertext.residues(component, prime);
      if (*std::ranges::max_element(residues) >= context.modulus(prime).value()) {
        throw_no_ciphertext();
      }
    }
  }
  return ciphertext;
}

std::shared_ptr<WorkerSums> SumsOfEachWorker::of_this_worker() {
  const std::lock_guard lock(mutex_);
  auto& own = sums_[{static_cast<int>(::getpid()), std::this_thread::get_id()}];
  if (!own) {
    own = std::make_shared<WorkerSums>();
    own->running.assign(candidates_, bgv::ProductSum(context_, primes_));
  }
  return own;
}

Sums combined(Sums a, Sums b, const bgv::Context& context) {
  if (b.running && b.running != a.running) {
    if (a.running) {
      for (std::size_t i = 0; i < a.running->running.size(); ++i) {
        bgv::ProductSum& other = b.running->running[i];
        if (!other.empty()) a.running->running[i].add(other);
        other.clear();
      }
      a.running->work += std::exchange(b.running->work, {});
    } else {
      a.running = b.running;
    }
  }
  for (auto& [candidate, ciphertext] : b.finished) {
    const auto [at, is_new] = a.finished.try_emplace(candidate, std::move(ciphertext));
    if (!is_new) add(at->second, ciphertext, context);
  }
  a.work += b.work;
  return a;
}

std::vector<bgv::Ciphertext> finished(const Sums& sums, std::size_t candidates,
                                      const bgv::SharedContext& context) {
  const bgv::Evaluator evaluator(context);
  std::vector<bgv::Ciphertext> all;
  all.reserve(candidates);
  for (std::size_t i = 0; i < candidates; ++i) {
    const auto there = sums.finished.find(i);
    const bool runs = sums.running && !sums.running->running[i].empty();
    if (!runs && there == sums.finished.end()) {
      throw core::Error("a candidate was not counted");
    }
    if (!runs) {
      all.push_back(there->second.restored(*context));
      continue;
    }
    all.push_back(sums.running->running[i].finish());
    if (there != sums.finished.end()) {
      evaluator.add_in_place(all.back(), there->second.restored(*context));
    }
  }
  return all;
}

}  // namespace tabane::mine

namespace tabane::team {

using mine::StoredCiphertext;
using mine::Work;

void Serialiser<mine::Sums>::put(Bytes& out, const Sums& value) {
  std::map<std::uint64_t, StoredCiphertext> finished = value.finished;
  Work work = value.work;
  if (value.running) {
    // In a child process, where nothing has come from another one.
    for (std::size_t i = 0; i < value.running->running.size(); ++i) {
      const auto& sum = value.running->running[i];
      if (!sum.empty()) finished.emplace(i, StoredCiphertext::of(sum.finish()));
    }
    work += value.running->work;
  }
  put_value(out, finished);
  put_value(out, work);
}

mine::Sums Serialiser<mine::Sums>::get(Reader& in) {
  Sums sums;
  sums.finished = get_value<std::map<std::uint64_t, StoredCiphertext>>(in);
  sums.work = get_value<Work>(in);
  return sums;
}

}  // namespace tabane::team
