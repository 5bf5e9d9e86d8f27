// Allocates and frees small and middle-sized blocks in several threads, each of which frees what
// another has allocated: work for an allocator.
// usage: tabane_bench_allocations THREADS
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kAllocations = 3'000'000;  // of all threads together
constexpr std::size_t kShelf = 1 << 12;  // blocks that live at once

std::atomic<char*> shelf[kShelf];

void work(unsigned seed, int allocations) {
  for (int i = 0; i < allocations; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const std::size_t bytes = 16U << (seed >> 28) % 9;
    char* const block = static_cast<char*>(std::malloc(bytes));
    std::memset(block, 1, 16);
    std::free(shelf[(seed >> 12) % kShelf].exchange(block));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) return 2;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back(work, static_cast<unsigned>(i), kAllocations / threads);
  for (std::thread& thread : all) thread.join();
}
