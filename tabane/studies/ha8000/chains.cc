// Compiled once for each TABANE_LEVEL, with that level of optimisation: see CMakeLists.txt.
#include "tabane/studies/ha8000/chains.h"

// Ten times in the source, as in the guide: -O0 unrolls no loop.
#define TABANE_TEN_TIMES(step) step step step step step step step step step step

namespace tabane::lab::ha8000 {

template <int Level>
double add_chain(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    TABANE_TEN_TIMES(a = a + a;)
  }
  return a;
}

template <int Level>
double multiply_chain(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    TABANE_TEN_TIMES(a = a * a;)
  }
  return a;
}

template double add_chain<TABANE_LEVEL>(std::uint64_t iterations, double start);
template double multiply_chain<TABANE_LEVEL>(std::uint64_t iterations, double start);

}  // namespace tabane::lab::ha8000
