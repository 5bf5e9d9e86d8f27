// Solves a random dense system by LAPACK's dgesv, and writes the seconds that it took.
// usage: tabane_bench_dgesv N FILE
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

extern "C" void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots,
                       double* b, const int* ldb, int* info);

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int n = std::atoi(argv[1]), one = 1;
  const auto size = static_cast<std::size_t>(n);
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> number(-0.5, 0.5);
  std::vector<double> a(size * size), b(size);
  std::vector<int> pivots(size);
  const auto solve = [&] {
    for (double& value : a) value = number(generator);
    for (double& value : b) value = number(generator);
    int info = 0;
    const auto begin = std::chrono::steady_clock::now();
    dgesv_(&n, &one, a.data(), &n, pivots.data(), b.data(), &n, &info);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return info == 0 ? time.count() : -1;
  };
  solve();  // its threads are started, and its buffers are there
  std::FILE* const file = std::fopen(argv[2], "w");
  if (file == nullptr) return 1;
  std::fprintf(file, "%.9g\n", solve());
  return std::fclose(file);
}
