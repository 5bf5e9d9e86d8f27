// Reads an array again and again with vector loads, unrolled 8-, 16- and 32-fold with accumulators
// that do not depend on each other, and tells the best of the three: which of them keeps the
// load ports busy depends on how many registers there are and on how far the core looks ahead.
#include "tabane/tools/survey/bench_truth/timed.h"

namespace {

typedef long long Bits __attribute__((vector_size(truth::kVectorBytes)));

// Keeps loads in the order of their addresses, which prefetchers follow: all odd ones first, as GCC
// 12 has them, and the second-level cache of Zen 5 gives 180 GB/s instead of 280.
void load_now(Bits& value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

// Two loads for each accumulator of a round: AVX-512 combines three operands in one instruction, so
// that arithmetic needs half of its ports and loads do not wait for one.
template <std::size_t kFold>
__attribute__((noinline)) void read(const Bits* x, std::size_t n, std::size_t passes) {
  constexpr std::size_t kSums = kFold / 2;
  Bits sum[kSums] = {};
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i + kFold <= n; i += kFold) {
#pragma GCC unroll 32
      for (std::size_t k = 0; k < kSums; ++k) {
        Bits first = x[i + 2 * k], second = x[i + 2 * k + 1];
        load_now(first);
        load_now(second);
        sum[k] |= first | second;
      }
    }
    asm volatile("" : "+r"(x) : : "memory");  // the next pass reads again
  }
#pragma GCC unroll 32
  for (std::size_t k = 1; k < kSums; ++k) sum[0] |= sum[k];
  [[maybe_unused]] volatile long long used = sum[0][0];  // one place alone, or all stay in memory
}

using Read = void (*)(const Bits*, std::size_t, std::size_t);

}  // namespace

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  const Read variants[] = {read<8>, read<16>, read<32>};
  const std::size_t n = arguments.bytes / sizeof(Bits) / 32 * 32;
  const double bytes = static_cast<double>(n * sizeof(Bits));
  // About 1 ms at 100 GB/s, against which the barriers do not count.
  const std::size_t passes = 1 + static_cast<std::size_t>(1e8 / bytes);
  const auto seconds = truth::timed(arguments, 3, truth::keep_memory(n * sizeof(Bits)),
                                    [&](int variant, int, void* memory) {
                                      variants[variant](static_cast<Bits*>(memory), n, passes);
                                    });
  const auto& best = *std::min_element(
      seconds.begin(), seconds.end(),
      [](const auto& a, const auto& b) { return truth::median(a) < truth::median(b); });
  truth::print("read", truth::rates(arguments, bytes * static_cast<double>(passes), best));
  return truth::end();
}
