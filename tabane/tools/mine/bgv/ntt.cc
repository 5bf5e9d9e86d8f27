#include "tabane/tools/mine/bgv/ntt.h"

#include <array>
#include <bit>

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bgv/ntt.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/tools/mine/bgv/field-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {

#if TABANE_BGV_DOUBLES

// The passes of the transforms. Residues are signed; comments bound their size as a multiple of p:
// a product of x is at most R(x) = 1/2 + x/8 and takes x up to 4, and sums must stay below 8, where
// doubles cease to hold all integers.

HWY_INLINE V same(const double* value) { return hn::Set(D(), *value); }

// Cooley and Tukey's: (x, y) -> (x + w y, x - w y).
HWY_INLINE void forward_butterfly(const Field& field, V w, V& x, V& y) {
  const V product = field.product(y, w);
  y = hn::Sub(x, product);
  x = hn::Add(x, product);
}

// Gentleman and Sande's: (x, y) -> (x + y, w (x - y)).
HWY_INLINE void inverse_butterfly(const Field& field, V w, V& x, V& y) {
  const V difference = hn::Sub(x, y);
  x = hn::Add(x, y);
  y = field.product(difference, w);
}

// 16 values a0 … a7 b0 … b7 in registers, of which the last four levels of butterflies meet only
// each other.
class Sixteen {
 public:
  static constexpr std::size_t kVectors = 16 / kLanes;

  HWY_INLINE Sixteen() {}  // the compiler's own would not have the target's instructions
  HWY_INLINE V& operator[](std::size_t i) { return v_[i]; }

  // Butterflies between values that are `kHalf` apart. twiddles: 8, in the order of the pairs.
  template <std::size_t kHalf, class F>
  HWY_INLINE void butterflies(const double* twiddles, const F& butterfly) {
    constexpr std::size_t kApart = HWY_MAX(kHalf / kLanes, 1);
    for (std::size_t i = 0; i < kVectors; i += 2 * kApart) {
      const V w = hn::LoadU(D(), twiddles + i / 2 * kLanes);
      for (std::size_t j = i; j < i + kApart; ++j) butterfly(w, v_[j], v_[j + kApart]);
    }
  }

  // Brings values that are kHalf apart from one vector into neighbouring ones, from those of twice
  // that distance; and back, as each step is its own inverse.
  template <std::size_t kHalf, class Tag = D>
  HWY_INLINE void exchange() {
    const Tag d;
    for (std::size_t i = 0; i < kVectors; i += 2) {
      const V x = v_[i], y = v_[i + 1];
      if constexpr (kHalf >= kLanes) {
        continue;
      } else if constexpr (kHalf == 1) {
        v_[i] = hn::InterleaveLower(d, x, y);
        v_[i + 1] = hn::InterleaveUpper(d, x, y);
      } else if constexpr (2 * kHalf == kLanes) {
        v_[i] = hn::ConcatLowerLower(d, y, x);
        v_[i + 1] = hn::ConcatUpperUpper(d, y, x);
      } else {
        v_[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y), x);
        v_[i + 1] = hn::OddEvenBlocks(y, hn::SwapAdjacentBlocks(x));
      }
    }
  }

  // Returns the place of vector i: even values come first.
  static constexpr std::size_t place(std::size_t i) { return i / 2 * kLanes + i % 2 * 8; }

 private:
  V v_[kVectors];
};

// What a pass goes over: groups of butterflies, of which there are `groups` in the whole vector.
struct Groups {
  std::size_t groups, first, count;
};

// Two levels; at least 4 kLanes values a group, at most 2.4.
// kFirst: from words, at most 1. Out: x0 + R(x) + R(x + R(x)) <= 2.4.
template <bool kFirst>
HWY_INLINE void forward_pass(const Field& field, const double* roots, std::uint64_t* values,
                             Groups at, std::size_t quarter) {
  const auto load = [](const std::uint64_t* from) {
    return kFirst ? load_words(from) : load_doubles(from);
  };
  for (std::size_t g = at.first; g < at.first + at.count; ++g) {
    const V w1 = same(roots + at.groups + g);
    const V w2 = same(roots + 2 * (at.groups + g)), w3 = same(roots + 2 * (at.groups + g) + 1);
    std::uint64_t* const x = values + g * 4 * quarter;
    for (std::size_t i = 0; i < quarter; i += kLanes) {
      V x0 = load(x + i), x1 = load(x + quarter + i);
      V x2 = load(x + 2 * quarter + i), x3 = load(x + 3 * quarter + i);
      if constexpr (!kFirst) x0 = field.reduced(x0);  // the only one that no product reduces
      forward_butterfly(field, w1, x0, x2);
      forward_butterfly(field, w1, x1, x3);
      forward_butterfly(field, w2, x0, x1);
      forward_butterfly(field, w3, x2, x3);
      store_doubles(x0, x + i);
      store_doubles(x1, x + quarter + i);
      store_doubles(x2, x + 2 * quarter + i);
      store_doubles(x3, x + 3 * quarter + i);
    }
  }
}

// One level of the whole vector, from words. Out: 1 + R(1) < 1.7.
HWY_INLINE void forward_first_level(const Field& field, const double* roots, std::uint64_t* values,
                                    std::size_t half) {
  const V w = same(roots + 1);
  for (std::size_t i = 0; i < half; i += kLanes) {
    V x = load_words(values + i), y = load_words(values + half + i);
    forward_butterfly(field, w, x, y);
    store_doubles(x, values + i);
    store_doubles(y, values + half + i);
  }
}

