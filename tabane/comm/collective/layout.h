// Where the parts of ranks lie in an array of all.
#pragma once

#include <cstddef>
#include <span>

#include "tabane/comm/collective/call.h"

namespace tabane::comm {

// Copies bytes between a piece of rank's part, which starts `offset` bytes after the part's begin,
// and the places in `all` that it has by call.layout. Whole elements; call.bytes: of a part.
void put_piece(std::span<std::byte> all, const Call& call, int ranks, int rank, std::size_t offset,
               std::span<const std::byte> piece);
void take_piece(std::span<const std::byte> all, const Call& call, int ranks, int rank,
                std::size_t offset, std::span<std::byte> piece);

// memcpy() that may be given nothing.
void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from);

// Copies elements of so many bytes; strides in bytes from one to the next.
void copy_strided(std::byte* to, std::size_t to_stride, const std::byte* from,
                  std::size_t from_stride, std::size_t elements, std::size_t element_bytes);

// Bytes [begin, end) of segment `index` of `parts` almost equal ones, of whole elements.
struct Segment {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};
Segment segment(std::size_t bytes, std::size_t element_bytes, int parts, int index);

}  // namespace tabane::comm
