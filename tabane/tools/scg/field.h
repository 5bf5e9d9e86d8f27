// A vector over a block of the mesh, with a frame of one element around it for the neighbours'.
#pragma once

#include <cstddef>

#include "tabane/core/memory.h"

namespace tabane::scg {

// Distance of two rows: the frame's left element is the padding of the row before; whole cache
// lines, and not a multiple of a page, so that rows do not meet in the same sets of a cache.
constexpr std::ptrdiff_t stride_of(std::size_t columns) {
  constexpr std::size_t kLine = 8, kPage = 512;
  const std::size_t stride = (columns + 2 + kLine - 1) / kLine * kLine;
  return static_cast<std::ptrdiff_t>(stride % kPage == 0 ? stride + kLine : stride);
}

// All zero at first. Rows begin at a cache line. Elements up to a vector's length behind the last
// may be read.
class Field {
 public:
  Field() = default;
  // number: of the field among those that are used together; the same element of each lies at
  // another place in a page, so that none waits for a store to another.
  Field(std::size_t rows, std::size_t columns, std::size_t number)
      : stride_(stride_of(columns)),
        offset_(kMargin + number * kSkew + static_cast<std::size_t>(stride_)),
        region_(
            (offset_ + static_cast<std::size_t>(stride_) * (rows + 1) + kMargin) * sizeof(double),
            {.nodes = {}, .pages = core::PageSize::huge}) {}

  // row: -1 … rows.
  double* row(std::ptrdiff_t row) const {
    return reinterpret_cast<double*>(region_.data()) + static_cast<std::ptrdiff_t>(offset_) +
           row * stride_;
  }
  std::ptrdiff_t stride() const { return stride_; }
  bool exists() const { return region_.size() > 0; }

 private:
  static constexpr std::size_t kMargin = 64, kSkew = 13 * 8;  // elements

  std::ptrdiff_t stride_ = 0;
  std::size_t offset_ = 0;
  core::Region region_;
};

}  // namespace tabane::scg
