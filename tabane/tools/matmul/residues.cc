#include "tabane/tools/matmul/residues.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tabane/solver/blas.h"
#include "tabane/solver/blas_memory.h"
#include "tabane/tools/matmul/digits.h"
#include "tabane/tools/matmul/threads.h"

namespace tabane::matmul {
namespace {

// What one block takes: its digits and its residues stay in the second cache.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

// |x| 2^-low, which is whole.
Significand significand_of(mpfr_srcptr x, std::int64_t low) {
  if (mpfr_zero_p(x)) return {nullptr, 0, false};
  const std::int64_t limbs = (mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  return {static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x)),
          mpfr_get_exp(x) - GMP_NUMB_BITS * limbs - low, mpfr_signbit(x) != 0};
}

}  // namespace

// One thread's.
struct Residues::Scratch {
  Scratch(std::size_t limbs, std::size_t digits_each, std::size_t primes, std::size_t block)
      : splitter(limbs, digits_each),
        numbers(block),
        digits(block * splitter.stride()),
        residues(block * primes) {}
  DigitSplitter splitter;
  std::vector<Significand> numbers;
  std::vector<double> digits, residues;
};

Residues::Residues(Side side, const Operands& operands, const Piece& piece, const Moduli& moduli,
                   double* values)
    : side_(side),
      operands_(operands),
      piece_(piece),
      moduli_(moduli),
      digits_(static_cast<std::size_t>(side == Side::a ? moduli.a_digits : moduli.b_digits)),
      values_(values) {}

void Residues::fill(std::span<const int> numbers, Range some_primes, int threads) {
  numbers_ = numbers;
  primes_ = some_primes;
  plane_size_ = numbers.size() * terms();
  const auto primes = static_cast<std::size_t>(primes_.size());
  const std::size_t each = sizeof(double) * (digits_ + primes);
  const std::size_t block = std::clamp<std::size_t>(kBlockBytes / each, 32, 1024);
  const std::size_t blocks = (plane_size_ + block - 1) / block;
  std::vector<std::array<std::optional<Scratch>, 2>> scratch(static_cast<std::size_t>(threads));
  run_tasks(threads, blocks, [&](std::size_t thread, std::size_t task) {
    const std::size_t first = task * block, count = std::min(block, plane_size_ - first);
    for (int part = 0; part < operands_.parts; ++part) {
      std::optional<Scratch>& own = scratch[thread][static_cast<std::size_t>(part)];
      if (!own) own.emplace(side(part).limbs(), digits_, primes, block);
      fill_block(part, first, count, *own);
    }
    if (operands_.parts == 2) add_parts(first, count);
  });
}

void Residues::read_digits(int part, std::size_t first, std::size_t count, Scratch& scratch) const {
  const View& matrix = side(part);
  const bool a = side_ == Side::a;
  const std::size_t inner = a ? terms() : numbers_.size();
  std::size_t outer_at = first / inner, inner_at = first % inner;
  for (std::size_t e = 0; e < count; ++e) {
    const std::size_t term = a ? inner_at : outer_at;
    const int number = numbers_[a ? outer_at : inner_at];
    const int k = piece_.terms.index[term];
    const std::int64_t shift = piece_.terms.shift[term];
    const Line& line = (a ? piece_.a : piece_.b)[static_cast<std::size_t>(number)];
    scratch.numbers[e] = significand_of(a ? matrix.at(number, k) : matrix.at(k, number),
                                        a ? line.low - shift : line.low + shift);
    if (++inner_at == inner) {
      inner_at = 0;
      ++outer_at;
    }
  }
  scratch.splitter.split(std::span(scratch.numbers).first(count), scratch.digits.data());
}

void Residues::fill_block(int part, std::size_t first, std::size_t count, Scratch& scratch) {
  read_digits(part, first, count, scratch);
  const int primes = primes_.size(), n = static_cast<int>(count);
  const int digits = static_cast<int>(digits_),
            stride = static_cast<int>(scratch.splitter.stride());
  const double* const constants = (side_ == Side::a ? moduli_.into_a : moduli_.into_b).data() +
                                  static_cast<std::size_t>(primes_.first) * digits_;
  for (int at = 0; at < digits; at += kMostDigitsAtOnce) {
    const int some = std::min(kMostDigitsAtOnce, digits - at);
    {
      const auto alone = solver::alone_in_blas();
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, primes, some, 1,
                  scratch.digits.data() + at, stride, constants + at, digits, 0,
                  scratch.residues.data(), n);
    }
    for (int p = 0; p < primes; ++p) {
      double* const to = plane(part, primes_.first + p) + first;
      reduce(&scratch.residues[static_cast<std::size_t>(p) * count], at == 0 ? nullptr : to, to,
             count, modulus(primes_.first + p));
    }
  }
}

void Residues::add_parts(std::size_t first, std::size_t count) {
  for (int p = primes_.first; p < primes_.end; ++p) {
    reduce(plane(0, p) + first, plane(1, p) + first, plane(2, p) + first, count, modulus(p));
  }
}

}  // namespace tabane::matmul
