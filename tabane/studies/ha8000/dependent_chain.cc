#include "tabane/studies/ha8000/dependent_chain.h"

#include "tabane/core/keep.h"

#if defined(__clang__)
#define TABANE_NOT_OPTIMISED __attribute__((optnone, noinline))
#else
#define TABANE_NOT_OPTIMISED __attribute__((optimize("O0"), noinline))
#endif

namespace tabane::lab {

TABANE_NOT_OPTIMISED void add_chain_not_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
  }
  core::keep(a);
}

TABANE_NOT_OPTIMISED void mul_chain_not_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
  }
  core::keep(a);
}

void add_chain_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    for (int k = 0; k < 10; ++k) a = a + a;
  }
  core::keep(a);
}

void mul_chain_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    for (int k = 0; k < 10; ++k) a = a * a;
  }
  core::keep(a);
}

}  // namespace tabane::lab
