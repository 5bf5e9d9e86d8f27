// Content that is made slice by slice, because it is too large for memory.
#pragma once

#include "tabane/crypto/page_buffer.h"
#include "tabane/tools/epub/new_archive.h"

namespace tabane::epub {

class SlicedContent : public Content {
 public:
  std::size_t read(std::span<std::byte> bytes) final;

 protected:
  static constexpr std::size_t kSlice = std::size_t{1} << 20;

  explicit SlicedContent(std::size_t most_bytes) { slice_.reserve(most_bytes); }

  // Puts the next bytes at the beginning of slice(); returns how many, 0 at the end.
  virtual std::size_t fill() = 0;
  std::byte* slice() { return slice_.data(); }

 private:
  crypto::PageBuffer slice_;
  std::size_t at_ = 0, filled_ = 0;
};

}  // namespace tabane::epub
