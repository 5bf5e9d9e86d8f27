// What the independent programs share: arguments, clock, binding, pages, output.
//
// None of them includes or links anything of tabane, so that no mistake can be in both: they find
// out what a person with a compiler and an afternoon would, and the bench holds the survey against
// it. A program prints a line "NAME SAMPLE SAMPLE …" per figure, in B/s, FLOP/s, pages/s or s, and
// "end".
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace truth {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif
typedef double Vector __attribute__((vector_size(kVectorBytes)));

struct Arguments {
  int samples = 0;
  std::size_t bytes = 0;      // of all arrays of one thread
  std::vector<unsigned> pus;  // one thread each
};

struct Figure {
  const char* name;
  void (*tell)(const Arguments&);
};

// Tells what main() is asked for. Returns the exit status.
inline int run(int argc, char** argv, std::initializer_list<Figure> figures) {
  for (const Figure& figure : figures) {
    if (argc < 5 || std::strcmp(argv[1], figure.name) != 0) continue;
    Arguments arguments{std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10), {}};
    for (int i = 4; i < argc; ++i)
      arguments.pus.push_back(static_cast<unsigned>(std::atoi(argv[i])));
    figure.tell(arguments);
    std::printf("end\n");
    return 0;
  }
  std::fprintf(stderr, "usage: %s WHAT SAMPLES BYTES_OF_A_THREAD PU…\n", argv[0]);
  return 2;
}

inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline void bind_to(unsigned pu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(pu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    std::perror("sched_setaffinity");
    std::exit(1);
  }
}

// Memory at a multiple of 2 MiB, in huge pages where the system gives them; never returned. It
// holds numbers in [1, 2) of which no two are alike: zeros would be moved faster than anything
// else.
inline void* huge_pages(std::size_t bytes) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const std::size_t whole = (bytes + kHuge - 1) / kHuge * kHuge;
  void* memory = std::aligned_alloc(kHuge, whole);
  if (memory == nullptr) {
    std::perror("aligned_alloc");
    std::exit(1);
  }
  madvise(memory, whole, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < whole / sizeof(double); ++i) {
    const std::uint64_t number = 0x3ff0000000000000 | i * 0x9e3779b97f4a7c15 >> 12;
    std::memcpy(static_cast<char*>(memory) + i * sizeof number, &number, sizeof number);
  }
  return memory;
}

inline double median(std::vector<double> samples) {
  std::ranges::sort(samples);
  return samples.empty() ? 0 : samples[samples.size() / 2];
}

inline void print(const char* name, const std::vector<double>& samples) {
  std::printf("%s", name);
  for (const double sample : samples) std::printf(" %.9g", sample);
  std::printf("\n");
}

}  // namespace truth
