// Arrays of numbers as NumPy keeps them: NPY files (numpy.lib.format, versions 1 to 3).
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tabane::solver {

struct Array2d {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;  // row by row
};

// Reads an array of two dimensions, or of one as a single row: of float64, float32 or integers, in
// either byte order and either memory order.
// throws: core::UsageError naming the file, what it holds and what was expected; core::SystemError.
Array2d read_npy(const std::filesystem::path& path);

// Writes rows x columns numbers, row by row, as float64. throws: core::SystemError.
// values.size() == rows * columns.
void write_npy(const std::filesystem::path& path, std::size_t rows, std::size_t columns,
               std::span<const double> values);

}  // namespace tabane::solver
