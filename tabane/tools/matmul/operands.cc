#include "tabane/tools/matmul/operands.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

namespace tabane::matmul {

void run_tasks(int threads, std::size_t tasks,
               const std::function<void(std::size_t, std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto serve = [&](std::size_t thread) {
    const WidestRange range;  // MPFR keeps one for each thread
    try {
      for (std::size_t i = next++; i < tasks; i = next++) task(thread, i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = tasks;
    }
  };
  std::vector<std::jthread> others;
  const std::size_t count = std::min(static_cast<std::size_t>(threads), tasks);
  for (std::size_t thread = 1; thread < count; ++thread) others.emplace_back(serve, thread);
  serve(0);
  others.clear();
  if (error) std::rethrow_exception(error);
}

void shift_into_range(mpfr_ptr x, int ternary, WideExponent shift, mpfr_rnd_t rounding,
                      const ExponentRange& range) {
  if (!mpfr_regular_p(x)) return;
  // Two below the least is far enough to round to 0 or the least number, and not halfway.
  const WideExponent exponent =
      std::clamp(shift + x->_mpfr_exp, static_cast<WideExponent>(range.least) - 2,
                 static_cast<WideExponent>(range.most) + 1);
  x->_mpfr_exp = static_cast<mpfr_exp_t>(exponent);
  if (range.least <= exponent && exponent <= range.most) return;
  mpfr_set_emin(range.least);
  mpfr_set_emax(range.most);
  mpfr_check_range(x, ternary, rounding);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
}

void to_integer(mpfr_srcptr x, std::int64_t low, std::span<mp_limb_t> out) {
  std::ranges::fill(out, 0);
  if (mpfr_zero_p(x)) return;
  const auto* digits = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x));
  std::int64_t count = (mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  // Bits to the left; fewer than none cut off zeros.
  std::int64_t shift = mpfr_get_exp(x) - GMP_NUMB_BITS * count - low;
  if (shift < 0) {
    const std::int64_t whole = -shift / GMP_NUMB_BITS;
    digits += whole;
    count -= whole;
    shift += whole * GMP_NUMB_BITS;
    if (shift == 0) {
      std::copy_n(digits, count, out.begin());
    } else {
      mpn_rshift(out.data(), digits, count, static_cast<unsigned>(-shift));
    }
    return;
  }
  mp_limb_t* const to = out.data() + shift / GMP_NUMB_BITS;
  const auto bits = static_cast<unsigned>(shift % GMP_NUMB_BITS);
  if (bits == 0) {
    std::copy_n(digits, count, to);
    return;
  }
  const mp_limb_t over = mpn_lshift(to, digits, count, bits);
  if (over != 0) to[count] = over;
}

SignedLimbs magnitude_of(std::span<mp_limb_t> twos_complement) {
  mp_limb_t* const limbs = twos_complement.data();
  std::size_t size = twos_complement.size();
  const bool negative = limbs[size - 1] >> (GMP_NUMB_BITS - 1) != 0;
  if (negative) mpn_neg(limbs, limbs, static_cast<mp_size_t>(size));
  while (size > 0 && limbs[size - 1] == 0) --size;
  return {negative, {limbs, size}};
}

void round_to(mpfr_ptr result, const SignedLimbs& value, WideExponent shift, mpfr_rnd_t rounding,
              const ExponentRange& range) {
  mpz_t whole;
  const auto size = static_cast<mp_size_t>(value.magnitude.size());
  mpz_roinit_n(whole, value.magnitude.data(), value.negative ? -size : size);
  const int ternary = mpfr_set_z_2exp(result, whole, 0, rounding);
  shift_into_range(result, ternary, shift, rounding, range);
}

void Operands::append_row(int i, int part, std::vector<__mpfr_struct>& x) const {
  for (int p = 0; p < parts; ++p) {
    for (int k = 0; k < terms(); ++k) {
      x.push_back(*a[p].at(i, k));
      if (p == 1 && part == 0) x.back()._mpfr_sign = -x.back()._mpfr_sign;
    }
  }
}

void Operands::append_column(int j, int part, std::vector<__mpfr_struct>& y) const {
  for (int p = 0; p < parts; ++p) {
    const View& from = b[part == 0 ? p : parts - 1 - p];
    for (int k = 0; k < terms(); ++k) y.push_back(*from.at(k, j));
  }
}

ShiftedTerms all_terms(int count) {
  ShiftedTerms terms{std::vector<int>(count), std::vector<std::int64_t>(count)};
  std::iota(terms.index.begin(), terms.index.end(), 0);
  return terms;
}

namespace {

// The lowest set bit of a regular number, as an exponent.
std::int64_t lowest_bit(mpfr_srcptr x) {
  const auto* const limbs = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x));
  const std::int64_t count = (mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  std::int64_t zeros = 0;
  while (limbs[zeros] == 0) ++zeros;
  return mpfr_get_exp(x) - GMP_NUMB_BITS * (count - zeros) + std::countr_zero(limbs[zeros]);
}

}  // namespace

std::vector<ExponentSpan> spans_of(Factor side, const Operands& operands,
                                   const ShiftedTerms& terms) {
  constexpr std::int64_t kNoBit = std::numeric_limits<std::int64_t>::max();
  std::vector<ExponentSpan> spans(operands.lines(side), {kNoBit, -kNoBit, true});
  operands.for_each(side, terms.index, [&](int line, int t, mpfr_srcptr x) {
    ExponentSpan& span = spans[line];
    const std::int64_t shift = side == Factor::a ? terms.shift[t] : -terms.shift[t];
    if (mpfr_regular_p(x)) {
      span.low = std::min(span.low, lowest_bit(x) + shift);
      span.high = std::max<std::int64_t>(span.high, mpfr_get_exp(x) + shift);
    } else if (!mpfr_zero_p(x)) {
      span.finite = false;
    }
  });
  for (ExponentSpan& span : spans) {
    if (span.low == kNoBit) span.low = span.high = 0;
  }
  return spans;
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
