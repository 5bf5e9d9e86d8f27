// Memory that a process shares with those it forks: what one writes, all see.
#pragma once

#include <cstddef>
#include <string>

namespace tabane::team {

// Owns an anonymous shared mapping, zero at first. Independent of /dev/shm and of its size.
class SharedBlock {
 public:
  // Whether the system sets memory aside for all of it, or only for pages once they are touched:
  // then a large block of which little is used is not refused (and touching may fail, by SIGBUS).
  enum class Reserve { all, touched };

  // what: names the use in the error. throws: core::SystemError. cost: no page is touched.
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
