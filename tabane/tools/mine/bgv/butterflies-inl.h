// The passes of the transforms. Residues are signed; comments bound their size as a multiple of p:
// a product of x is at most R(x) = 1/2 + x/8 and takes x up to 4, and sums must stay below 8, where
// doubles cease to hold all integers.

#if defined(TABANE_FHE_MINING_BGV_BUTTERFLIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_FHE_MINING_BGV_BUTTERFLIES_INL_H_
#undef TABANE_FHE_MINING_BGV_BUTTERFLIES_INL_H_
#else
#define TABANE_FHE_MINING_BGV_BUTTERFLIES_INL_H_
#endif

#include <hwy/highway.h>

#include "tabane/tools/mine/bgv/field-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {
#if TABANE_BGV_DOUBLES

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
class Block {
 public:
  static constexpr std::size_t kVectors = 16 / kLanes;

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
  Block block;
  for (std::size_t i = 0; i < Block::kVectors; ++i) block[i] = load_doubles(values + i * kLanes);
  const auto butterfly = [&](V w, V& x, V& y) { forward_butterfly(field, w, x, y); };
  const V w = same(root);
  for (std::size_t i = 0; i < Block::kVectors / 2; ++i) {
    block[i] = field.reduced(block[i]);
    butterfly(w, block[i], block[i + Block::kVectors / 2]);
  }
  block.exchange<4>();
  block.butterflies<4>(last, butterfly);
  block.exchange<2>();
  block.butterflies<2>(last + 8, butterfly);
  block.exchange<1>();
  block.butterflies<1>(last + 16, butterfly);
  for (std::size_t i = 0; i < Block::kVectors; ++i) {
    store_words(field.positive(field.reduced(block[i])), values + Block::place(i));
  }
}

// The first four levels of the inverse, from words: sums 2, all positive, and products R(1); sums
// reduced and R(2); sums 1.5 and R(1.5); sums reduced and R(3) < 0.9.
HWY_INLINE void inverse_block(const Field& field, const double* root, const double* last,
                              std::uint64_t* values) {
  Block block;
  for (std::size_t i = 0; i < Block::kVectors; ++i) {
    block[i] = load_words(values + Block::place(i));
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
  for (std::size_t i = 0; i < Block::kVectors / 2; ++i) {
    reducing(w, block[i], block[i + Block::kVectors / 2]);
  }
  for (std::size_t i = 0; i < Block::kVectors; ++i) store_doubles(block[i], values + i * kLanes);
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

#endif
}  // namespace tabane::mine::bgv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_FHE_MINING_BGV_BUTTERFLIES_INL_H_
