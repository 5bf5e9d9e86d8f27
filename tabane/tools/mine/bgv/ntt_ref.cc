#include <array>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/ntt.h"

namespace tabane::mine::bgv {

// Cooley and Tukey's butterflies, bit-reversed out. Source: Longa and Naehrig, ia.cr/2016/504.
void Ntt::forward_reference(std::span<std::uint64_t> values) const {
  TABANE_ASSERT(values.size() == degree_);
  std::size_t half = degree_;
  for (std::size_t groups = 1; groups < degree_; groups *= 2) {
    half /= 2;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::uint64_t w = roots_[groups + g];
      std::uint64_t* const x = values.data() + 2 * g * half;
      for (std::size_t i = 0; i < half; ++i) {
        const std::uint64_t product = modulus_.multiply(x[half + i], w);
        x[half + i] = modulus_.subtract(x[i], product);
        x[i] = modulus_.add(x[i], product);
      }
    }
  }
  for (std::size_t begin = 0; begin < degree_; begin += 16) {
    std::array<std::uint64_t, 16> block;
    for (std::size_t i = 0; i < 16; ++i) block[(i & 1) * 8 + i / 2] = values[begin + i];
    for (std::size_t i = 0; i < 16; ++i) values[begin + i] = block[i];
  }
}

// Gentleman and Sande's butterflies, bit-reversed in.
void Ntt::inverse_reference(std::span<std::uint64_t> values) const {
  TABANE_ASSERT(values.size() == degree_);
  for (std::size_t begin = 0; begin < degree_; begin += 16) {
    std::array<std::uint64_t, 16> block;
    for (std::size_t i = 0; i < 16; ++i) block[i] = values[begin + (i & 1) * 8 + i / 2];
    for (std::size_t i = 0; i < 16; ++i) values[begin + i] = block[i];
  }
  std::size_t half = 1;
  for (std::size_t groups = degree_ / 2; groups > 0; groups /= 2) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::uint64_t w = inverse_roots_[groups + g];
      std::uint64_t* const x = values.data() + 2 * g * half;
      for (std::size_t i = 0; i < half; ++i) {
        const std::uint64_t difference = modulus_.subtract(x[i], x[half + i]);
        x[i] = modulus_.add(x[i], x[half + i]);
        x[half + i] = modulus_.multiply(difference, w);
      }
    }
    half *= 2;
  }
  for (std::uint64_t& value : values) value = modulus_.multiply(value, inverse_degree_);
}

}  // namespace tabane::mine::bgv
