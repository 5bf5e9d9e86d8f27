// Multiply-adds on registers: twelve chains that do not depend on each other, more than the pipes
// of any current core times the latency of an FMA ask for, and few enough for 16 registers.
#include <omp.h>

#include "bench/truth/program.h"

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
  constexpr std::size_t kIterations = 1 << 22;  // some 10 ms
  const double flops = 2.0 * kChains * kIterations * (sizeof(Vector) / sizeof(double));
  const auto threads = static_cast<int>(arguments.pus.size());
  std::vector<double> rates;
#pragma omp parallel num_threads(threads)
  {
    const int self = omp_get_thread_num();
    truth::bind_to(arguments.pus[static_cast<std::size_t>(self)]);
    for (int sample = -1; sample < arguments.samples; ++sample) {
#pragma omp barrier
      const double begin = truth::now();
      multiply_add(kIterations);
#pragma omp barrier
      const double seconds = truth::now() - begin;
      if (self == 0 && sample >= 0) rates.push_back(threads * flops / seconds);
    }
  }
  truth::print("fma", rates);
  return truth::end();
}
