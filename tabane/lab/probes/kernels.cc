#include "tabane/lab/probes/kernels.h"

#include <algorithm>
#include <array>
#include <memory>

#include "tabane/core/keep.h"
#include "tabane/core/pinned_pool.h"
#include "tabane/simd/add.h"
#include "tabane/simd/axpy.h"
#include "tabane/simd/copy.h"
#include "tabane/simd/dot.h"
#include "tabane/simd/roof.h"
#include "tabane/simd/scale.h"
#include "tabane/simd/set.h"
#include "tabane/simd/sum.h"
#include "tabane/simd/sum_of_squares.h"
#include "tabane/simd/triad.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kLineDoubles = 8;
constexpr std::size_t kPageDoubles = 512;

// Distance between arrays of so many elements: one line less than whole 4 KiB. A load waits for an
// older store still in the queue if the low 12 bits of their addresses agree; like this only a load
// 500 elements ahead of the store does, which is never in flight with it.
constexpr std::size_t stride_of(std::size_t elements) {
  return (elements + kLineDoubles + kPageDoubles - 1) / kPageDoubles * kPageDoubles - kLineDoubles;
}

// A factor that leaves axpy's result finite and normal after any number of passes.
constexpr double kScalar = 1e-9;

void run_sum(const Arrays& v) { core::keep(simd::sum(v.a)); }
void run_sum_of_squares(const Arrays& v) { core::keep(simd::sum_of_squares(v.a)); }
void run_dot(const Arrays& v) { core::keep(simd::dot(v.a, v.b)); }
void run_axpy(const Arrays& v) { simd::axpy(kScalar, v.a, v.b); }
// Brings values back that the other kernels have made small.
void run_set(const Arrays& v) { simd::set(v.a, 1.0, v.streaming); }
void run_copy(const Arrays& v) { simd::copy(v.a, v.b, v.streaming); }
void run_scale(const Arrays& v) { simd::scale(kScalar, v.a, v.b, v.streaming); }
void run_add(const Arrays& v) { simd::add(v.a, v.b, v.c, v.streaming); }
void run_triad(const Arrays& v) { simd::triad(v.a, kScalar, v.b, v.c, v.streaming); }

// The loop of eight vectors: near the best in every cache of most cores.
const simd::Roof& eight_vectors(simd::Traffic traffic) {
  return *std::ranges::find_if(simd::roofs(), [&](const simd::Roof& roof) {
    return roof.traffic == traffic && roof.name == "8 vectors";
  });
}

template <simd::Traffic kTraffic>
void move(double* a, const double* b, const double* c, std::size_t n) {
  static const simd::Roof& roof = eight_vectors(kTraffic);
  roof.run(a, b, c, n);
}

void run_read(const Arrays& v) {
  move<simd::Traffic::read>(v.a.data(), nullptr, nullptr, v.a.size());
}
void run_write(const Arrays& v) {
  move<simd::Traffic::write>(v.a.data(), nullptr, nullptr, v.a.size());
}
void run_read_write(const Arrays& v) {
  move<simd::Traffic::read_write>(v.b.data(), v.a.data(), nullptr, v.a.size());
}
void run_read2_write(const Arrays& v) {
  move<simd::Traffic::read2_write>(v.c.data(), v.a.data(), v.b.data(), v.a.size());
}

const std::array<Kernel, 9> kVectorKernels = {{
    {.name = "sum", .flops = 1, .loads = 1, .arrays = 1, .run = run_sum},
    {.name = "sum_of_squares", .flops = 2, .loads = 1, .arrays = 1, .run = run_sum_of_squares},
    {.name = "dot", .flops = 2, .loads = 2, .arrays = 2, .run = run_dot},
    {.name = "axpy", .flops = 2, .loads = 2, .stores = 1, .arrays = 2, .run = run_axpy},
    {.name = "set", .stores = 1, .arrays = 1, .run = run_set},
    {.name = "copy", .loads = 1, .stores = 1, .arrays = 2, .run = run_copy},
    {.name = "scale", .flops = 1, .loads = 1, .stores = 1, .arrays = 2, .run = run_scale},
    {.name = "add", .flops = 1, .loads = 2, .stores = 1, .arrays = 3, .run = run_add},
    {.name = "triad", .flops = 2, .loads = 2, .stores = 1, .arrays = 3, .run = run_triad},
}};

