// For memory that has held what a secret follows from.
#pragma once

#include <cstddef>
#include <span>

#include "tabane/crypto/wipe.h"

namespace tabane::mine::bgv {

// Sets the elements of a range to 0 when it goes itself, also when something is thrown; the
// compiler does not leave it out. The range must live longer and keep its memory: no growth, no
// move.
class WipedAtEnd {
 public:
  template <class Range>
  explicit WipedAtEnd(Range& range) : bytes_(std::as_writable_bytes(std::span(range))) {}
  ~WipedAtEnd() { crypto::wipe(bytes_); }
  WipedAtEnd(const WipedAtEnd&) = delete;
  WipedAtEnd& operator=(const WipedAtEnd&) = delete;

 private:
  std::span<std::byte> bytes_;
};

}  // namespace tabane::mine::bgv
