// The kernels that bench.cc asks about, each with its peers, its traffic and its arithmetic.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/simd/elementwise.h"
#include "tabane/simd/roof.h"

namespace tabane::bench {

struct Arrays {
  double* x = nullptr;  // 2 n elements of which y may be the second half
  double* y = nullptr;
  double* z = nullptr;  // written
  std::size_t n = 0;
  simd::Streaming streaming{};

  std::span<const double> in_x() const { return {x, n}; }
  std::span<const double> in_y() const { return {y, n}; }
  std::span<double> out_z() const { return {z, n}; }
};

using Run = std::function<void(const Arrays&)>;

struct Candidate {
  std::string name;
  std::function<core::Work(const Arrays&)> repeated;  // the call itself inside the loop
  Run once;
  std::string missing;
  std::string how = {};
};

enum class Arithmetic { none, add, fma };

struct Kernel {
  std::string name;
  double bytes_per_element = 0;
  int arrays = 0;  // that it goes over
  simd::Traffic traffic;
  Arithmetic arithmetic;
  Candidate ours;
  std::vector<Candidate> peers;

  bool writes() const { return traffic != simd::Traffic::read; }
};

// shape: the reductions, then those that write a vector.
std::vector<Kernel> all_kernels();

// What a loop of the kernel's traffic is to go over.
struct RoofOperands {
  double* a = nullptr;
  const double* b = nullptr;
  const double* c = nullptr;
  std::size_t n = 0;

  void run(const simd::Roof& roof) const { roof.run(a, b, c, n, 1); }
};
RoofOperands roof_operands(const Kernel& kernel, const Arrays& arrays);

}  // namespace tabane::bench
