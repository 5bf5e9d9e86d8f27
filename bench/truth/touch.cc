// First touch of base pages: each thread maps fresh memory that must not be in huge pages, and
// writes one byte of each page; the kernel finds, zeroes and maps a page each time. Mapping and
// unmapping are not timed.
#include <omp.h>
#include <unistd.h>

#include "bench/truth/program.h"

int main(int argc, char** argv) {
  const truth::Arguments arguments = truth::read_arguments(argc, argv);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto threads = static_cast<int>(arguments.pus.size());
  std::vector<double> rates;
#pragma omp parallel num_threads(threads)
  {
    const int self = omp_get_thread_num();
    truth::bind_to(arguments.pus[static_cast<std::size_t>(self)]);
    for (int sample = -1; sample < arguments.samples; ++sample) {
      auto* memory = static_cast<volatile char*>(mmap(
          nullptr, arguments.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      if (memory == MAP_FAILED) std::exit(1);
      madvise(const_cast<char*>(memory), arguments.bytes, MADV_NOHUGEPAGE);
#pragma omp barrier
      const double begin = truth::now();
      for (std::size_t i = 0; i < arguments.bytes; i += page) memory[i] = 1;
#pragma omp barrier
      const double seconds = truth::now() - begin;
      const double pages = static_cast<double>(arguments.bytes / page) * threads;
      if (self == 0 && sample >= 0) rates.push_back(pages / seconds);
      munmap(const_cast<char*>(memory), arguments.bytes);
    }
  }
  truth::print("touch", rates);
  return truth::end();
}
