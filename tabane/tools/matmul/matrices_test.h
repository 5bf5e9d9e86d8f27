// Matrices for tests, and products of them by GMP's integers.
#pragma once

#include <gtest/gtest.h>

#include "tabane/core/random.h"
#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {

inline constexpr mpfr_rnd_t kRoundings[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDU, MPFR_RNDD};

// Random signs and digits; exponents of at most `spread` in magnitude.
inline Matrix test_matrix(int rows, int columns, mpfr_prec_t bits, long spread,
                          std::uint64_t seed = 1) {
  Matrix m(rows, columns, bits);
  gmp_randstate_t state;
  gmp_randinit_default(state);
  gmp_randseed_ui(state, seed);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      mpfr_urandomb(m.at(i, j), state);
      const auto choice = core::random_bits(seed, static_cast<std::uint64_t>(i * 1000 + j));
      if (choice & 1) mpfr_neg(m.at(i, j), m.at(i, j), MPFR_RNDN);
      const long shift =
          static_cast<long>((choice >> 8) % (2 * static_cast<unsigned long>(spread) + 1)) - spread;
      mpfr_mul_2si(m.at(i, j), m.at(i, j), shift, MPFR_RNDN);
    }
  }
  gmp_randclear(state);
  return m;
}

// By integers of GMP alone. The numbers must be finite and their exponents within some 10^6.
inline Matrix by_integers_of_gmp(const Matrix& a, const Matrix& b, mpfr_prec_t bits,
                                 mpfr_rnd_t rounding) {
  Matrix c(a.rows(), b.columns(), bits);
  mpz_t sum, x, y;
  mpz_inits(sum, x, y, nullptr);
  for (int i = 0; i < c.rows(); ++i) {
    for (int j = 0; j < c.columns(); ++j) {
      mpz_set_ui(sum, 0);
      mpfr_exp_t low = 0;  // sum is an integer times 2^low
      for (int k = 0; k < a.columns(); ++k) {
        if (mpfr_zero_p(a.at(i, k)) || mpfr_zero_p(b.at(k, j))) continue;
        const mpfr_exp_t own = mpfr_get_z_2exp(x, a.at(i, k)) + mpfr_get_z_2exp(y, b.at(k, j));
        mpz_mul(x, x, y);
        if (own < low) {
          mpz_mul_2exp(sum, sum, static_cast<mp_bitcnt_t>(low - own));
          low = own;
        }
        mpz_mul_2exp(x, x, static_cast<mp_bitcnt_t>(own - low));
        mpz_add(sum, sum, x);
      }
      mpfr_set_z_2exp(c.at(i, j), sum, low, rounding);
      if (mpz_sgn(sum) == 0) {
        const bool negative = rounding == MPFR_RNDD && a.columns() > 0;
        mpfr_set_zero(c.at(i, j), negative ? -1 : 1);
      }
    }
  }
  mpz_clears(sum, x, y, nullptr);
  return c;
}

// Any numbers, by MPFR's dot product.
inline Matrix by_mpfr_dot(const Matrix& a, const Matrix& b, mpfr_prec_t bits, mpfr_rnd_t rounding) {
  Matrix c(a.rows(), b.columns(), bits);
  std::vector<mpfr_ptr> x, y;
  for (int i = 0; i < c.rows(); ++i) {
    for (int j = 0; j < c.columns(); ++j) {
      x.clear();
      y.clear();
      for (int k = 0; k < a.columns(); ++k) {
        x.push_back(const_cast<mpfr_ptr>(a.at(i, k)));
        y.push_back(const_cast<mpfr_ptr>(b.at(k, j)));
      }
      mpfr_dot(c.at(i, j), x.data(), y.data(), x.size(), rounding);
    }
  }
  return c;
}

}  // namespace tabane::matmul
