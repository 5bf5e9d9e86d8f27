// Large arrays that are written before they are read, in huge pages: a gigabyte of small ones
// takes a tenth of a second to come into being.
#pragma once

#include <cstddef>
#include <memory>

#include "tabane/core/memory.h"

namespace tabane::workloads::mp_matmul {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  // throws: core::SystemError.
  explicit Buffer(std::size_t count) {
    constexpr std::size_t kLarge = std::size_t{4} << 20;
    if (count * sizeof(T) < kLarge) {
      small_ = std::make_unique_for_overwrite<T[]>(count);
      data_ = small_.get();
    } else {
      large_ = core::Region(count * sizeof(T), {.pages = core::PageSize::huge});
      data_ = large_.as<T>().data();
    }
  }

  T* data() { return data_; }
  const T* data() const { return data_; }

 private:
  std::unique_ptr<T[]> small_;
  core::Region large_;
  T* data_ = nullptr;
};

}  // namespace tabane::workloads::mp_matmul
