// The guide's first demonstration: ten dependent operations an iteration, as the compiler leaves
// them.
#pragma once

#include <cstdint>

namespace tabane::lab {

// Iterations of ten a = a + a (or a = a * a), not optimised: every step goes through memory.
void add_chain_not_optimised(std::uint64_t iterations, double start);
void mul_chain_not_optimised(std::uint64_t iterations, double start);

// The same optimised. start: comes from outside, so that the compiler cannot work the chain out.
void add_chain_optimised(std::uint64_t iterations, double start);
void mul_chain_optimised(std::uint64_t iterations, double start);

}  // namespace tabane::lab
