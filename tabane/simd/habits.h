// What kinds of x86 processors differ in beyond their instructions: ways of going through memory
// that are the fastest on one and slow on another.
#pragma once

#include <string>

namespace tabane::simd {

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
};

// As CPUID tells it; elsewhere nothing.
struct Processor {
  std::string vendor;  // "GenuineIntel"
  unsigned family = 0;
};

Habits habits_of(const Processor& processor);

// Those of this machine, read once. cost: a load.
const Habits& habits();

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

}  // namespace tabane::simd
