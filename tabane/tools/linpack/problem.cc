#include "tabane/tools/linpack/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/tools/linpack/model.h"

namespace tabane::linpack {
namespace {

double bytes_of(double n, int block, comm::GridShape grid, bool from_file) {
  const double file = from_file ? n * n * sizeof(double) : 0;
  return bytes_needed(n, block, grid.rows, grid.columns) + file;
}

}  // namespace

// Measured on two ranks; other grids as if each had two ranks' share of columns.
int default_block(int n, comm::GridShape grid) {
  const int of_two = static_cast<int>(2LL * n / std::max(grid.rows, grid.columns));
  if (of_two <= 1200) return 48;
  if (of_two <= 2500) return 64;
  if (of_two <= 3500) return 96;
  return of_two <= 6000 ? 128 : 192;
}

int default_size(int ranks, double memory) {
  constexpr double kOfTwo = 8000;
  const double of_time = kOfTwo * std::cbrt(ranks / 2.0);
  const double of_memory = std::sqrt(memory / 8 / sizeof(double));
  const int n = static_cast<int>(std::min({of_time, of_memory, double{kMostEquations}}));
  return n < 1000 ? n : n / 500 * 500;
}

int largest_that_fits(double memory, int block, comm::GridShape grid, bool from_file) {
  int fits = 0, too_large = kMostEquations + 1;
  while (too_large - fits > 1) {
    const int n = fits + (too_large - fits) / 2;
    (bytes_of(n, block, grid, from_file) <= memory ? fits : too_large) = n;
  }
  return fits;
}

void require_memory(int n, int block, comm::GridShape grid, double memory, bool from_file) {
  const double needed = bytes_of(n, block, grid, from_file);
  if (needed <= memory) return;
  throw core::UsageError(
      fmt::format("{} equations need {}, and there are {}: the largest n that fits is {}", n,
                  core::format_bytes(static_cast<std::uint64_t>(needed)),
                  core::format_bytes(static_cast<std::uint64_t>(memory)),
                  largest_that_fits(memory, block, grid, from_file)));
}

}  // namespace tabane::linpack
