#include "tabane/workloads/aes_dir/key_ring.h"

#include <fmt/format.h>

namespace tabane::workloads::aes_dir {

const MasterKey& KeyRing::master_for(const Header& header) {
  constexpr std::size_t kMostDerivations = 256;
  if (header.source == KeySource::key_file) {
    if (passphrase_.empty()) return key_;
    throw core::Error("it was sealed with a key file, not with a passphrase");
  }
  if (passphrase_.empty()) throw core::Error("it was sealed with a passphrase, not a key file");
  const std::lock_guard lock(mutex_);
  const auto found = derived_.find(header.scrypt);
  if (found != derived_.end()) return found->second;
  if (derived_.size() == kMostDerivations) {
    throw core::Error(fmt::format(
        "its passphrase has other scrypt parameters than {} files before it; open it in a run of "
        "its own",
        kMostDerivations));
  }
  return derived_.emplace(header.scrypt, derive_master_key(passphrase_.bytes(), header.scrypt))
      .first->second;
}

}  // namespace tabane::workloads::aes_dir
