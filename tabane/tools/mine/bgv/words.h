// Residues in memory: 64-bit words from the beginning of a cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace tabane::mine::bgv {

inline constexpr std::size_t kLineBytes = 64;

// Takes memory from operator new, so that whichever malloc the program runs on serves it. Elements
// that are made without a value stay as they are: ciphertexts are written whole.
template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(kLineBytes)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(kLineBytes)); }

  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
  }

  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

using Words = std::vector<std::uint64_t, LineAllocator<std::uint64_t>>;

}  // namespace tabane::mine::bgv
