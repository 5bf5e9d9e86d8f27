// Memory that a process shares with the processes it forks.
#pragma once

#include <cstddef>
#include <string>

namespace tabane::team {

// Owns an anonymous shared mapping, filled with zeros. Does not depend on /dev/shm or its size.
class SharedBlock {
 public:
  // all: the system sets memory aside for the whole block. touched: only for pages that are
  // touched; a large block is then not refused, but touching a page may fail (SIGBUS).
  enum class Reserve { all, touched };

  // what: the use, for the error message. throws: core::SystemError. cost: touches no page.
  SharedBlock(std::size_t bytes, const std::string& what, Reserve reserve = Reserve::all);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::byte* data() const { return data_; }  // null for a block of no bytes
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tabane::team
