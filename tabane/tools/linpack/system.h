// The equations A x = b: random ones, those of files, and one rank's part of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/core/memory.h"
#include "tabane/solver/block_cyclic.h"

namespace tabane::linpack {

// Read element by element, so that each rank can make its own part, and make it again when the
// answer is checked.
class System {
 public:
  explicit System(int n) : n_(n) {}
  virtual ~System() = default;

  int n() const { return n_; }
  // Writes rows [first, first + out.size()) of column j; column n is the right side.
  virtual void read(int j, int first, std::span<double> out) const = 0;

 private:
  int n_;
};

// A system of numbers from [-0.5, 0.5), each a hash of the seed and of its row and column: the same
// on any grid.
class RandomSystem : public System {
 public:
  RandomSystem(int n, std::uint64_t seed) : System(n), seed_(seed) {}
  void read(int j, int first, std::span<double> out) const override;

 private:
  std::uint64_t seed_;
};

// A system of given numbers.
class GivenSystem : public System {
 public:
  // a: n x n, column by column. b: n; empty: the sums of a's rows, so that every x is 1.
  GivenSystem(int n, std::vector<double> a, std::vector<double> b = {});
  void read(int j, int first, std::span<double> out) const override;

 private:
  std::vector<double> a_, b_;
};

// A text file of NIST's Matrix Market (math.nist.gov/MatrixMarket/formats.html).
struct MarketMatrix {
  int rows = 0, columns = 0;
  std::vector<double> values;  // column by column, with zeros where the file has no element
};

// Reads an array or coordinates, real or integer, general or symmetric; elements that are given
// twice are added up. accept: called with rows and columns before memory is taken for them; may
// throw.
// throws: core::UsageError naming file, line, and what was expected; core::SystemError.
MarketMatrix read_matrix_market(const std::filesystem::path& path,
                                const std::function<void(int rows, int columns)>& accept);

// The rows and columns of the n x (n + 1) matrix [A b] that a rank of the grid has.
struct Layout {
  Layout(const comm::Grid& grid, int n, int block);

  int n, block;
  solver::BlockCyclic rows, columns;  // columns: with the right side, column n
  int local_rows, local_columns;

  int panels() const { return rows.blocks(); }
  int first_of(int panel) const { return rows.begin(panel); }
  int width_of(int panel) const { return rows.size(panel); }
  // Reads this rank's rows of one column; out: local_rows.
  void read(const System& system, int column, std::span<double> out) const;
};

// A rank's part, column by column; each column begins at a cache line.
class LocalMatrix {
 public:
  // Fills it with the system's numbers. throws: core::SystemError if memory is refused.
  LocalMatrix(const Layout& layout, const System& system);

  std::ptrdiff_t ld() const { return ld_; }
  double* at(int local_row, int local_column) {
    return values_.data() + local_row + local_column * ld_;
  }

 private:
  std::ptrdiff_t ld_;
  core::Region memory_;
  std::span<double> values_;
};

// Returns the distance of columns of so many rows: an odd number of cache lines, so that a row's
// elements spread over all sets of a cache.
constexpr std::ptrdiff_t column_stride(int rows) {
  const std::ptrdiff_t lines = (rows + 7) / 8;
  return 8 * (lines % 2 == 0 ? lines + 1 : lines);
}

}  // namespace tabane::linpack
