// The ladder from a plain loop to the shipped kernel: what each step of vectorising gains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tabane::simd {

struct Rung {
  std::string_view kernel;   // "sum", "sum_of_squares", "dot", "axpy"
  std::string_view variant;  // "plain loop", "one accumulator", "unrolled", "shipped"
  // Runs the kernel once over n elements; returns its result, axpy (y += 2^-60 x) returns 0.
  // Kernels of one vector leave y alone.
  double (*run)(const double* x, double* y, std::size_t n) = nullptr;
};

// "plain loop" is the reference, compiled without leave to reorder additions; "one accumulator"
// uses vectors and one dependent chain, so it pays the latency of every addition; "unrolled" uses
// four chains; "shipped" is the kernel of the library. axpy has no chain: there "one accumulator"
// handles a vector an iteration and "unrolled" four.
std::span<const Rung> ladder();

inline constexpr int kMostAccumulators = 16;

// Adds up x `passes` times with so many independent accumulators, vectors of the target. Returns
// the sum, and how many additions of doubles it took: elements that do not fill a vector for each
// accumulator are left out. accumulators: 1 to kMostAccumulators.
struct AccumulatedSum {
  double sum = 0;
  std::uint64_t additions = 0;
};
AccumulatedSum sum_with(int accumulators, std::span<const double> x, std::uint64_t passes);

}  // namespace tabane::simd
