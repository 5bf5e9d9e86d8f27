#include "tabane/comm/collective/layout.h"

#include <cstring>

namespace tabane::comm {
namespace {

// With the size known, the copy of an element is a load and a store.
template <std::size_t kBytes>
void copy_elements(std::byte* to, std::size_t to_stride, const std::byte* from,
                   std::size_t from_stride, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, kBytes);
  }
}

// Where element `index` of rank's part lies among the elements of all.
std::size_t cyclic_index(std::size_t index, int ranks, int rank) {
  return index * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank);
}

}  // namespace

void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

void copy_strided(std::byte* to, std::size_t to_stride, const std::byte* from,
                  std::size_t from_stride, std::size_t elements, std::size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return copy_elements<1>(to, to_stride, from, from_stride, elements);
    case 2:
      return copy_elements<2>(to, to_stride, from, from_stride, elements);
    case 4:
      return copy_elements<4>(to, to_stride, from, from_stride, elements);
    case 8:
      return copy_elements<8>(to, to_stride, from, from_stride, elements);
    case 16:
      return copy_elements<16>(to, to_stride, from, from_stride, elements);
    default:
      break;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, element_bytes);
  }
}

void put_piece(std::span<std::byte> all, const Call& call, int ranks, int rank, std::size_t offset,
               std::span<const std::byte> piece) {
  if (call.layout == Layout::block) {
    const std::size_t begin = static_cast<std::size_t>(rank) * call.bytes + offset;
    return copy_bytes(all.subspan(begin, piece.size()), piece);
  }
  const std::size_t element = call.element.bytes;
  const std::size_t first = cyclic_index(offset / element, ranks, rank);
  copy_strided(all.data() + first * element, static_cast<std::size_t>(ranks) * element,
               piece.data(), element, piece.size() / element, element);
}

void take_piece(std::span<const std::byte> all, const Call& call, int ranks, int rank,
                std::size_t offset, std::span<std::byte> piece) {
  if (call.layout == Layout::block) {
    const std::size_t begin = static_cast<std::size_t>(rank) * call.bytes + offset;
    return copy_bytes(piece, all.subspan(begin, piece.size()));
  }
  const std::size_t element = call.element.bytes;
  const std::size_t first = cyclic_index(offset / element, ranks, rank);
  copy_strided(piece.data(), element, all.data() + first * element,
               static_cast<std::size_t>(ranks) * element, piece.size() / element, element);
}

Segment segment(std::size_t bytes, std::size_t element_bytes, int parts, int index) {
  const std::size_t elements = bytes / element_bytes;
  const auto bound = [&](int i) {
    return elements * static_cast<std::size_t>(i) / static_cast<std::size_t>(parts) * element_bytes;
  };
  return {bound(index), bound(index + 1)};
}

}  // namespace tabane::comm
