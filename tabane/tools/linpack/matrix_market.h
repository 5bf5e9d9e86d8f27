// Matrices as text files of NIST's Matrix Market (math.nist.gov/MatrixMarket/formats.html).
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace tabane::linpack {

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

}  // namespace tabane::linpack
