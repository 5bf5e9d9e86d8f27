// The ladder from a plain loop to the shipped kernel: what each step of vectorising gains.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tabane::simd {

struct Rung {
  std::string_view kernel;   // "sum", "sum_of_squares", "dot", "axpy"
  std::string_view variant;  // "plain loop", "one accumulator", "unrolled", "shipped"
  double flops_per_element = 0;
  double loads_per_element = 0;
  double stores_per_element = 0;
  // Runs the kernel once over n elements; returns its result, axpy (y += 2^-60 x) returns 0.
  // Kernels of one vector leave y alone.
  double (*run)(const double* x, double* y, std::size_t n) = nullptr;
};

// "plain loop" is the reference, compiled without leave to reorder additions; "one accumulator"
// uses vectors and one dependent chain, so it pays the latency of every addition; "unrolled" uses
// four chains; "shipped" is the kernel of the library. axpy has no chain: there "one accumulator"
// handles a vector an iteration and "unrolled" four.
std::span<const Rung> ladder();

}  // namespace tabane::simd
