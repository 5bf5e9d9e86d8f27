#include "tabane/team/shared_block.h"

#include <sys/mman.h>

#include <cerrno>

#include "tabane/core/error.h"

namespace tabane::team {

SharedBlock::SharedBlock(std::size_t bytes, const std::string& what, Reserve reserve)
    : size_(bytes) {
  if (bytes == 0) return;
  const int flags = MAP_SHARED | MAP_ANONYMOUS | (reserve == Reserve::touched ? MAP_NORESERVE : 0);
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (place == MAP_FAILED) {
    throw core::SystemError("mmap", std::to_string(bytes) + " bytes of " + what, errno);
  }
  data_ = static_cast<std::byte*>(place);
}

SharedBlock::~SharedBlock() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace tabane::team
