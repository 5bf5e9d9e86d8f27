// What threads on several PUs find out together: multiply-adds, a cache line passed to and fro,
// reads, STREAM, and first touches of pages.
#include <omp.h>
#include <unistd.h>

#include <atomic>

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

// So many that one sample lasts 1 ms at 100 GB/s, against which the barriers do not count.
inline std::size_t passes_over(std::size_t bytes) { return 1 + std::size_t{100'000'000} / bytes; }

// For threads that keep the memory that they touched first.
inline auto keep_memory(std::size_t bytes) {
  return [bytes](int, void*& memory) {
    if (memory == nullptr) memory = huge_pages(bytes);
  };
}

}  // namespace truth

namespace {

using truth::Vector;

// Calls f(i) for all i < n, a multiple of 4, on eight pages of vectors at once: each is a stream of
// its own to the prefetchers, so that more loads from memory may be in flight.
void by_pages(std::size_t n, auto f) {
  constexpr std::size_t kPage = 4096 / sizeof(Vector), kFold = 4;
  for (std::size_t i = 0; i < n; i += i % kPage + kFold == kPage ? 7 * kPage + kFold : kFold) {
    for (std::size_t page = i; page < n && page < i + 8 * kPage; page += kPage) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kFold; ++k) f(page + k);
    }
  }
}

// Multiply-adds on registers: twelve chains that do not depend on each other, more than the pipes
// of any current core times the latency of an FMA ask for, and few enough for 16 registers.
namespace fma {

constexpr int kChains = 12;

__attribute__((noinline)) void multiply_add(std::size_t iterations) {
  volatile double unknown = 0.5;  // else the compiler works everything out beforehand
  const Vector factor = Vector{} + unknown, term = Vector{} + unknown;
  Vector chain[kChains];
  for (int k = 0; k < kChains; ++k) chain[k] = Vector{} + k * unknown;  // alike, they become one
  for (std::size_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) chain[k] = chain[k] * factor + term;
  }
  for (int k = 0; k < kChains; ++k) asm volatile("" : : "m"(chain[k]));
}

void tell(const truth::Arguments& arguments) {
  constexpr std::size_t kIterations = 1 << 19;  // some 1 ms
  const double flops = 2.0 * kChains * kIterations * (sizeof(Vector) / sizeof(double));
  const auto seconds = truth::timed(
      arguments, 1, [](int, void*&) {}, [](int, int, void*) { multiply_add(kIterations); });
  truth::print("fma", truth::rates(arguments, flops, seconds[0]));
}

}  // namespace fma

// Two threads, each bound to a PU, count up one number on one cache line in turn by compare-and-
// swap; half a round trip is what the line takes from one to the other. All pairs of the PUs.
namespace ping_pong {

constexpr int kRoundTrips = 2000;  // of one sample

struct alignas(256) CacheLine {  // no neighbour shares it, and none is fetched with it
  std::atomic<int> count{0};
};

void take_turns(CacheLine& line, int self) {
  for (int mine = self; mine < 2 * kRoundTrips; mine += 2) {
    int expected = mine;
    while (!line.count.compare_exchange_strong(expected, mine + 1)) expected = mine;
  }
}

void tell(const truth::Arguments& arguments) {
  static CacheLine line;
  std::vector<double> halves;
  for (std::size_t b = 1; b < arguments.pus.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const auto seconds = truth::timed(
          {arguments.samples, 0, {arguments.pus[a], arguments.pus[b]}}, 1,
          [](int self, void*&) {
            if (self == 0) line.count = 0;
          },
          [](int, int self, void*) { take_turns(line, self); });
      for (const double x : seconds[0]) halves.push_back(x / (2 * kRoundTrips));
    }
  }
  truth::print("ping_pong", halves);
}

}  // namespace ping_pong

// Reads an array again and again with vector loads, and tells the best of five loops: which of them
// is the fastest depends on the core.
namespace reading {

// A load whose result is not used, but not left out either.
void load(const auto* from) {
  auto value = *from;
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

template <class V, std::size_t kFold>
__attribute__((noinline)) void read(const void* x, std::size_t bytes, std::size_t passes) {
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; (i + kFold) * sizeof(V) <= bytes; i += kFold) {
#pragma GCC unroll 32
      for (std::size_t k = 0; k < kFold; ++k) load(static_cast<const V*>(x) + i + k);
    }
    asm volatile("" : "+r"(x) : : "memory");  // the next pass reads again
  }
}

__attribute__((noinline)) void read_pages(const void* x, std::size_t bytes, std::size_t passes) {
  for (std::size_t pass = 0; pass < passes; ++pass) {
    by_pages(bytes / sizeof(Vector),
             [&](std::size_t i) { load(static_cast<const Vector*>(x) + i); });
    asm volatile("" : "+r"(x) : : "memory");
  }
}

using Read = void (*)(const void*, std::size_t, std::size_t);
typedef double Half __attribute__((vector_size(truth::kVectorBytes / 2)));

