// Times work that all threads do at once.
#pragma once

#include <omp.h>

#include "tabane/tools/survey/bench_truth/program.h"

namespace truth {

// Calls prepare(self, memory) and work(variant, self, memory) on one thread for each PU, bound to
// it, each variant in turn. memory: null at first, a thread's own to keep. Returns the seconds of
// each variant's samples, from the barrier before the work to the one after it; a first round does
// not count.
template <class Prepare, class Work>
std::vector<std::vector<double>> timed(const Arguments& arguments, int variants, Prepare prepare,
                                       Work work) {
  std::vector<std::vector<double>> seconds(static_cast<std::size_t>(variants));
#pragma omp parallel num_threads(static_cast <int>(arguments.pus.size()))
  {
    const int self = omp_get_thread_num();
    bind_to(arguments.pus[static_cast<std::size_t>(self)]);
    void* memory = nullptr;
    for (int round = -1; round < arguments.samples; ++round) {
      for (int variant = 0; variant < variants; ++variant) {
        prepare(self, memory);
#pragma omp barrier
        const double begin = now();
        work(variant, self, memory);
#pragma omp barrier
        const double end = now();
        if (self == 0 && round >= 0)
          seconds[static_cast<std::size_t>(variant)].push_back(end - begin);
      }
    }
  }
  return seconds;
}

// What all threads together did in a second, of `amount` done by each.
inline std::vector<double> rates(const Arguments& arguments, double amount,
                                 std::vector<double> seconds) {
  const double all = amount * static_cast<double>(arguments.pus.size());
  for (double& x : seconds) x = all / x;
  return seconds;
}

// For threads that keep the memory that they touched first.
inline auto keep_memory(std::size_t bytes) {
  return [bytes](int, void*& memory) {
    if (memory == nullptr) memory = huge_pages(bytes);
  };
}

}  // namespace truth
