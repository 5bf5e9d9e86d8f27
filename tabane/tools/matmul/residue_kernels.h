// The loops of products by residues, by vectors: make numbers digits in doubles, digits integers in
// limbs, and doubles residues.
#pragma once

#include <gmp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tabane::matmul {

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

}  // namespace tabane::matmul
