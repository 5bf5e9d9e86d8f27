// A command whose cause is known: what tabane explain is to find.
// usage: tabane_bench_causes CAUSE [MIB]; OMP_NUM_THREADS
// Each takes some tenths of a second, so that it can be run many times.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kLine = 64;
volatile double result;

// About a nanosecond each.
void compute(std::size_t steps) {
  double x = 1, y = 0.5;
  for (std::size_t i = 0; i < steps; ++i) x = x * 0.999999 + y;
  result = x;
}

void stream(std::size_t bytes) {
  constexpr std::size_t kHugePage = 2 << 20;  // else page faults are a cause, too
  const auto values = static_cast<char*>(std::aligned_alloc(kHugePage, bytes));
  if (values == nullptr) std::exit(1);
  madvise(values, bytes, MADV_HUGEPAGE);
  std::memset(values, 'x', bytes);
  std::size_t found = 0;
  for (std::size_t read = 0, pass = 0; read < (std::size_t{12} << 30); read += bytes, ++pass) {
    const char missing = static_cast<char>('a' + pass % 20);
    found += std::memchr(values, missing, bytes) != nullptr;
  }
  std::free(values);
  result = static_cast<double>(found);
}

// Each line says where the next load goes: one circle through all of them, in random order.
void chase(std::size_t bytes, std::size_t loads) {
  struct alignas(kLine) Line {
    std::size_t next;
  };
  std::vector<Line> lines(bytes / kLine);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].next = i;
  std::uint64_t random = 1;
  for (std::size_t i = lines.size() - 1; i > 0; --i) {  // Sattolo
    random = random * 6364136223846793005U + 1442695040888963407U;
    std::swap(lines[i].next, lines[(random >> 33) % i].next);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < loads; ++i) at = lines[at].next;
  result = static_cast<double>(at);
}

// As many as OpenMP's variable says, else one on each PU.
template <class Work>
void in_threads(const Work& work) {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  const int pus = static_cast<int>(std::thread::hardware_concurrency());
  const int threads = std::max(1, text == nullptr ? pus : std::atoi(text));
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, i, threads);
  work(0, threads);
  for (std::thread& other : others) other.join();
}

void locks() {
  std::mutex mutex;
  in_threads([&](int, int threads) {
    for (int i = 0; i < 300 / threads; ++i) {
      compute(100'000);  // longer than it takes to wake who waits
      const std::lock_guard lock(mutex);
      compute(900'000);
    }
  });
}

// The first of several threads has 5 / 3 of the mean.
void uneven() {
  constexpr double kWork = 400e6, kMost = 5.0 / 3;
  in_threads([](int thread, int threads) {
    const double others = threads - 1, most = others > 0 ? kMost : 1;
    compute(static_cast<std::size_t>(
        kWork / threads * (thread == 0 ? most : (threads - most) / std::max(1.0, others))));
  });
}

void serial() {
  compute(200'000'000);
  in_threads([](int, int threads) { compute(std::size_t{150'000'000} / threads); });
}

void faults() {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  for (int i = 0; i < 12; ++i) {
    void* const at =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::exit(1);
    madvise(at, kBytes, MADV_NOHUGEPAGE);  // else there is a fault for 2 MiB
    for (std::size_t k = 0; k < kBytes; k += 4096) static_cast<char*>(at)[k] = 1;
    munmap(at, kBytes);
  }
}

void disk() {
  char name[] = "tabane-bench-XXXXXX";  // here: /tmp may be in memory
  const int file = mkstemp(name);
  if (file < 0) std::exit(1);
  unlink(name);
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 60; ++i)
    if (write(file, block.data(), block.size()) < 0 || fsync(file) != 0) std::exit(1);
  close(file);
}

// The writer computes; the reader waits for it.
void pipe_end() {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  std::thread writer([&] {
    char byte = 'x';
    for (int i = 0; i < 300; ++i) {
      compute(1'000'000);
      if (write(ends[1], &byte, 1) != 1) return;
    }
    close(ends[1]);
  });
  for (char byte; read(ends[0], &byte, 1) == 1;) compute(50'000);
  writer.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string cause = argc > 1 ? argv[1] : "";
  const std::size_t bytes = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 256) << 20;
  if (cause == "bandwidth") return stream(bytes), 0;
  if (cause == "latency") return chase(bytes, 3'000'000), 0;
  if (cause == "cache") return chase(bytes, 10'000'000), 0;
  if (cause == "computing") return compute(300'000'000), 0;
  if (cause == "locks") return locks(), 0;
  if (cause == "uneven") return uneven(), 0;
  if (cause == "serial") return serial(), 0;
  if (cause == "faults") return faults(), 0;
  if (cause == "disk") return disk(), 0;
  if (cause == "pipe") return pipe_end(), 0;
  return 2;
}
