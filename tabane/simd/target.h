// Which vector instructions the kernels use: chosen at run time, the widest that the CPU has and
// the system has enabled. On x86-64 the least is SSE2 with Highway 1.0.4 or later; 1.0.3 knows
// nothing below SSSE3 and has one element at a time ("SCALAR") on older processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tabane::simd {

// Names Highway's target in use, for example "AVX2", "AVX3", "NEON".
std::string target_name();

// Width of the target's vectors of doubles; on a scalable target the width of this machine. 8: no
// vectors (target "SCALAR"), a float then is alone too.
unsigned vector_bytes();

// Names the targets that are compiled in and that this CPU runs, the best first.
std::vector<std::string> target_names();

// Forces all kernels of the process to one target for a scope. Not for concurrent use: kernels that
// run in other threads meanwhile may use either target.
class ScopedTarget {
 public:
  // throws: core::UsageError with the legal names.
  explicit ScopedTarget(const std::string& name);
  ~ScopedTarget();
  ScopedTarget(const ScopedTarget&) = delete;
  ScopedTarget& operator=(const ScopedTarget&) = delete;
};

}  // namespace tabane::simd
