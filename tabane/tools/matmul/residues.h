// A residue number system: primes, and what numbers are multiplied by on their way into it and out
// of it.
//
// An integer x = sum_j d_j 2^(24 j) has the residues sum_j d_j (2^(24 j) mod p), a product of the
// matrix of its digits and one of constants. Back: with M the product of all primes,
// w_p = (x (M/p)^-1) mod p and the digits of M/p,
//   x = sum_p w_p (M/p) - q M,   q = round(sum_p w_p / p)  if |x| <= M / 4,
// again a product of matrices, of the w_p and the digits of the M/p. The factor (M/p)^-1 mod p
// is in the constants of b, so that the residues of a product come out as its w_p.
//
// All residues are symmetric, between -p/2 and p/2, so that products are exact in doubles:
// kDigitBits, the primes and the digits of M/p are chosen so that no sum reaches 2^53.
#pragma once

#include <gmp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/matmul/plan.h"

namespace tabane::matmul {

// ---- loops by vectors: from numbers to digits, digits to integers, and doubles to residues ----

// The integer limbs 2^shift, or 0 if limbs is null. It must be whole: limbs has as many zero bits
// at its end as a negative shift cuts off.
struct Significand {
  const mp_limb_t* limbs;
  std::int64_t shift;
  bool negative;
};

// Splits numbers into digits. Each thread has one, which keeps its memory.
class DigitSplitter {
 public:
  // For significands of so many limbs, below 2^(24 digits) in magnitude.
  DigitSplitter(std::size_t limbs, std::size_t digits);

  // Doubles from one number's digits to those of the next.
  std::size_t stride() const { return stride_; }
  // out[i * stride() + j] := the j-th digit of 24 bits, the lowest one first, with the number's
  // sign. The numbers between the digits and the stride are overwritten.
  void split(std::span<const Significand> numbers, double* out);

 private:
  std::size_t limbs_, stride_, front_;  // bytes before the limbs
  std::vector<unsigned char> bytes_;    // zeros, the limbs, zeros
};

// Digits that overlap: whole numbers of less than 2^53 in magnitude, the j-th times 2^(bits j).
struct WideDigits {
  const double* digits;  // [j * count + i]: of the i-th number
  std::size_t count;
  const double* quotients;  // the i-th number is less by round(quotients[i]) times `whole`
  std::span<const double> whole;
  int bits;
};
// out[i * limbs + w] := limb w of the i-th number, in two's complement.
void add_digits(const WideDigits& numbers, std::size_t limbs, mp_limb_t* out);

// Symmetric residues of doubles that are integers of less than 2^53.
struct Modulus {
  double p, inverse;
};

// to[i] := the residue of from[i] + added[i]; added may be to, or null for nothing. A residue is at
// most p / 2 + 2 in magnitude: the quotient is rounded from a product that is rounded itself.
void reduce(const double* from, const double* added, double* to, std::size_t n,
            const Modulus& modulus);
// The same as 32-bit integers. accumulate: adds to what is there.
void reduce(const double* from, std::int32_t* to, std::size_t n, const Modulus& modulus,
            bool accumulate);

// Of a complex product: re and im from the three real products re re, im im and
// (re + im) (re + im).
void reduce_complex(const double* re_re, const double* im_im, const double* both, std::int32_t* re,
                    std::int32_t* im, std::size_t n, const Modulus& modulus, bool accumulate);

// to[i] := from[i].
void widen(const std::int32_t* from, double* to, std::size_t n);

// ---- the residue number system ----

inline constexpr int kDigitBits = 24;
inline constexpr int kMostDigitsAtOnce = 64;   // of a number, in one product with the constants
inline constexpr int kMostTermsAtOnce = 2048;  // in one product of residues

// Returns the terms in one product where there are `terms` in all.
int terms_at_once(int terms);
inline std::int64_t digits_of_width(std::int64_t width) {
  return (width + kDigitBits - 1) / kDigitBits;
}
// Returns the bound of all primes for integers of that width, in bits.
std::uint32_t largest_prime(int terms, std::int64_t width);

struct Moduli {
  std::vector<double> primes, inverses;  // 1 / p
  // By prime, [p * digits + j]: 2^(24 j) mod p, and that times (M/p)^-1 mod p.
  int a_digits = 0, b_digits = 0;
  std::vector<double> into_a, into_b;
  // By prime, [p * out_digits + j]: balanced digits of M/p, of out_bits bits; the last one is not a
  // digit but 1 / p. And the digits of M.
  int out_bits = 0, out_digits = 0;
  std::vector<double> out_of, whole;

  int count() const { return static_cast<int>(primes.size()); }
};

// Returns how many primes hold sums of `terms` products of integers of a_width and b_width bits,
// times `factor`; approximately.
double primes_needed(int terms, std::int64_t a_width, std::int64_t b_width);

// Returns those for |x| < factor terms 2^(a_width + b_width).
// throws: core::UsageError if there are not enough primes.
Moduli make_moduli(int terms, int factor, std::int64_t a_width, std::int64_t b_width);

// Makes residues integers again.
class Rebuild {
 public:
  explicit Rebuild(const Moduli& moduli);

  // How many integers at a time stay in the second cache.
  std::size_t block() const { return block_; }

  // Makes `count` integers, at most block(), of the residues residues[p * stride + i].
  void compute(const std::int32_t* residues, std::size_t stride, std::size_t count);
  // The i-th in two's complement, until the next compute(). It may be changed.
  std::span<mp_limb_t> integer(std::size_t i) {
    return std::span(integers_).subspan(i * limbs_, limbs_);
  }

 private:
  const Moduli& moduli_;
  std::size_t block_, limbs_;
  std::vector<double> wide_, digits_;
  std::vector<mp_limb_t> integers_;
};

// An operand as residues: for each prime a plane of doubles. It has the residue of each number of
// some rows of a or columns of b, here called lines; of complex operands also those of the sums of
// both parts, which the third product needs.
class Residues {
 public:
  // values: room for `planes` x primes x terms x lines numbers of what is filled in.
  Residues(Factor side, const Operands& operands, const TermGroup& group, const Moduli& moduli,
           double* values);

  // Fills in the lines `numbers`, which must live as long as the residues are used, for some
  // primes. Side a: line after line; side b: term after term.
  void fill(std::span<const int> numbers, IndexRange primes, int threads);

  // plane: 0, or 1 for the imaginary part and 2 for the sum. prime: one of those filled in.
  double* plane(int plane, int prime) const {
    return values_ +
           static_cast<std::size_t>(plane * primes_.size() + prime - primes_.first) * plane_size_;
  }
  // Elements from one line of a, or term of b, to the next one.
  int stride() const { return static_cast<int>(side_ == Factor::a ? terms() : numbers_.size()); }

 private:
  struct Scratch;
  std::size_t terms() const { return group_.terms.index.size(); }
  const View& side(int part) const {
    return (side_ == Factor::a ? operands_.a : operands_.b)[part];
  }
  Modulus modulus(int prime) const {
    const auto at = static_cast<std::size_t>(prime);
    return {moduli_.primes[at], moduli_.inverses[at]};
  }
  void fill_block(int part, std::size_t first, std::size_t count, Scratch& scratch);
  void read_digits(int part, std::size_t first, std::size_t count, Scratch& scratch) const;
  void add_parts(std::size_t first, std::size_t count);

  Factor side_;
  const Operands& operands_;
  const TermGroup& group_;
  const Moduli& moduli_;
  std::size_t digits_, plane_size_ = 0;
  IndexRange primes_;
  std::span<const int> numbers_;
  double* values_;
};

}  // namespace tabane::matmul
