// Keeps the optimiser from deleting measured work or from working it out beforehand.
#pragma once

namespace tabane::core {

// Makes the compiler believe that value is used. Costs no instruction for values in registers.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// Makes the compiler forget what it knows of value.
template <class T>
inline void forget(T& value) {
#if defined(__clang__)
  asm volatile("" : "+r,m"(value) : : "memory");
#else
  asm volatile("" : "+m,r"(value) : : "memory");
#endif
}

}  // namespace tabane::core
