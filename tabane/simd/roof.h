// Limits (roofs) against which kernels are measured: loops that only move data, and arithmetic
// alone.
//
// No single loop is the fastest on every core and in every cache: which one is depends on how many
// loads are in flight, how they mix with stores and what the prefetchers recognise. So there are
// many, and a roof is the best of them, searched at the very size. None shares code with a kernel:
// what slows a kernel down cannot lower its roof.
//
// In the first-level cache no kernel need reach its roof: there, arithmetic and traffic slow each
// other. On a server with AVX-512, written by hand in assembly, loads with an addition each ran at
// 0.83 of the loads alone, with an FMA each at 0.70, and a triad at 0.80 of its loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tabane::simd {

// What a kernel does to memory, without its arithmetic.
enum class Traffic {
  read,         // a
  write,        // -> a
  read_write,   // b -> a
  read2_write,  // b, c -> a
};

struct Roof {
  std::string_view name;  // what distinguishes the loop: "16 vectors", "libc memcpy"
  Traffic traffic;
  bool streaming;       // writes past the caches
  bool (*available)();  // whether this machine should run it; null: always
  // Passes over n elements of each array that the traffic names; others may be null. A pass over a
  // first-level cache lasts 200 cycles, and a call for each would cost 9 more. read leaves a alone,
  // write fills it with numbers in [1, 2), no line like another but for "rep stosq" (some
  // processors write zeros at twice the speed of anything else), read_write copies b to a,
  // read2_write reads b and copies c to a. a, b, c: any alignment, but the fastest is that of a
  // line; they do not overlap, save that c may be a.
  void (*run)(double* a, const double* b, const double* c, std::size_t n, std::uint64_t passes);
};

// All loops of the target in use (target.h). shape: lives as long as the program.
std::span<const Roof> roofs();

// Runs FMAs on registers, in enough independent chains to keep all pipes busy; on a target without
// FMA a multiplication and an addition each. Returns the floating-point operations done (2 an FMA).
// Reads no clock: time it over so many iterations that the call does not count.
std::uint64_t peak_fma(std::uint64_t iterations);

// The same with additions only. Returns the additions done.
std::uint64_t peak_add(std::uint64_t iterations);

}  // namespace tabane::simd
