// Run-time dispatch without a call into the vector library (a kernel of 1000 elements lasts 100
// cycles), and what kinds of x86 processors differ in beyond their instructions.
//
// For the .cc files of this module, after highway.h.
#pragma once

#include <hwy/highway.h>

#include <atomic>
#include <string>

#include "tabane/core/vector_registers.h"

namespace tabane::simd {

// Sizes of the arrays of a call, together.
struct ByteRange {
  static constexpr std::size_t kNever = ~std::size_t{0};
  std::size_t from = kNever, to = kNever;

  bool contains(std::size_t bytes) const { return bytes >= from && bytes <= to; }
};

// Ways of going through memory that are the fastest on one kind of processor and slow on another.
struct Habits {
  // What is streamed is read from several pages at once, each of which is a stream of its own to
  // the prefetchers. Copy of 256 MiB on one core: 1.3 times one stream on Sapphire Rapids, but 0.7
  // of it on Zen 4 and 5.
  bool several_pages = false;
  // Vectors of 256 bits instead of 512 in the first-level cache. Zen 4 does the work of 512 bits in
  // two steps: with two loads and a store for each result a loop of halves is 1.15 times as fast.
  bool half_vectors_near = false;
  // The same beyond it: a tenth faster on Sapphire Rapids. Zen 4 does not mind, and Zen 5 loads and
  // stores 512 bits at once.
  bool half_vectors_far = false;
  // Software prefetch: in its last-level cache Zen 5 adds up 1.1 times as fast with it, 64 lines
  // ahead, and reads two arrays 1.2 times as fast, 16 lines ahead, if their addresses within a page
  // differ by less than a tenth of it.
  ByteRange prefetch;
  // The same for sums over one array, 64 lines ahead. It makes sums in the second-level cache of
  // Zen 5 1.1 times as fast, too: without it the speed depends on where the loop's code lies in
  // memory.
  ByteRange prefetch_one;
  // Setting and copying by the processor's own loop for strings: 1.05 times as fast in the
  // last-level cache of Zen 5 and beyond the first-level cache of Sapphire Rapids.
  ByteRange strings;
};

// As CPUID describes it; elsewhere empty.
struct Processor {
  std::string vendor;  // "GenuineIntel"
  unsigned family = 0;
};
Habits habits_of(const Processor& processor);

// Those of this machine from the first kernel on, before it those of no processor. cost: a load.
inline constinit Habits current_habits;
inline const Habits& habits() { return current_habits; }
void learn_habits();  // sets them

// Gives all kernels of the process other habits for a scope. Not for concurrent use.
class ScopedHabits {
 public:
  explicit ScopedHabits(const Habits& habits);
  ~ScopedHabits();
  ScopedHabits(const ScopedHabits&) = delete;
  ScopedHabits& operator=(const ScopedHabits&) = delete;

 private:
  Habits before_;
};

// The targets, as Highway's bits, whose instructions the system has not enabled.
std::int64_t disabled_targets(const core::VectorRegisters& registers);

// The library's choice of target, from which those of this machine are taken away at the first
// call: Highway 1.0 believes CPUID where the system has not enabled XSAVE.
hwy::ChosenTarget& safe_target();

// Null until the first call of safe_target(): programs that compute nothing ask for nothing.
inline constinit std::atomic<hwy::ChosenTarget*> chosen_target = nullptr;

inline std::size_t chosen_index() {
  hwy::ChosenTarget* const chosen = chosen_target.load(std::memory_order_acquire);
  return HWY_LIKELY(chosen != nullptr) ? chosen->GetIndex() : safe_target().GetIndex();
}

}  // namespace tabane::simd

// What HWY_DYNAMIC_DISPATCH does, for a function named in HWY_EXPORT.
#define TABANE_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[::tabane::simd::chosen_index()]))
