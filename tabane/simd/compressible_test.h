// For tests of buffers whose traffic is measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tabane::simd {

// Whole cache lines that hardware could make shorter: one word again and again, as zeros, or the
// same as the line before.
inline std::size_t compressible_lines(std::span<const double> values) {
  constexpr std::size_t kLine = 8;
  std::size_t found = 0;
  for (std::size_t i = 0; i + kLine <= values.size(); i += kLine) {
    const std::span<const double> line = values.subspan(i, kLine);
    const bool one_word = std::ranges::all_of(line, [&](double v) { return v == line[0]; });
    const bool as_before = i > 0 && std::ranges::equal(line, values.subspan(i - kLine, kLine));
    found += one_word || as_before;
  }
  return found;
}

}  // namespace tabane::simd
