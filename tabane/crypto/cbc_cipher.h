// AES-CBC. A chain is serial, but independent chains share a core's AES pipelines: encrypting
// `lanes()` chains takes hardly longer than one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "tabane/crypto/engine.h"

namespace tabane::crypto {

inline constexpr std::size_t kBlockBytes = 16;
using Block = std::array<std::byte, kBlockBytes>;

// The next piece of one chain.
struct ChainPiece {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;  // may be `in`; otherwise no overlap
  std::size_t bytes = 0;     // a multiple of kBlockBytes, also 0
  Block* iv = nullptr;       // in: the block before this piece; out: the piece's last cipher block
};

// One thread at a time.
class CbcCipher {
 public:
  // key: 16 or 32 bytes, AES-128 or AES-256.
  explicit CbcCipher(std::span<const std::byte> key, Engine engine = Engine::automatic);
  ~CbcCipher();  // wipes the key
  CbcCipher(const CbcCipher&) = delete;
  CbcCipher& operator=(const CbcCipher&) = delete;

  // Chains that are encrypted at about the cost of one: 1 for openssl, 8 or 16 for ipsec_mb.
  std::size_t lanes() const;

  // Encrypts pieces of different chains; any number of any lengths, best are multiples of lanes()
  // of one length. throws: core::Error if the library fails.
  void encrypt(std::span<const ChainPiece> pieces);

  // Decrypts a piece. cost: no chain, so it runs at the speed of the pipelines.
  void decrypt(const ChainPiece& piece);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes PKCS#7 padding behind the `bytes` in `buffer`, which has room for a block more; returns
// the padded length, bytes + 1 … bytes + 16.
std::size_t pad_pkcs7(std::byte* buffer, std::size_t bytes);

// Returns the length without padding of decrypted bytes, or -1 if the padding is not legal. Looks
// at every byte of the last block whatever they are. bytes: a multiple of 16, at least 16.
std::ptrdiff_t unpad_pkcs7(std::span<const std::byte> bytes);

}  // namespace tabane::crypto
