// STREAM: copy, scale, add and triad over arrays far larger than the caches. Each thread of an
// OpenMP region owns a part of each array that it touched first; stores go past the caches, as
// STREAM is run by those who want its best figure, and bytes are counted as STREAM counts them:
// what is loaded and what is stored, nothing for lines that a cache would read before writing.
// source: J. McCalpin, Memory bandwidth and machine balance in current high performance computers
// (1995).
#include "tabane/tools/survey/bench_truth/timed.h"

namespace {

using truth::Vector;

inline void store(Vector* to, Vector value) {
#if defined(__AVX512F__)
  _mm512_stream_pd(reinterpret_cast<double*>(to), value);
#elif defined(__AVX__)
  _mm256_stream_pd(reinterpret_cast<double*>(to), value);
#elif defined(__x86_64__)
  _mm_stream_pd(reinterpret_cast<double*>(to), value);
#else
  *to = value;  // other processors notice by themselves that whole lines are overwritten
#endif
}

// NOINLINE keeps the four loops apart, as they are in STREAM.
template <class F>
__attribute__((noinline)) void each(Vector* to, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i) store(to + i, f(i));
#if defined(__x86_64__)
  _mm_sfence();  // the stores count when they have left the core
#endif
}

void run(int kernel, Vector* a, Vector* b, Vector* c, std::size_t n) {
  const Vector scalar = Vector{} + 3.0;
  if (kernel == 0) each(c, n, [=](std::size_t i) { return a[i]; });
  if (kernel == 1) each(b, n, [=](std::size_t i) { return scalar * c[i]; });
  if (kernel == 2) each(c, n, [=](std::size_t i) { return a[i] + b[i]; });
  if (kernel == 3) each(a, n, [=](std::size_t i) { return b[i] + scalar * c[i]; });
}

}  // namespace

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  const char* const names[] = {"copy", "scale", "add", "triad"};
  const double arrays_moved[] = {2, 2, 3, 3};
  constexpr std::size_t kGapBytes = 9 * 64;  // so that arrays do not start in the same cache sets
  const std::size_t n = arguments.bytes / 3 / sizeof(Vector);
  const std::size_t stride = n + kGapBytes / sizeof(Vector);
  const auto seconds = truth::timed(arguments, 4, truth::keep_memory(3 * stride * sizeof(Vector)),
                                    [=](int kernel, int, void* memory) {
                                      auto* a = static_cast<Vector*>(memory);
                                      run(kernel, a, a + stride, a + 2 * stride, n);
                                    });
  for (std::size_t kernel = 0; kernel < 4; ++kernel) {
    const double bytes = arrays_moved[kernel] * static_cast<double>(n * sizeof(Vector));
    truth::print(names[kernel], truth::rates(arguments, bytes, seconds[kernel]));
  }
  return truth::end();
}
