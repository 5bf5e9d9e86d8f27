// What a product uses of the machine: memory, which may be kept for the next one, and threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tabane/core/memory.h"

namespace tabane::matmul {

// Keeps the memory of a product for the next one, until its own end: memory that is new to a
// process costs more than reading it, and on some virtual machines as much as half of the product.
// One product at a time may use it.
class Workspace {
 public:
  // Returns memory of at least so many bytes, in huge pages. throws: core::SystemError.
  core::Region take(std::size_t bytes);
  void give(core::Region region);

 private:
  std::vector<core::Region> kept_;
};

// An array that is written before it is read, a large one in huge pages: a gigabyte of small ones
// takes a tenth of a second to come into being.
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

// Calls task(thread, i) for all i below `tasks`, each on one of `threads` threads, of which the
// caller is thread 0. All have the widest range of exponents. throws: what a task threw first.
void run_tasks(int threads, std::size_t tasks,
               const std::function<void(std::size_t thread, std::size_t task)>& task);

}  // namespace tabane::matmul
