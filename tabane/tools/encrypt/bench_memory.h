// AES of tabane and of OpenSSL on memory, without files: what limits whole commands, and several
// streams on one core.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "tabane/core/threads.h"
#include "tabane/tools/encrypt/job.h"

namespace tabane::bench {

struct CipherKind {
  encrypt::Cipher cipher;
  std::string name;     // also after --cipher
  std::string openssl;  // the option of `openssl enc`; it has no GCM and gets CBC of the same key
  std::size_t key_bytes = 0;

  bool chained() const { return cipher != encrypt::Cipher::aes_256_gcm; }
};

std::vector<CipherKind> all_ciphers();
CipherKind gcm();

// AES of `bytes` in the pool's caches; the peer of target 0 that tells what AES alone costs.
// The pool outlives the contender.
Contender aes_alone(const CipherKind& kind, encrypt::Direction direction, std::uint64_t bytes,
                    core::PinnedPool& pool);

// CBC encryption of 16 streams on the PU `pu` against one stream of OpenSSL.
void ask_streams(Panel& panel, unsigned pu);

}  // namespace tabane::bench
