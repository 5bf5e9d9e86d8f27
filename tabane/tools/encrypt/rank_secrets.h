// What opens and seals a tree, on its way from rank 0 to another rank: each 32 bytes are wrapped as
// a tree's key is for a recipient, for a key pair that the other rank has drawn for this job alone.
#pragma once

#include <vector>

#include "tabane/crypto/key_derivation.h"
#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/key_wrap.h"
#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

struct WrappedBlock {
  crypto::X25519Public ephemeral{};
  WrappedKey wrapped{};
};

// The secrets of a job, as one piece of memory.
class RankSecrets {
 public:
  // The request's key, passphrase and identities, and the tree's key, if there is one.
  RankSecrets(const Request& request, const TreeKey* tree);
  // What wrap() of another rank has returned. throws: core::Error if it is not for this pair.
  RankSecrets(const std::vector<WrappedBlock>& blocks, const crypto::X25519Secret& secret,
              const crypto::X25519Public& own);

  std::vector<WrappedBlock> wrap(const crypto::X25519Public& recipient) const;

  // Puts them back. Returns the tree's key, or nothing.
  std::optional<TreeKey> unpack(Request& request) const;

 private:
  crypto::LockedMemory memory_;  // head, keys, identities, passphrase; whole blocks
};

}  // namespace tabane::encrypt
