#include "tabane/workloads/mp_matmul/rebuild.h"

#include <algorithm>

#include "tabane/workloads/blas.h"
#include "tabane/workloads/mp_matmul/exponents.h"
#include "tabane/workloads/mp_matmul/reduce.h"
#include "tabane/workloads/mp_matmul/threads.h"

namespace tabane::workloads::mp_matmul {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 19;

// x must be below 2^51.
double nearest_integer(double x) {
  constexpr double kUnitInTheLastPlace = 0x1.8p52;
  return (x + kUnitInTheLastPlace) - kUnitInTheLastPlace;
}

}  // namespace

Rebuild::Rebuild(const Moduli& moduli) : moduli_(moduli) {
  const auto primes = static_cast<std::size_t>(moduli.count());
  const auto digits = static_cast<std::size_t>(moduli.out_digits);
  block_ = std::clamp<std::size_t>(kBlockBytes / (sizeof(double) * (primes + digits)), 8, 512);
  limbs_ = digits * static_cast<std::size_t>(moduli.out_bits) / GMP_NUMB_BITS + 2;
  wide_.resize(block_ * primes);
  digits_.resize(block_ * digits);
  integers_.resize(block_ * limbs_);
}

void Rebuild::compute(const std::int32_t* residues, std::size_t stride, std::size_t count) {
  const auto primes = static_cast<std::size_t>(moduli_.count());
  for (std::size_t p = 0; p < primes; ++p) widen(residues + p * stride, &wide_[p * count], count);
  const int digits = moduli_.out_digits, n = static_cast<int>(count);
  {
    const auto alone = alone_in_blas();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, digits, n, moduli_.count(), 1,
                moduli_.out_of.data(), digits, wide_.data(), n, 0, digits_.data(), digits);
  }
  for (std::size_t i = 0; i < count; ++i) {
    carry(&digits_[i * static_cast<std::size_t>(digits)], &integers_[i * limbs_]);
  }
}

// The digits are integers of up to 53 bits and sign, so they overlap.
void Rebuild::carry(const double* digits, mp_limb_t* out) const {
  const int count = moduli_.digits_of_result();
  const double quotient = nearest_integer(digits[count]);
  mp_limb_t* const end = out + limbs_;
  WideExponent sum = 0;
  int at = 0;
  for (int j = 0; j < count; ++j) {
    const double digit = digits[j] - quotient * moduli_.whole[static_cast<std::size_t>(j)];
    sum += static_cast<WideExponent>(static_cast<std::int64_t>(digit)) << at;
    at += moduli_.out_bits;
    if (at < GMP_NUMB_BITS) continue;
    *out++ = static_cast<mp_limb_t>(sum);
    sum >>= GMP_NUMB_BITS;
    at -= GMP_NUMB_BITS;
  }
  for (; out != end; sum >>= GMP_NUMB_BITS) *out++ = static_cast<mp_limb_t>(sum);
}

}  // namespace tabane::workloads::mp_matmul
