// Matrices as text: decimal numbers, one row a line.
#pragma once

#include <filesystem>
#include <string>

#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {

// Reads numbers such as 1.5, -2e-300, inf or nan, separated by blanks, each rounded to the nearest
// of `bits` bits. Blank lines and what follows a # are passed over.
// throws: core::UsageError naming file, line and column of what is no number, or of a line with
// more or fewer numbers than the first one; core::SystemError.
Matrix read_text(const std::filesystem::path& path, mpfr_prec_t bits);

// The same, with as many digits as give the same numbers back.
std::string text_of(const Matrix& matrix);

}  // namespace tabane::matmul
