#include "tabane/tools/epub/sliced_content.h"

#include <algorithm>
#include <cstring>

namespace tabane::epub {

std::size_t SlicedContent::read(std::span<std::byte> bytes) {
  if (at_ == filled_) {
    at_ = filled_ = 0;  // also where fill() throws
    filled_ = fill();
  }
  const std::size_t count = std::min(bytes.size(), filled_ - at_);
  std::memcpy(bytes.data(), slice_.data() + at_, count);
  at_ += count;
  return count;
}

}  // namespace tabane::epub
