#include "tabane/tools/matmul/rebuild.h"

#include <algorithm>

#include "tabane/solver/blas.h"
#include "tabane/solver/blas_memory.h"
#include "tabane/tools/matmul/digits.h"
#include "tabane/tools/matmul/reduce.h"

namespace tabane::matmul {
namespace {

constexpr std::size_t kRebuildBytes = std::size_t{1} << 19;

}  // namespace

Rebuild::Rebuild(const Moduli& moduli) : moduli_(moduli) {
  const auto primes = static_cast<std::size_t>(moduli.count());
  const auto digits = static_cast<std::size_t>(moduli.out_digits);
  block_ = std::clamp<std::size_t>(kRebuildBytes / (sizeof(double) * (primes + digits)), 8, 512);
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
    const auto alone = solver::alone_in_blas();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, digits, moduli_.count(), 1,
                wide_.data(), n, moduli_.out_of.data(), digits, 0, digits_.data(), n);
  }
  const std::size_t whole = moduli_.whole.size();
  add_digits({digits_.data(), count, &digits_[whole * count], moduli_.whole, moduli_.out_bits},
             limbs_, integers_.data());
}

}  // namespace tabane::matmul
