// What the tests of the kernels share: all targets, all awkward sizes, all alignments.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tabane/simd/dispatch.h"
#include "tabane/simd/target.h"

namespace tabane::simd {

// Calls f on every target that this CPU has.
template <class F>
void on_every_target(F f) {
  for (const std::string& name : target_names()) {
    SCOPED_TRACE("target " + name);
    const ScopedTarget target(name);
    ASSERT_EQ(target_name(), name);
    f();
  }
}

// Calls f on every target as processors of every habit do; those of large arrays begin at few
// bytes.
template <class F>
void on_every_target_and_habit(F f) {
  Habits intel = habits_of({"GenuineIntel", 6}), zen5 = habits_of({"AuthenticAMD", 0x1a});
  intel.strings.from = zen5.strings.from = zen5.prefetch.from = zen5.prefetch_one.from = 20000;
  for (const auto& [name, habits] :
       {std::pair("Intel", intel), {"Zen 4", habits_of({"AuthenticAMD", 0x19})}, {"Zen 5", zen5}}) {
    SCOPED_TRACE(name);
    const ScopedHabits scoped(habits);
    on_every_target(f);
  }
}

template <class T>
std::size_t lanes() {
  return target_name() == "SCALAR" ? 1 : vector_bytes() / sizeof(T);
}

// Around every border of vectors (1 to 16 lanes) and of blocks (4, 8 vectors), and some beyond.
inline std::vector<std::size_t> awkward_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n <= 160; ++n) sizes.push_back(n);
  for (const std::size_t n : {255, 256, 257, 1000, 1023, 1024, 1025}) sizes.push_back(n);
  return sizes;
}

// Sizes whose arrays fill a first-level cache or exceed it too, for one to three arrays of either
// type: other loops run there.
inline std::vector<std::size_t> sizes_of_every_loop() {
  std::vector<std::size_t> sizes = awkward_sizes();
  for (const std::size_t n : {2100, 3001, 5003, 7001, 14001, 20011}) sizes.push_back(n);
  return sizes;
}

// Reproducible values in [-1, 1) with all their digits in use.
template <class T>
std::vector<T> some_values(std::size_t n, std::uint64_t seed) {
  std::vector<T> values(n);
  std::uint64_t state = seed * 2 + 1;
  for (T& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<T>(static_cast<double>(state >> 11) * 0x1p-52 - 1.0);
  }
  return values;
}

// A copy of values at `offset` elements behind an aligned address, with nothing usable around it:
// the memory ends with the last element, so that a sanitizer sees every access outside.
template <class T>
class Placed {
 public:
  Placed(const std::vector<T>& values, std::size_t offset) : memory_(offset + values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) memory_[offset + i] = values[i];
    span_ = std::span<T>(memory_).subspan(offset);
  }
  std::span<T> span() { return span_; }
  std::vector<T> values() const { return {span_.begin(), span_.end()}; }

 private:
  std::vector<T> memory_;
  std::span<T> span_;
};

// The operand that a kernel reads.
template <class T>
using In = std::span<const T>;

template <template <class> class Kernel>
using InBothTypes = testing::Types<Kernel<double>, Kernel<float>>;

// Names an instance of a typed test by its element.
struct ElementName {
  template <class Kernel>
  static std::string GetName(int) {
    return std::is_same_v<typename Kernel::Element, float> ? "float" : "double";
  }
};

// Half the distance from 1 to the next number.
template <class T>
double unit_roundoff() {
  return static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
}

}  // namespace tabane::simd
