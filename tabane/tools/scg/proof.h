// What is proved of a solution.
#pragma once

#include <cstddef>
#include <limits>
#include <tuple>

namespace tabane::scg {

// bound: of |error of u|, divided by the largest |u|; infinite if none was found.
struct Proof {
  bool asked = false;
  double bound = std::numeric_limits<double>::infinity();
  double residual = 0;         // as verify()'s, before u is rounded to doubles
  std::size_t iterations = 0;  // for w, and to make u better
  double seconds = 0;

  auto fields() { return std::tie(asked, bound, residual, iterations, seconds); }
};

}  // namespace tabane::scg
