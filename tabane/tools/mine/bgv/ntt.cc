#include "tabane/tools/mine/bgv/ntt.h"

#include <array>
#include <bit>

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bgv/ntt.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/tools/mine/bgv/butterflies-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {

#if TABANE_BGV_DOUBLES

// The first pass over all values leaves parts that the first-level cache holds: they are finished
// one after the other.
std::size_t parts(std::size_t degree) { return std::countr_zero(degree) % 2 == 1 ? 2 : 4; }

bool transform(const Ntt& ntt, std::uint64_t* values) {
  const Field field(ntt.modulus().value());
  const NttTable& table = ntt.forward_table();
  const double* const roots = table.roots.data();
  const std::size_t n = ntt.degree(), count = parts(n);
  if (count == 2) {
    forward_first_level(field, roots, values, n / 2);
  } else {
    forward_pass<true>(field, roots, values, {1, 0, 1}, n / 4);
  }
  for (std::size_t part = 0; part < count; ++part) {
    for (std::size_t groups = count; n / groups > 16; groups *= 4) {
      const std::size_t each = groups / count;
      forward_pass<false>(field, roots, values, {groups, part * each, each}, n / groups / 4);
    }
    const std::size_t blocks = n / 16, each = blocks / count;
    for (std::size_t b = part * each; b < (part + 1) * each; ++b) {
      forward_block(field, roots + blocks + b, &table.last[24 * b], values + 16 * b);
    }
  }
  return true;
}

bool transform_back(const Ntt& ntt, std::uint64_t* values) {
  const Field field(ntt.modulus().value());
  const NttTable& table = ntt.inverse_table();
  const double* const roots = table.roots.data();
  const std::size_t n = ntt.degree(), count = parts(n);
  for (std::size_t part = 0; part < count; ++part) {
    const std::size_t blocks = n / 16, blocks_each = blocks / count;
    for (std::size_t b = part * blocks_each; b < (part + 1) * blocks_each; ++b) {
      inverse_block(field, roots + blocks + b, &table.last[24 * b], values + 16 * b);
    }
    for (std::size_t groups = blocks / 4; groups >= count; groups /= 4) {
      const std::size_t each = groups / count;
      inverse_pass(field, roots, values, {groups, part * each, each}, n / groups / 4);
    }
  }
  const LastFactors factors{table.inverse_degree, table.last_root};
  if (count == 2) {
    inverse_last_level(field, factors, values, n / 2);
  } else {
    inverse_last_pass(field, roots, factors, values, n / 4);
  }
  return true;
}

#else

bool transform(const Ntt&, std::uint64_t*) { return false; }
bool transform_back(const Ntt&, std::uint64_t*) { return false; }

#endif

}  // namespace tabane::mine::bgv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::mine::bgv {

HWY_EXPORT(transform);
HWY_EXPORT(transform_back);

void Ntt::forward(std::span<std::uint64_t> values) const {
  TABANE_ASSERT(values.size() == degree_);
  if (!TABANE_DISPATCH(transform)(*this, values.data())) forward_reference(values);
}

void Ntt::inverse(std::span<std::uint64_t> values) const {
  TABANE_ASSERT(values.size() == degree_);
  if (!TABANE_DISPATCH(transform_back)(*this, values.data())) inverse_reference(values);
}

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

Automorphism::Automorphism(std::size_t degree, std::uint64_t exponent) : from_(degree) {
  std::vector<std::uint32_t> position(degree);  // of each odd exponent
  for (std::size_t i = 0; i < degree; ++i) {
    position[exponent_at(degree, i) / 2] = static_cast<std::uint32_t>(i);
  }
  for (std::size_t e = 0; e < degree; ++e) {
    from_[position[e]] = position[((2 * e + 1) * exponent & (2 * degree - 1)) / 2];
  }
}

void Automorphism::apply(ConstResidues values, Residues out) const {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[from_[i]];
}

}  // namespace tabane::mine::bgv
#endif
