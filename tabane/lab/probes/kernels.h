// The vector kernels as data: what one element costs, and a uniform way to run them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/lab/probe.h"
#include "tabane/simd/stream.h"

namespace tabane::lab {

// Three arrays of doubles with equal lengths; kernels with fewer operands ignore the rest.
struct Arrays {
  std::span<double> a, b, c;
  simd::Streaming streaming;
};

struct Kernel {
  std::string name;
  double flops = 0;   // an element
  double loads = 0;   // doubles an element
  double stores = 0;  // doubles an element
  int arrays = 1;     // of a, b, c that it touches, from a on
  void (*run)(const Arrays& arrays) = nullptr;

  double bytes() const { return 8 * (loads + stores); }  // STREAM's counting: no write-allocate
};

// sum, sum_of_squares, dot, axpy, set, copy, scale, add, triad.
std::span<const Kernel> vector_kernels();
// read (loads only), set, copy, triad.
std::span<const Kernel> memory_kernels();
// What the ports of the first cache can do: loads, stores, and one or two loads beside each store,
// without arithmetic.
std::span<const Kernel> port_kernels();

// One working set that all kernels share: the same bytes, cut into as many arrays as a kernel has.
//
// Kernels measured in turn find the level of the memory as the one before left it, which separate
// arrays would not give: they would push each other out. The calling thread touches the memory
// first; huge pages are asked for, so that address translation does not hide the caches.
class WorkingSet {
 public:
  explicit WorkingSet(std::uint64_t bytes, simd::Streaming streaming = {});
  // Whole cache lines, at least one for each array.
  Arrays arrays_for(const Kernel& kernel) const;

 private:
  core::Region region_;
  std::uint64_t bytes_;
  simd::Streaming streaming_;
};

// A kernel as a competitor: one iteration is one pass over its arrays.
core::Competitor competitor(const Kernel& kernel, const Arrays& arrays);

// A kernel on all of the PUs, each with a working set of its own, and on the first of them alone.
struct ParallelRun {
  core::Series all, alone;   // seconds per pass, taken in turn
  double bytes_of_each = 0;  // moved by one PU in one pass
  std::size_t pus = 0;

  std::vector<double> rates() const;  // bytes a second of all together
  double alone_rate() const;          // bytes a second, median
};
ParallelRun run_on_all(std::span<const unsigned> pus, const Kernel& kernel,
                       std::uint64_t bytes_of_each, simd::Streaming streaming,
                       const core::MeasureOptions& options);

// Raw samples as rates: amount / seconds.
std::vector<double> rates(const core::Series& series, double amount);

}  // namespace tabane::lab
