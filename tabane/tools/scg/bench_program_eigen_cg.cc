// Solves the two-dimensional Poisson equation on n x n unknowns by Eigen's conjugate gradients,
// preconditioned with the diagonal, and writes the seconds per unknown and iteration.
// usage: tabane_bench_eigen_cg N FILE
#include <Eigen/Sparse>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int n = std::atoi(argv[1]);
  using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;  // its products use all threads
  std::vector<Eigen::Triplet<double>> elements;
  for (int i = 0; i < n * n; ++i) {
    elements.emplace_back(i, i, 4.0);
    if (i % n > 0) elements.emplace_back(i, i - 1, -1.0);
    if (i % n < n - 1) elements.emplace_back(i, i + 1, -1.0);
    if (i >= n) elements.emplace_back(i, i - n, -1.0);
    if (i < n * (n - 1)) elements.emplace_back(i, i + n, -1.0);
  }
  Matrix a(n * n, n * n);
  a.setFromTriplets(elements.begin(), elements.end());
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(n * n);
  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper> solver(a);
  solver.setTolerance(2e-12);
  const auto begin = std::chrono::steady_clock::now();
  const Eigen::VectorXd x = solver.solve(b);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (solver.info() != Eigen::Success) return 1;
  std::FILE* const file = std::fopen(argv[2], "w");
  if (file == nullptr) return 1;
  std::fprintf(
      file, "%.9g\n",
      time.count() / (static_cast<double>(n) * n * static_cast<double>(solver.iterations())));
  return std::fclose(file);
}
