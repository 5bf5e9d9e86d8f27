// The master keys of a run: the one of the key file, or one for every set of scrypt parameters that
// the headers bring.
#pragma once

#include <map>
#include <mutex>

#include "tabane/workloads/aes_dir/keys.h"
#include "tabane/workloads/aes_dir/sealed_format.h"

namespace tabane::workloads::aes_dir {

class KeyRing {
 public:
  // key: used if the passphrase is empty. Both live as long as the ring.
  KeyRing(const MasterKey& key, const Passphrase& passphrase)
      : key_(key), passphrase_(passphrase) {}

  // Returns the key that a header asks for; derives it the first time. Thread-safe.
  // throws: core::Error if the header asks for the other source of keys, or after 256 sets of
  // parameters, each of which costs time and memory that a stranger may have chosen.
  const MasterKey& master_for(const Header& header);

 private:
  const MasterKey& key_;
  const Passphrase& passphrase_;
  std::mutex mutex_;
  std::map<ScryptParameters, MasterKey> derived_;
};

}  // namespace tabane::workloads::aes_dir