// The last four levels of block b, to words. From 1/2 and 2.4: 1.3, 2, 2.8, 3.6.
HWY_INLINE void forward_block(const Field& field, const double* root, const double* last,
                              std::uint64_t* values) {
  Sixteen block;
  for (std::size_t i = 0; i < Sixteen::kVectors; ++i) block[i] = load_doubles(values + i * kLanes);
  const auto butterfly = [&](V w, V& x, V& y) { forward_butterfly(field, w, x, y); };
  const V w = same(root);
  for (std::size_t i = 0; i < Sixteen::kVectors / 2; ++i) {
    block[i] = field.reduced(block[i]);
    butterfly(w, block[i], block[i + Sixteen::kVectors / 2]);
  }
  block.exchange<4>();
  block.butterflies<4>(last, butterfly);
  block.exchange<2>();
  block.butterflies<2>(last + 8, butterfly);
  block.exchange<1>();
  block.butterflies<1>(last + 16, butterfly);
  for (std::size_t i = 0; i < Sixteen::kVectors; ++i) {
    store_words(field.positive(field.reduced(block[i])), values + Sixteen::place(i));
  }
}

// The first four levels of the inverse, from words: sums 2, all positive, and products R(1); sums
// reduced and R(2); sums 1.5 and R(1.5); sums reduced and R(3) < 0.9.
HWY_INLINE void inverse_block(const Field& field, const double* root, const double* last,
                              std::uint64_t* values) {
  Sixteen block;
  for (std::size_t i = 0; i < Sixteen::kVectors; ++i) {
    block[i] = load_words(values + Sixteen::place(i));
  }
  const auto butterfly = [&](V w, V& x, V& y) { inverse_butterfly(field, w, x, y); };
  const auto reducing = [&](V w, V& x, V& y) {
    inverse_butterfly(field, w, x, y);
    x = field.reduced(x);
  };
  block.butterflies<1>(last + 16, butterfly);
  block.exchange<1>();
  block.butterflies<2>(last + 8, reducing);
  block.exchange<2>();
  block.butterflies<4>(last, butterfly);
  block.exchange<4>();
  const V w = same(root);
  for (std::size_t i = 0; i < Sixteen::kVectors / 2; ++i) {
    reducing(w, block[i], block[i + Sixteen::kVectors / 2]);
  }
  for (std::size_t i = 0; i < Sixteen::kVectors; ++i) store_doubles(block[i], values + i * kLanes);
}

// Two levels. In and out at most 1: sums 2 and products R(2) = 3/4; of those sums 4, reduced, and
// R(4) = 1, 1.5, reduced, and R(1.5).
HWY_INLINE void inverse_pass(const Field& field, const double* roots, std::uint64_t* values,
                             Groups at, std::size_t quarter) {
  for (std::size_t g = at.first; g < at.first + at.count; ++g) {
    const V w1 = same(roots + at.groups + g);
    const V w2 = same(roots + 2 * (at.groups + g)), w3 = same(roots + 2 * (at.groups + g) + 1);
    std::uint64_t* const x = values + g * 4 * quarter;
    for (std::size_t i = 0; i < quarter; i += kLanes) {
      V x0 = load_doubles(x + i), x1 = load_doubles(x + quarter + i);
      V x2 = load_doubles(x + 2 * quarter + i), x3 = load_doubles(x + 3 * quarter + i);
      inverse_butterfly(field, w2, x0, x1);
      inverse_butterfly(field, w3, x2, x3);
      inverse_butterfly(field, w1, x0, x2);
      inverse_butterfly(field, w1, x1, x3);
      store_doubles(field.reduced(x0), x + i);
      store_doubles(field.reduced(x1), x + quarter + i);
      store_doubles(x2, x + 2 * quarter + i);
      store_doubles(x3, x + 3 * quarter + i);
    }
  }
}

// What the last pass multiplies by: 1 / N, and the last twiddle over N.
struct LastFactors {
  double degree, root;
};

// The last two levels, or the last, of the whole vector, over N, to words; a product is below p.
HWY_INLINE void inverse_last_pass(const Field& field, const double* roots, LastFactors factors,
                                  std::uint64_t* x, std::size_t quarter) {
  const V w1 = same(&factors.root), over_n = same(&factors.degree);
  const V w2 = same(roots + 2), w3 = same(roots + 3);
  const auto store = [&](V v, V w, std::uint64_t* to) {
    store_words(field.positive(field.product(v, w)), to);
  };
  for (std::size_t i = 0; i < quarter; i += kLanes) {
    V x0 = load_doubles(x + i), x1 = load_doubles(x + quarter + i);
    V x2 = load_doubles(x + 2 * quarter + i), x3 = load_doubles(x + 3 * quarter + i);
    inverse_butterfly(field, w2, x0, x1);
    inverse_butterfly(field, w3, x2, x3);
    store(hn::Add(x0, x2), over_n, x + i);
    store(hn::Add(x1, x3), over_n, x + quarter + i);
    store(hn::Sub(x0, x2), w1, x + 2 * quarter + i);
    store(hn::Sub(x1, x3), w1, x + 3 * quarter + i);
  }
}
HWY_INLINE void inverse_last_level(const Field& field, LastFactors factors, std::uint64_t* values,
                                   std::size_t half) {
  const V w = same(&factors.root), over_n = same(&factors.degree);
  for (std::size_t i = 0; i < half; i += kLanes) {
    const V x = load_doubles(values + i), y = load_doubles(values + half + i);
    store_words(field.positive(field.product(hn::Add(x, y), over_n)), values + i);
    store_words(field.positive(field.product(hn::Sub(x, y), w)), values + half + i);
  }
}

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
