#include "tabane/tools/matmul/operands.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace tabane::matmul {
namespace {

constexpr std::int64_t kNoBit = std::numeric_limits<std::int64_t>::max();

Line nothing_seen() { return {kNoBit, -kNoBit, true}; }

void see(Line& line, mpfr_srcptr x, std::int64_t shift) {
  if (mpfr_regular_p(x)) {
    line.low = std::min(line.low, lowest_bit(x) + shift);
    line.high = std::max<std::int64_t>(line.high, mpfr_get_exp(x) + shift);
  } else if (!mpfr_zero_p(x)) {
    line.finite = false;
  }
}

void close(std::vector<Line>& lines) {
  for (Line& line : lines) {
    if (line.low == kNoBit) line.low = line.high = 0;
  }
}

}  // namespace

mpfr_prec_t Operands::bits_of_a() const {
  return parts == 1 ? a[0].bits() : std::max(a[0].bits(), a[1].bits());
}
mpfr_prec_t Operands::bits_of_b() const {
  return parts == 1 ? b[0].bits() : std::max(b[0].bits(), b[1].bits());
}

void Operands::append_row(int i, int part, std::vector<__mpfr_struct>& x) const {
  for (int p = 0; p < parts; ++p) {
    for (int k = 0; k < terms(); ++k) {
      x.push_back(*a[static_cast<std::size_t>(p)].at(i, k));
      if (p == 1 && part == 0) x.back()._mpfr_sign = -x.back()._mpfr_sign;
    }
  }
}

void Operands::append_column(int j, int part, std::vector<__mpfr_struct>& y) const {
  for (int p = 0; p < parts; ++p) {
    const View& from = b[static_cast<std::size_t>(part == 0 ? p : parts - 1 - p)];
    for (int k = 0; k < terms(); ++k) y.push_back(*from.at(k, j));
  }
}

Terms all_terms(int count) {
  Terms terms{std::vector<int>(static_cast<std::size_t>(count)),
              std::vector<std::int64_t>(static_cast<std::size_t>(count))};
  std::iota(terms.index.begin(), terms.index.end(), 0);
  return terms;
}

std::int64_t lowest_bit(mpfr_srcptr x) {
  const auto* const limbs = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x));
  const std::int64_t count = (mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  std::int64_t zeros = 0;
  while (limbs[zeros] == 0) ++zeros;
  return mpfr_get_exp(x) - GMP_NUMB_BITS * (count - zeros) + std::countr_zero(limbs[zeros]);
}

std::vector<Line> lines_of_a(const Operands& operands, const Terms& terms) {
  std::vector<Line> lines(static_cast<std::size_t>(operands.rows()), nothing_seen());
  for (int part = 0; part < operands.parts; ++part) {
    const View& a = operands.a[static_cast<std::size_t>(part)];
    for (int i = 0; i < a.rows(); ++i) {
      Line& line = lines[static_cast<std::size_t>(i)];
      for (std::size_t t = 0; t < terms.index.size(); ++t) {
        see(line, a.at(i, terms.index[t]), terms.shift[t]);
      }
    }
  }
  close(lines);
  return lines;
}

std::vector<Line> lines_of_b(const Operands& operands, const Terms& terms) {
  std::vector<Line> lines(static_cast<std::size_t>(operands.columns()), nothing_seen());
  for (int part = 0; part < operands.parts; ++part) {
    const View& b = operands.b[static_cast<std::size_t>(part)];
    for (std::size_t t = 0; t < terms.index.size(); ++t) {
      for (int j = 0; j < b.columns(); ++j) {
        see(lines[static_cast<std::size_t>(j)], b.at(terms.index[t], j), -terms.shift[t]);
      }
    }
  }
  close(lines);
  return lines;
}

bool zero_is_negative(const std::vector<__mpfr_struct>& x, const std::vector<__mpfr_struct>& y,
                      mpfr_rnd_t rounding) {
  if (x.empty()) return false;
  bool seen[2] = {false, false};
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (!mpfr_zero_p(&x[t]) && !mpfr_zero_p(&y[t])) return rounding == MPFR_RNDD;
    seen[(mpfr_signbit(&x[t]) != 0) != (mpfr_signbit(&y[t]) != 0) ? 1 : 0] = true;
    if (seen[0] && (seen[1] || rounding != MPFR_RNDD)) return rounding == MPFR_RNDD;
  }
  return seen[1];
}

}  // namespace tabane::matmul
