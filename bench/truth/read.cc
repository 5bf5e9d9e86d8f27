// Reads an array again and again with vector loads, unrolled 8-, 16- and 32-fold with an
// accumulator for each load of a round, and tells the best of the three: which of them keeps the
// load ports busy depends on how many registers there are and on how far the core looks ahead.
#include <omp.h>

#include "bench/truth/program.h"

namespace {

typedef long long Bits __attribute__((vector_size(truth::kVectorBytes)));

// Bits are combined by OR, which has no latency to speak of and as many ports as there are loads.
template <int kFold>
__attribute__((noinline)) void read(const Bits* x, std::size_t n, std::size_t passes) {
  Bits sum[kFold] = {};
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i + kFold <= n; i += kFold) {
#pragma GCC unroll 32
      for (int k = 0; k < kFold; ++k) sum[k] |= x[i + static_cast<std::size_t>(k)];
    }
    asm volatile("" : "+r"(x) : : "memory");  // the next pass reads again
  }
  for (int k = 0; k < kFold; ++k) asm volatile("" : : "m"(sum[k]));
}

using Read = void (*)(const Bits*, std::size_t, std::size_t);

}  // namespace

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  const Read variants[] = {read<8>, read<16>, read<32>};
  const std::size_t n = arguments.bytes / sizeof(Bits) / 32 * 32;
  const double bytes = static_cast<double>(n * sizeof(Bits));
  // About 10 ms at 100 GB/s, against which the barriers do not count.
  const std::size_t passes = 1 + static_cast<std::size_t>(1e9 / bytes);
  const auto threads = static_cast<int>(arguments.pus.size());
  std::vector<double> rates[3];
#pragma omp parallel num_threads(threads)
  {
    const int self = omp_get_thread_num();
    truth::bind_to(arguments.pus[static_cast<std::size_t>(self)]);
    const auto* x = static_cast<const Bits*>(truth::huge_pages(n * sizeof(Bits)));
    for (int sample = -1; sample < arguments.samples; ++sample) {
      for (int variant = 0; variant < 3; ++variant) {
#pragma omp barrier
        const double begin = truth::now();
        variants[variant](x, n, passes);
#pragma omp barrier
        const double seconds = truth::now() - begin;
        if (self == 0 && sample >= 0)
          rates[variant].push_back(threads * bytes * static_cast<double>(passes) / seconds);
      }
    }
  }
  truth::print("read", *std::max_element(rates, rates + 3, [](const auto& a, const auto& b) {
                 return truth::median(a) < truth::median(b);
               }));
  return truth::end();
}
