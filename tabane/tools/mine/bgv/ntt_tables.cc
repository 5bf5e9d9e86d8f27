#include <bit>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/ntt.h"

namespace tabane::mine::bgv {
namespace {

std::size_t reversed(std::size_t i, int bits) {
  std::size_t result = 0;
  for (int b = 0; b < bits; ++b) result |= (i >> b & 1) << (bits - 1 - b);
  return result;
}

int log2_of(std::size_t degree) { return std::countr_zero(degree); }

}  // namespace

std::size_t position_of(std::size_t degree, std::uint64_t exponent) {
  const std::size_t i = reversed(exponent / 2, log2_of(degree));
  return (i & ~std::size_t{15}) | (i & 1) << 3 | (i & 15) >> 1;
}

std::uint64_t exponent_at(std::size_t degree, std::size_t position) {
  const std::size_t i = (position & ~std::size_t{15}) | (position & 7) << 1 | (position >> 3 & 1);
  return 2 * reversed(i, log2_of(degree)) + 1;
}

Ntt::Ntt(std::size_t degree, const Modulus& modulus)
    : degree_(degree), modulus_(modulus), roots_(degree), inverse_roots_(degree) {
  TABANE_ASSERT(std::has_single_bit(degree) && degree >= 32);
  root_ = root_of_unity(modulus, 2 * degree);
  inverse_degree_ = modulus.inverse(modulus.reduce(degree));
  const std::uint64_t back = modulus.inverse(root_);
  std::uint64_t power = 1, inverse_power = 1;
  for (std::size_t i = 0; i < degree; ++i) {
    const std::size_t at = reversed(i, log2_of(degree));
    roots_[at] = power;
    inverse_roots_[at] = inverse_power;
    power = modulus.multiply(power, root_);
    inverse_power = modulus.multiply(inverse_power, back);
  }
  forward_ = table_of(roots_);
  inverse_ = table_of(inverse_roots_);
}

// Two, four and eight butterflies of a block have 8 lanes' worth of twiddles each.
NttTable Ntt::table_of(const Words& roots) const {
  const auto value = [&](std::uint64_t w) { return static_cast<double>(modulus_.centred(w)); };
  NttTable table{.roots = Doubles(degree_), .last = Doubles(degree_ / 16 * 24)};
  for (std::size_t i = 0; i < degree_; ++i) table.roots[i] = value(roots[i]);
  double* out = table.last.data();
  for (std::size_t block = 0; block < degree_ / 16; ++block) {
    for (const std::size_t each : {2, 4, 8}) {
      const std::uint64_t* const first = &roots[(degree_ / 16 + block) * each];
      for (std::size_t lane = 0; lane < 8; ++lane) *out++ = value(first[lane * each / 8]);
    }
  }
  table.inverse_degree = value(inverse_degree_);
  table.last_root = value(modulus_.multiply(roots[1], inverse_degree_));
  return table;
}

}  // namespace tabane::mine::bgv
