#include "tabane/tools/mine/bgv/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tabane/core/error.h"

namespace tabane::mine::bgv {

Encoder::Encoder(SharedContext context) : context_(std::move(context)), positions_(slots()) {
  const std::size_t n = slots();
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < n / 2; ++i) {
    positions_[i] = static_cast<std::uint32_t>(position_of(n, power));
    positions_[n / 2 + i] = static_cast<std::uint32_t>(position_of(n, 2 * n - power));
    power = power * 3 & (2 * n - 1);
  }
}

template <class T>
Plaintext Encoder::encode_slots(std::span<const T> slots) const {
  const std::uint64_t t = context_->plaintext_modulus().value();
  if (slots.size() > this->slots()) {
    throw core::UsageError(
        fmt::format("a plaintext has {} slots, not {}", this->slots(), slots.size()));
  }
  Plaintext plaintext{Words(this->slots(), 0)};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= t) {
      throw core::UsageError(
          fmt::format("slot {} holds {}; the plaintext modulus is {}", i, slots[i], t));
    }
    plaintext.coefficients[positions_[i]] = slots[i];
  }
  context_->plaintext_ntt().inverse(plaintext.coefficients);
  return plaintext;
}

Plaintext Encoder::encode(std::span<const std::uint64_t> slots) const {
  return encode_slots(slots);
}
Plaintext Encoder::encode(std::span<const std::uint8_t> slots) const { return encode_slots(slots); }

std::vector<std::uint64_t> Encoder::decode(const Plaintext& plaintext) const {
  TABANE_ASSERT(plaintext.coefficients.size() == slots());
  Words values = plaintext.coefficients;
  context_->plaintext_ntt().forward(values);
  std::vector<std::uint64_t> slots(values.size());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = values[positions_[i]];
  return slots;
}

std::uint64_t Encoder::sum(const Plaintext& plaintext) const {
  const std::vector<std::uint64_t> slots = decode(plaintext);
  return std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
}

}  // namespace tabane::mine::bgv
