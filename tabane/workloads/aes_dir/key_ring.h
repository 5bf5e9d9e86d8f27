// The master keys of a run: the one of the key file, or one for every set of scrypt parameters that
// the headers bring.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <mutex>

#include "tabane/workloads/aes_dir/keys.h"
#include "tabane/workloads/aes_dir/sealed_format.h"

namespace tabane::workloads::aes_dir {

// The job was asked to stop; no failure of the file.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// What a run spends on parameters that a stranger may have written: nothing authenticates them
// before the key is derived.
struct DerivationLimits {
  std::uint64_t work = std::uint64_t{4} << (3 + kPassphraseLog2N);  // N r p: four times our own
  std::uint64_t memory = std::uint64_t{1} << 30;                    // bytes
  std::size_t sets = 4;                                             // of different parameters

  static DerivationLimits none();  // but those of the format
};

class KeyRing {
 public:
  // key: used if the passphrase is empty. Both live as long as the ring.
  // stop_requested: looked at while a key is derived.
  KeyRing(
      const MasterKey& key, const Passphrase& passphrase, DerivationLimits limits = {},
      std::function<bool()> stop_requested = [] { return false; })
      : key_(key),
        passphrase_(passphrase),
        limits_(limits),
        stop_requested_(std::move(stop_requested)) {}

  // Returns the key that a header asks for; derives it the first time. Thread-safe.
  // throws: core::Error if the header asks for the other source of keys; DamageError if it asks for
  // more than the limits; Stopped: then the derivation, which nothing can interrupt, goes on in a
  // thread that the end of the process waits for, unless a signal ends it.
  const MasterKey& master_for(const Header& header);

 private:
  void require_within_limits(const ScryptParameters& parameters) const;
  MasterKey derive(const ScryptParameters& parameters) const;

  const MasterKey& key_;
  const Passphrase& passphrase_;
  const DerivationLimits limits_;
  const std::function<bool()> stop_requested_;
  std::mutex mutex_;
  std::map<ScryptParameters, MasterKey> derived_;
};

}  // namespace tabane::workloads::aes_dir