const std::array<Kernel, 4> kMemoryKernels = {{
    {.name = "read", .loads = 1, .arrays = 1, .run = run_read},
    kVectorKernels[4],
    kVectorKernels[5],
    kVectorKernels[8],
}};

const std::array<Kernel, 4> kPortKernels = {{
    {.name = "read", .loads = 1, .arrays = 1, .run = run_read},
    {.name = "write", .stores = 1, .arrays = 1, .run = run_write},
    {.name = "read_write", .loads = 1, .stores = 1, .arrays = 2, .run = run_read_write},
    {.name = "read2_write", .loads = 2, .stores = 1, .arrays = 3, .run = run_read2_write},
}};

}  // namespace

std::span<const Kernel> vector_kernels() { return kVectorKernels; }
std::span<const Kernel> memory_kernels() { return kMemoryKernels; }
std::span<const Kernel> port_kernels() { return kPortKernels; }

WorkingSet::WorkingSet(std::uint64_t bytes, simd::Streaming streaming)
    : region_(bytes + 4 * kPageDoubles * 8, {.pages = core::PageSize::huge}),
      bytes_(bytes),
      streaming_(streaming) {
  std::ranges::fill(region_.as<double>().first(bytes / 8 + 4 * kPageDoubles), 1.0);
}

Arrays WorkingSet::arrays_for(const Kernel& kernel) const {
  const auto count = static_cast<std::size_t>(kernel.arrays);
  const std::size_t elements =
      std::max(kLineDoubles, bytes_ / (8 * count) / kLineDoubles * kLineDoubles);
  const std::size_t stride = stride_of(elements);
  const std::span<double> all = region_.as<double>();
  Arrays arrays;
  arrays.streaming = streaming_;
  arrays.a = all.subspan(0, elements);
  if (count > 1) arrays.b = all.subspan(stride, elements);
  if (count > 2) arrays.c = all.subspan(2 * stride, elements);
  return arrays;
}

core::Competitor competitor(const Kernel& kernel, const Arrays& arrays) {
  return {kernel.name, core::repeat([run = kernel.run, arrays] { run(arrays); })};
}

std::vector<double> ParallelRun::rates() const {
  return lab::rates(all, bytes_of_each * static_cast<double>(pus));
}

double ParallelRun::alone_rate() const { return bytes_of_each / alone.median(); }

ParallelRun run_on_all(std::span<const unsigned> pus, const Kernel& kernel,
                       std::uint64_t bytes_of_each, simd::Streaming streaming,
                       const core::MeasureOptions& options) {
  core::PinnedPool pool(pus);
  std::vector<std::unique_ptr<WorkingSet>> sets(pus.size());
  // Each thread makes its own arrays, so that first touch places them on its node.
  pool.run(
      [&](std::size_t i) { sets[i] = std::make_unique<WorkingSet>(bytes_of_each, streaming); });
  const auto on = [&](std::size_t workers) {
    return [&, workers](std::uint64_t iterations) {
      pool.run([&](std::size_t i) {
        if (i >= workers) return;
        const Arrays arrays = sets[i]->arrays_for(kernel);
        for (std::uint64_t k = 0; k < iterations; ++k) kernel.run(arrays);
      });
    };
  };
  auto series = core::measure_interleaved({{"all", on(pus.size())}, {"alone", on(1)}}, options);
  const double elements = static_cast<double>(sets.front()->arrays_for(kernel).a.size());
  return {.all = std::move(series[0]),
          .alone = std::move(series[1]),
          .bytes_of_each = kernel.bytes() * elements,
          .pus = pus.size()};
}

std::vector<double> rates(const core::Series& series, double amount) {
  std::vector<double> result;
  result.reserve(series.samples.size());
  for (double seconds : series.samples) result.push_back(amount / seconds);
  return result;
}

}  // namespace tabane::lab
