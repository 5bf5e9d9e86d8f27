// Numbers as digits in doubles, and digits as integers in limbs: many at a time, by vectors.
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

// One thread's, with memory that stays.
class DigitSplitter {
 public:
  // For significands of so many limbs, below 2^(24 digits) in magnitude.
  DigitSplitter(std::size_t limbs, std::size_t digits);

  // Doubles from one number's digits to those of the next.
  std::size_t stride() const { return stride_; }
  // out[i * stride() + j] := the j-th digit of 24 bits, the lowest one first, with the number's
  // sign. What stands between the digits and the stride is overwritten.
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

}  // namespace tabane::matmul
