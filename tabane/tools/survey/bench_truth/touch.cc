// First touch of base pages: each thread maps fresh memory that must not be in huge pages, and
// writes one byte of each page; the kernel finds, zeroes and maps a page each time. Mapping and
// unmapping are not timed.
#include <unistd.h>

#include "tabane/tools/survey/bench_truth/timed.h"

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
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
  return truth::end();
}
