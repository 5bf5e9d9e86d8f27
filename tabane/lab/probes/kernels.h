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

// Arrays for a kernel whose working set is `bytes` in all, placed in one region, first touched by
// the calling thread, with huge pages asked for so that address translation does not hide the
// caches.
class KernelData {
 public:
  KernelData(const Kernel& kernel, std::uint64_t bytes, simd::Streaming streaming = {});
  const Arrays& arrays() const { return arrays_; }
  std::size_t elements() const { return arrays_.a.size(); }

 private:
  core::Region region_;
  Arrays arrays_;
};

// Seconds per pass of the kernel, alone on the calling thread.
core::Series measure_kernel(const Kernel& kernel, const KernelData& data,
                            const core::MeasureOptions& options);

// Seconds per pass with one thread on each of the PUs, each with a working set of its own.
core::Series measure_kernel_on(std::span<const unsigned> pus, const Kernel& kernel,
                               std::uint64_t bytes_of_each, simd::Streaming streaming,
                               const core::MeasureOptions& options, std::size_t* elements_in_all);

// Raw samples as rates: amount / seconds.
std::vector<double> rates(const core::Series& series, double amount);

}  // namespace tabane::lab
