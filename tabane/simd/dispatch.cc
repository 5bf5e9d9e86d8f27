#include "tabane/simd/dispatch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tabane::simd {
namespace {

constexpr unsigned kZen3And4 = 0x19;  // only Zen 4 of them has vectors of 512 bits
constexpr unsigned kZen5 = 0x1a;
constexpr std::size_t kFirstLevel = std::size_t{64} << 10;  // or less
constexpr std::size_t kZen5SecondLevel = std::size_t{1} << 20;
constexpr std::size_t kZen5LastLevel = std::size_t{16} << 20;  // or more, shared

Processor this_processor() {
  Processor processor;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return processor;
  for (const unsigned word : {b, d, c})
    processor.vendor.append(reinterpret_cast<const char*>(&word), sizeof word);
  __get_cpuid(1, &a, &b, &c, &d);
  processor.family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
#endif
  return processor;
}

}  // namespace

// Source of the family: Intel, Software Developer's Manual, volume 2, CPUID; AMD's is the same.
Habits habits_of(const Processor& processor) {
  const bool intel = processor.vendor == "GenuineIntel";
  const bool zen4 = processor.vendor == "AuthenticAMD" && processor.family == kZen3And4;
  const bool zen5 = processor.vendor == "AuthenticAMD" && processor.family == kZen5;
  Habits habits{.several_pages = intel, .half_vectors_near = zen4, .half_vectors_far = intel};
  if (zen5) {
    habits.prefetch = habits.strings = {kZen5SecondLevel, kZen5LastLevel};
    habits.prefetch_one = {kFirstLevel, kZen5LastLevel};
  }
  if (intel) habits.strings = {.from = kFirstLevel};
  return habits;
}

void learn_habits() { current_habits = habits_of(this_processor()); }

ScopedHabits::ScopedHabits(const Habits& habits) {
  safe_target();
  before_ = current_habits;
  current_habits = habits;
}
ScopedHabits::~ScopedHabits() { current_habits = before_; }

}  // namespace tabane::simd
