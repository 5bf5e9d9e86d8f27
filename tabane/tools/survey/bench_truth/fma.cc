// Multiply-adds on registers: twelve chains that do not depend on each other, more than the pipes
// of any current core times the latency of an FMA ask for, and few enough for 16 registers.
#include "tabane/tools/survey/bench_truth/timed.h"

namespace {

using truth::Vector;

constexpr int kChains = 12;

__attribute__((noinline)) void multiply_add(std::size_t iterations) {
  volatile double unknown = 0.5;  // else the compiler works everything out beforehand
  const Vector factor = Vector{} + unknown, term = Vector{} + unknown;
  Vector chain[kChains];
  for (int k = 0; k < kChains; ++k) chain[k] = Vector{} + k * unknown;  // alike, they become one
  for (std::size_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) chain[k] = chain[k] * factor + term;
  }
  for (int k = 0; k < kChains; ++k) asm volatile("" : : "m"(chain[k]));
}

}  // namespace

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  constexpr std::size_t kIterations = 1 << 19;  // some 1 ms
  const double flops = 2.0 * kChains * kIterations * (sizeof(Vector) / sizeof(double));
  const auto seconds = truth::timed(
      arguments, 1, [](int, void*&) {}, [](int, int, void*) { multiply_add(kIterations); });
  truth::print("fma", truth::rates(arguments, flops, seconds[0]));
  return truth::end();
}