void tell(const truth::Arguments& arguments) {
  const Read variants[] = {read<Vector, 8>, read<Vector, 16>, read<Vector, 32>, read<Half, 16>,
                           read_pages};
  const std::size_t bytes = arguments.bytes / sizeof(Vector) / 32 * 32 * sizeof(Vector);
  const std::size_t passes = truth::passes_over(bytes);
  const auto seconds = truth::timed(
      arguments, 5, truth::keep_memory(bytes),
      [&](int variant, int, void* memory) { variants[variant](memory, bytes, passes); });
  const auto& best = *std::ranges::min_element(
      seconds, [](const auto& a, const auto& b) { return truth::median(a) < truth::median(b); });
  truth::print("read", truth::rates(arguments, static_cast<double>(bytes * passes), best));
}

}  // namespace reading

// The C library's memset and memcpy, which take the processor's own loops for strings where these
// are the fastest.
namespace library {

void tell(const truth::Arguments& arguments) {
  const std::size_t half = arguments.bytes / 2, passes = truth::passes_over(2 * half);
  const auto seconds =
      truth::timed(arguments, 2, truth::keep_memory(2 * half), [=](int variant, int, void* memory) {
        for (std::size_t pass = 0; pass < passes; ++pass) {
          if (variant == 0) std::memcpy(memory, static_cast<char*>(memory) + half, half);
          if (variant == 1) std::memset(memory, static_cast<int>(1 + pass % 100), 2 * half);
          asm volatile("" : : "r"(memory) : "memory");
        }
      });
  const auto bytes = static_cast<double>(2 * half * passes);
  truth::print("copy", truth::rates(arguments, bytes, seconds[0]));
  truth::print("set", truth::rates(arguments, bytes, seconds[1]));
}

}  // namespace library

// STREAM: copy, scale, add and triad over arrays far larger than the caches, each the better of a
// plain loop and one on several pages at once. Each thread of an
// OpenMP region owns a part of each array that it touched first; stores go past the caches, as
// STREAM is run by those who want its best figure, and bytes are counted as STREAM counts them:
// what is loaded and what is stored, nothing for lines that a cache would read before writing.
// source: J. McCalpin, Memory bandwidth and machine balance in current high performance computers
// (1995).
namespace stream {

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

// NOINLINE keeps the loops apart, as they are in STREAM.
__attribute__((noinline)) void each(bool pages, Vector* to, std::size_t n, auto f) {
  const auto one = [&](std::size_t i) { store(to + i, f(i)); };
  if (pages) {
    by_pages(n, one);
  } else {
    for (std::size_t i = 0; i < n; ++i) one(i);
  }
#if defined(__x86_64__)
  _mm_sfence();  // the stores count when they have left the core
#endif
}

void run(int kernel, bool pages, Vector* a, Vector* b, Vector* c, std::size_t n) {
  const Vector scalar = Vector{} + 3.0;
  if (kernel == 0) each(pages, c, n, [=](std::size_t i) { return a[i]; });
  if (kernel == 1) each(pages, b, n, [=](std::size_t i) { return scalar * c[i]; });
  if (kernel == 2) each(pages, c, n, [=](std::size_t i) { return a[i] + b[i]; });
  if (kernel == 3) each(pages, a, n, [=](std::size_t i) { return b[i] + scalar * c[i]; });
}

void tell(const truth::Arguments& arguments) {
  const char* const names[] = {"copy", "scale", "add", "triad"};
  const double arrays_moved[] = {2, 2, 3, 3};
  constexpr std::size_t kGapBytes = 9 * 64;  // so that arrays do not start in the same cache sets
  const std::size_t n = arguments.bytes / 3 / sizeof(Vector) / 4 * 4;
  const std::size_t stride = n + kGapBytes / sizeof(Vector);
  const auto seconds =
      truth::timed(arguments, 8, truth::keep_memory(3 * stride * sizeof(Vector)),
                   [=](int variant, int, void* memory) {
                     auto* a = static_cast<Vector*>(memory);
                     run(variant % 4, variant >= 4, a, a + stride, a + 2 * stride, n);
                   });
  for (std::size_t kernel = 0; kernel < 4; ++kernel) {
    const double bytes = arrays_moved[kernel] * static_cast<double>(n * sizeof(Vector));
    const auto &plain = seconds[kernel], &pages = seconds[kernel + 4];
    const auto& best = truth::median(plain) < truth::median(pages) ? plain : pages;
    truth::print(names[kernel], truth::rates(arguments, bytes, best));
  }
}

}  // namespace stream

// First touch of base pages: each thread maps fresh memory that must not be in huge pages, and
// writes one byte of each page; the kernel finds, zeroes and maps a page each time. Mapping and
// unmapping are not timed.
namespace touch {

void tell(const truth::Arguments& arguments) {
  const std::size_t bytes = arguments.bytes;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto seconds = truth::timed(
      arguments, 1,
      [=](int, void*& memory) {
        if (memory != nullptr) munmap(memory, bytes);
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::exit(1);
        madvise(memory, bytes, MADV_NOHUGEPAGE);
      },
      [=](int, int, void* memory) {
        auto* first = static_cast<volatile char*>(memory);
        for (std::size_t i = 0; i < bytes; i += page) first[i] = 1;
      });
  truth::print("touch", truth::rates(arguments, static_cast<double>(bytes / page), seconds[0]));
}

}  // namespace touch

}  // namespace

int main(int argc, char** argv) {
  return truth::run(argc, argv,
                    {{"fma", fma::tell},
                     {"library", library::tell},
                     {"ping_pong", ping_pong::tell},
                     {"read", reading::tell},
                     {"stream", stream::tell},
                     {"touch", touch::tell}});
}
