// Kernels that do one thing only: the limits (roofs) against which other kernels are measured.
//
// None of them reads a clock: time them with core/measurement.h, over enough iterations or passes
// that the call does not count.
#pragma once

#include <cstdint>
#include <span>

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

// The kernels below go over whole arrays `passes` times with vector loads and stores that no
// optimiser removes, through the caches. In the first-level cache they give its bandwidth, on large
// arrays the memory's. Return the bytes moved between registers and memory; that is what the
// program asked for, without the lines that a cache reads before they are overwritten.

// Loads only. x is combined with bitwise OR, which is never the bottleneck.
std::uint64_t read(std::span<const double> x, std::uint64_t passes = 1);

// Stores only: fills y with zeros.
std::uint64_t write(std::span<double> y, std::uint64_t passes = 1);

// One load for each store: copies x to y. x, y: same length, no overlap.
std::uint64_t read_write(std::span<const double> x, std::span<double> y, std::uint64_t passes = 1);

// Two loads for each store: writes the bitwise OR of x and y to z. x, y, z: same length, no
// overlap.
std::uint64_t read2_write(std::span<const double> x, std::span<const double> y, std::span<double> z,
                          std::uint64_t passes = 1);

}  // namespace tabane::simd
