// An array of plain values that grows without standing in memory twice: where the system can move
// pages, a large one is not copied. What trees of millions of files are kept in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tabane::encrypt {

template <class T>
requires std::is_trivially_copyable_v<T>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept
      : values_(std::move(other.values_)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    values_ = std::move(other.values_);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, 0);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size_ - 1]; }

  // throws: std::bad_alloc; as append().
  void push_back(const T& value) {
    const T copy = value;  // it may stand in here
    append(&copy, 1);
  }
  // values: not of this array.
  void append(const T* values, std::size_t count) {
    if (room_ - size_ < count) grow(count);
    if (count > 0) std::memcpy(values_.get() + size_, values, count * sizeof(T));
    size_ += count;
  }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };

  void grow(std::size_t more) {
    const std::size_t room = std::max(size_ + more, room_ + room_ / 2 + 16);
    void* const moved = std::realloc(static_cast<void*>(values_.get()), room * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(values_.release());
    values_.reset(static_cast<T*>(moved));
    room_ = room;
  }

  std::unique_ptr<T, Free> values_;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace tabane::encrypt
