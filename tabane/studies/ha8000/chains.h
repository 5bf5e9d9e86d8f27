// The guide's loop, compiled three times: with -O0, -O1 and -O2.
#pragma once

#include <cstdint>

namespace tabane::lab::ha8000 {

// Ten dependent a = a + a (or a = a * a) an iteration. start: not known to the compiler, so that it
// cannot work the chain out. Returns a.
template <int Level>
double add_chain(std::uint64_t iterations, double start);
template <int Level>
double multiply_chain(std::uint64_t iterations, double start);

}  // namespace tabane::lab::ha8000
