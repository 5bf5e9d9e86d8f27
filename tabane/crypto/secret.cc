#include "tabane/crypto/secret.h"

#include <sys/mman.h>

#include <new>

namespace tabane::crypto {

LockedMemory::LockedMemory(std::size_t bytes) {
  if (bytes == 0) return;
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  bytes_ = {static_cast<std::byte*>(pages), bytes};
  madvise(pages, bytes, MADV_DONTDUMP);
  mlock(pages, bytes);  // refused beyond RLIMIT_MEMLOCK
}

LockedMemory& LockedMemory::operator=(LockedMemory&& other) noexcept {
  if (this == &other) return *this;
  reset();
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

void LockedMemory::reset() noexcept {
  if (bytes_.empty()) return;
  wipe(bytes_);
  munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
}

}  // namespace tabane::crypto
