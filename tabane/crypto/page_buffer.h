// A buffer for file data that begins at a page and is wiped when it goes.
//
// The place inside a page matters: where the kernel copies a page of a file to an address 8 to 16
// bytes behind a page's start, loads and stores alias, and some processors copy seven times slower
// (seen on Zen 3). malloc puts large blocks exactly there.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "tabane/crypto/secret.h"

namespace tabane::crypto {

class PageBuffer {
 public:
  static constexpr std::size_t kPage = 4096;

  PageBuffer() = default;
  ~PageBuffer() { wipe({data_.get(), size_}); }
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;

  // Makes room for `bytes`; what was there is lost if it has to grow. throws: std::bad_alloc.
  void reserve(std::size_t bytes) {
    if (bytes <= size_) return;
    wipe({data_.get(), size_});
    size_ = (bytes + kPage - 1) / kPage * kPage;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, size_)));
    if (!data_) throw std::bad_alloc();
  }

  std::byte* data() { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace tabane::crypto
