// What one thread finds out: a pointer chase, and what it costs to start a child or a thread. No
// OpenMP: its threads would make the process larger.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tabane/tools/survey/bench_truth/program.h"

namespace {

// A pointer chase over huge pages: each line holds the address of the next, so that every load
// waits for the one before it. The order of the lines is that of the numbers 0, 1, 2 … mixed by
// shifts and odd factors, which is a permutation of each power of two; numbers beyond the last line
// are left out. One full turn comes before the clock starts, but at most 1 Mi loads: more would
// fill a large last-level cache with lines of a set that stands for memory.
namespace chase {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kSteps = 50'000;  // of one sample
constexpr std::size_t kMostWarmUp = std::size_t{1} << 20;

std::size_t mixed(std::size_t x, int bits) {
  const std::size_t mask = (std::size_t{1} << bits) - 1;
  const int shift = (bits + 1) / 2;
  for (const std::size_t factor : {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u}) {
    x = (x * factor) & mask;
    x ^= x >> shift;
  }
  return x;
}

void** linked(char* memory, std::size_t lines) {
  int bits = 1;
  while ((std::size_t{1} << bits) < lines) ++bits;
  const std::size_t first = mixed(0, bits);  // 0
  std::size_t last = first;
  for (std::size_t i = 1; i < std::size_t{1} << bits; ++i) {
    const std::size_t next = mixed(i, bits);
    if (next >= lines) continue;
    *reinterpret_cast<void**>(memory + last * kLineBytes) = memory + next * kLineBytes;
    last = next;
  }
  *reinterpret_cast<void**>(memory + last * kLineBytes) = memory + first * kLineBytes;
  return reinterpret_cast<void**>(memory + first * kLineBytes);
}

void** chase(void** at, std::size_t steps) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < steps; ++i) at = static_cast<void**>(*at);
  asm volatile("" : "+r"(at));
  return at;
}

void tell(const truth::Arguments& arguments) {
  truth::bind_to(arguments.pus[0]);
  const std::size_t lines = arguments.bytes / kLineBytes;
  void** at = linked(static_cast<char*>(truth::huge_pages(arguments.bytes)), lines);
  at = chase(at, std::clamp(lines, kSteps, kMostWarmUp));
  std::vector<double> seconds;
  for (int sample = 0; sample < arguments.samples; ++sample) {
    const double begin = truth::now();
    at = chase(at, kSteps);
    seconds.push_back((truth::now() - begin) / kSteps);
  }
  truth::print("latency", seconds);
}

}  // namespace chase

// What a small process pays for a child that ends at once, and for a thread that does: fork, _exit
// and waitpid, or pthread_create and pthread_join on one PU, each timed alone.
namespace start {

void fork_and_wait() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child < 0 || waitpid(child, nullptr, 0) != child) std::exit(1);
}

void* end_at_once(void*) { return nullptr; }

void create_and_join() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, end_at_once, nullptr) != 0) std::exit(1);
  pthread_join(thread, nullptr);
}

std::vector<double> times(int samples, void (*work)()) {
  std::vector<double> seconds;
  for (int i = -2; i < samples; ++i) {
    const double begin = truth::now();
    work();
    if (i >= 0) seconds.push_back(truth::now() - begin);
  }
  return seconds;
}

void tell(const truth::Arguments& arguments) {
  const auto forks = times(arguments.samples, fork_and_wait);
  truth::print("fork", forks);
  truth::bind_to(arguments.pus[0]);
  truth::print("thread", times(arguments.samples, create_and_join));
}

}  // namespace start

}  // namespace

int main(int argc, char** argv) {
  return truth::run(argc, argv, {{"chase", chase::tell}, {"start", start::tell}});
}
