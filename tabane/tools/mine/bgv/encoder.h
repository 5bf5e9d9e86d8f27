// Vectors of N numbers modulo t as plaintexts whose sums and products are those of the vectors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"

namespace tabane::mine::bgv {

// The slots are two rows of N / 2: slot i of the first is the value at psi^(3^i), of the second
// that at psi^-(3^i), where psi has order 2 N modulo t. Source: Smart and Vercauteren,
// ia.cr/2011/133.
class Encoder {
 public:
  explicit Encoder(SharedContext context);

  std::size_t slots() const { return context_->degree(); }
  // slots: at most N, each below t; the others are 0. throw: core::UsageError.
  Plaintext encode(std::span<const std::uint64_t> slots) const;
  Plaintext encode(std::span<const std::uint8_t> slots) const;
  std::vector<std::uint64_t> decode(const Plaintext& plaintext) const;
  // The slots' sum, not reduced. cost: as decode().
  std::uint64_t sum(const Plaintext& plaintext) const;

 private:
  template <class T>
  Plaintext encode_slots(std::span<const T> slots) const;

  SharedContext context_;
  std::vector<std::uint32_t> positions_;  // in the transform's order, by slot
};

}  // namespace tabane::mine::bgv
