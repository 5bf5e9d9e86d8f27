#include "tabane/workloads/aes_dir/key_ring.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/workloads/aes_dir/openssl.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr std::size_t kParametersAt = 11, kSaltAt = 16;  // in the header

// Threads that nobody waits for, until the process ends: then they must not use the crypto library
// while it cleans up. A process that is ended by a signal waits for nothing.
class LeftAlone {
 public:
  static void keep(std::thread thread) {
    static LeftAlone all;
    const std::lock_guard lock(all.mutex_);
    all.threads_.push_back(std::move(thread));
  }
  ~LeftAlone() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  // What is initialised first is cleaned up last.
  LeftAlone() { require(OPENSSL_init_crypto(0, nullptr) == 1, "its start"); }

  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace

DerivationLimits DerivationLimits::none() {
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  return {.work = kAny, .memory = kAny, .sets = std::numeric_limits<std::size_t>::max()};
}

void KeyRing::require_within_limits(const ScryptParameters& s) const {
  if (s.work() > limits_.work || s.memory() > limits_.memory) {
    throw DamageError(
        fmt::format("its header asks for a costly derivation of the key (N = 2^{}, r = {}, p = {}, "
                    "{} MiB of memory), and may be damaged or malicious; if it is neither, "
                    "--allow-costly-passphrase derives it",
                    s.log2_n, s.r, s.p, s.memory() >> 20),
        kParametersAt);
  }
  if (derived_.size() >= limits_.sets) {
    throw DamageError(
        fmt::format("its header has the {}th set of scrypt parameters, each of which costs a "
                    "derivation of the key; --allow-costly-passphrase derives them all",
                    limits_.sets + 1),
        kSaltAt);
  }
}

MasterKey KeyRing::derive(const ScryptParameters& parameters) const {
  using Derivation = std::packaged_task<MasterKey()>;
  auto copy = std::make_shared<const Passphrase>(Passphrase::of(passphrase_.bytes()));
  Derivation derivation(
      [copy, parameters] { return derive_master_key(copy->bytes(), parameters); });
  std::future<MasterKey> result = derivation.get_future();
  std::thread thread(std::move(derivation));
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (!stop_requested_()) continue;
    LeftAlone::keep(std::move(thread));
    throw Stopped();
  }
  thread.join();
  return result.get();
}

const MasterKey& KeyRing::master_for(const Header& header) {
  if (header.source == KeySource::key_file) {
    if (passphrase_.empty()) return key_;
    throw core::Error("it was sealed with a key file, not with a passphrase");
  }
  if (passphrase_.empty()) throw core::Error("it was sealed with a passphrase, not a key file");
  const std::lock_guard lock(mutex_);
  const auto found = derived_.find(header.scrypt);
  if (found != derived_.end()) return found->second;
  require_within_limits(header.scrypt);
  if (stop_requested_()) throw Stopped();
  return derived_.emplace(header.scrypt, derive(header.scrypt)).first->second;
}

}  // namespace tabane::workloads::aes_dir
