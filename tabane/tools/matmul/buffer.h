// Large arrays that are written before they are read, in huge pages: a gigabyte of small ones
// takes a tenth of a second to come into being.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "tabane/tools/matmul/workspace.h"

namespace tabane::matmul {

template <class T>
class Buffer {
 public:
  // Large ones are the workspace's, which must outlive the buffer. throws: core::SystemError.
  Buffer(std::size_t count, Workspace& workspace) {
    constexpr std::size_t kLarge = std::size_t{4} << 20;
    if (count * sizeof(T) < kLarge) {
      small_ = std::make_unique_for_overwrite<T[]>(count);
      data_ = small_.get();
    } else {
      workspace_ = &workspace;
      large_ = workspace.take(count * sizeof(T));
      data_ = large_.as<T>().data();
    }
  }
  ~Buffer() {
    if (workspace_ != nullptr) workspace_->give(std::move(large_));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }

 private:
  std::unique_ptr<T[]> small_;
  Workspace* workspace_ = nullptr;
  core::Region large_;
  T* data_ = nullptr;
};

}  // namespace tabane::matmul
