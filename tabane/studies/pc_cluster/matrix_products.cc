#include "tabane/studies/pc_cluster/matrix_products.h"

#include <algorithm>
#include <cstdint>
#include <numbers>
#include <random>

#include "tabane/core/clock.h"
#include "tabane/solver/blas.h"

namespace tabane::lab {
namespace {

// Seconds of a call, from as many as take a millisecond: the shorter of two series, so that having
// to wait does not pass for long work.
template <class F>
double seconds_of_call(F f) {
  const auto seconds_of = [&](std::uint64_t calls) {
    const double begin = core::tick_clock().now();
    for (std::uint64_t i = 0; i < calls; ++i) f();
    return core::tick_clock().now() - begin;
  };
  for (std::uint64_t calls = 1;; calls *= 4) {
    const double seconds = std::min(seconds_of(calls), seconds_of(calls));
    if (seconds > 1e-3) return seconds / static_cast<double>(calls);
  }
}

}  // namespace

MatrixProducts::MatrixProducts(int most)
    : a_(static_cast<std::size_t>(most) * static_cast<std::size_t>(most)),
      b_(a_.size()),
      c_(a_.size()) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  for (double& x : a_) x = std::numbers::sqrt2 * uniform(random);
  for (double& x : b_) x = std::numbers::sqrt3 * uniform(random);
}

double MatrixProducts::dgemm_seconds(int n) {
  return seconds_of_call([&] {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a_.data(), n, b_.data(), n,
                0, c_.data(), n);
  });
}

double MatrixProducts::triple_loop_seconds(int size) {
  const auto n = static_cast<std::size_t>(size);
  const std::size_t rows = std::min(n, 1 + 20'000'000 / (n * n));
  const double seconds = seconds_of_call([&] {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += a_[i * n + k] * b_[k * n + j];
        c_[i * n + j] = sum;
      }
    }
  });
  return seconds * static_cast<double>(n) / static_cast<double>(rows);
}

}  // namespace tabane::lab
