#include "tabane/workloads/mp_matmul/residues.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "tabane/workloads/blas.h"
#include "tabane/workloads/mp_matmul/integers.h"
#include "tabane/workloads/mp_matmul/threads.h"

namespace tabane::workloads::mp_matmul {
namespace {

// What one block takes: its digits and its residues stay in the second cache.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

// Digits of 24 bits are three bytes; one more is read and masked.
static_assert(kDigitBits == 24 && std::endian::native == std::endian::little);
void split(const std::vector<mp_limb_t>& integer, std::size_t digits, double sign, double* out) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(integer.data());
  for (std::size_t j = 0; j < digits; ++j, bytes += 3) {
    std::uint32_t word;
    std::memcpy(&word, bytes, sizeof word);
    out[j] = sign * static_cast<double>(static_cast<std::int32_t>(word & 0xffffff));
  }
}

}  // namespace

struct Residues::Scratch {
  std::vector<double> digits, residues;
  std::vector<mp_limb_t> integer;
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
  std::vector<Scratch> scratch(static_cast<std::size_t>(threads));
  run_tasks(threads, blocks, [&](std::size_t thread, std::size_t task) {
    Scratch& own = scratch[thread];
    if (own.digits.empty()) {
      own.digits.resize(block * digits_);
      own.residues.resize(block * primes);
      own.integer.resize(digits_ * kDigitBits / GMP_NUMB_BITS + 3);
    }
    const std::size_t first = task * block, count = std::min(block, plane_size_ - first);
    for (int part = 0; part < operands_.parts; ++part) fill_block(part, first, count, own);
    if (operands_.parts == 2) add_parts(first, count);
  });
}

void Residues::read_digits(int part, std::size_t first, std::size_t count, Scratch& scratch) const {
  const Matrix& matrix =
      *(side_ == Side::a ? operands_.a : operands_.b)[static_cast<std::size_t>(part)];
  const std::size_t inner = side_ == Side::a ? terms() : numbers_.size();
  for (std::size_t e = 0; e < count; ++e) {
    const std::size_t outer_at = (first + e) / inner, inner_at = (first + e) % inner;
    const std::size_t term = side_ == Side::a ? inner_at : outer_at;
    const int number = numbers_[side_ == Side::a ? outer_at : inner_at];
    const int k = piece_.terms.index[term];
    const std::int64_t shift = piece_.terms.shift[term];
    const bool a = side_ == Side::a;
    const mpfr_srcptr x = a ? matrix.at(number, k) : matrix.at(k, number);
    const Line& line = (a ? piece_.a : piece_.b)[static_cast<std::size_t>(number)];
    to_integer(x, a ? line.low - shift : line.low + shift, scratch.integer);
    split(scratch.integer, digits_, mpfr_signbit(x) != 0 ? -1 : 1, &scratch.digits[e * digits_]);
  }
}

void Residues::fill_block(int part, std::size_t first, std::size_t count, Scratch& scratch) {
  read_digits(part, first, count, scratch);
  const int primes = primes_.size(), n = static_cast<int>(count);
  const int digits = static_cast<int>(digits_);
  const double* const constants = (side_ == Side::a ? moduli_.into_a : moduli_.into_b).data() +
                                  static_cast<std::size_t>(primes_.first) * digits_;
  for (int at = 0; at < digits; at += kMostDigitsAtOnce) {
    const int some = std::min(kMostDigitsAtOnce, digits - at);
    {
      const auto alone = alone_in_blas();
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, primes, some, 1,
                  scratch.digits.data() + at, digits, constants + at, digits, 0,
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

}  // namespace tabane::workloads::mp_matmul
