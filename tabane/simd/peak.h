// Arithmetic alone, in registers: a limit against which kernels are measured. Limits of moving data
// are in roof.h.
//
// Nothing here reads a clock: time it with core/measurement.h, over enough iterations that the call
// does not count.
#pragma once

#include <cstdint>

namespace tabane::simd {

// Runs FMAs on registers, in enough independent chains to keep all pipes busy; on a target without
// FMA a multiplication and an addition each. T: double or float. Returns the floating-point
// operations done (2 an FMA).
template <class T>
std::uint64_t peak_fma(std::uint64_t iterations);
template <>
std::uint64_t peak_fma<double>(std::uint64_t iterations);
template <>
std::uint64_t peak_fma<float>(std::uint64_t iterations);

// The same with additions only. Returns the additions done.
template <class T>
std::uint64_t peak_add(std::uint64_t iterations);
template <>
std::uint64_t peak_add<double>(std::uint64_t iterations);
template <>
std::uint64_t peak_add<float>(std::uint64_t iterations);

}  // namespace tabane::simd
