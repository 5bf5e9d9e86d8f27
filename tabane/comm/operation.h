// How the values of several ranks become one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tabane/comm/message.h"

namespace tabane::comm {

enum class Operation : std::uint8_t { sum, min, max, min_loc, max_loc };

// A value, the rank that had it, and that rank's index of it.
template <class T>
struct Located {
  T value{};
  std::int32_t rank = 0;
  std::int64_t index = 0;
};

// An operation without its C++ type, for the collectives' algorithms.
struct Combine {
  Operation operation = Operation::sum;
  TypeCode type = {};             // of T, also for Located<T>
  std::size_t element_bytes = 0;  // of T or Located<T>
  // into[i] = into[i] ∘ from[i], where into comes from lower ranks. They do not overlap.
  void (*apply)(std::byte* into, const std::byte* from, std::size_t elements) = nullptr;
};

// sum, min and max of arithmetic T.
template <class T>
Combine combine_values(Operation operation);

// min_loc and max_loc. Of equal values the lower rank's wins; a NaN loses to every number.
template <class T>
Combine combine_located(Operation operation);

namespace internal {

template <class T, Operation kOperation>
void apply(std::byte* into, const std::byte* from, std::size_t elements) {
  T* const a = reinterpret_cast<T*>(into);
  const T* const b = reinterpret_cast<const T*>(from);
  for (std::size_t i = 0; i < elements; ++i) {
    if constexpr (kOperation == Operation::sum) {
      a[i] = static_cast<T>(a[i] + b[i]);
    } else if constexpr (kOperation == Operation::min) {
      a[i] = std::min(a[i], b[i]);
    } else {
      a[i] = std::max(a[i], b[i]);
    }
  }
}

template <class T, Operation kOperation>
void apply_located(std::byte* into, const std::byte* from, std::size_t elements) {
  auto* const a = reinterpret_cast<Located<T>*>(into);
  const auto* const b = reinterpret_cast<const Located<T>*>(from);
  for (std::size_t i = 0; i < elements; ++i) {
    const bool better =
        kOperation == Operation::min_loc ? b[i].value < a[i].value : a[i].value < b[i].value;
    const bool a_is_nan = a[i].value != a[i].value, b_is_nan = b[i].value != b[i].value;
    const bool tie = a[i].value == b[i].value && b[i].rank < a[i].rank;
    if (better || tie || (a_is_nan && !b_is_nan)) a[i] = b[i];
  }
}

}  // namespace internal

template <class T>
Combine combine_values(Operation operation) {
  static_assert(std::is_arithmetic_v<T>, "sum, min and max are of numbers");
  Combine combine{operation, type_code<T>(), sizeof(T), internal::apply<T, Operation::sum>};
  if (operation == Operation::min) combine.apply = internal::apply<T, Operation::min>;
  if (operation == Operation::max) combine.apply = internal::apply<T, Operation::max>;
  return combine;
}

template <class T>
Combine combine_located(Operation operation) {
  static_assert(std::is_arithmetic_v<T>, "values that are compared are numbers");
  Combine combine{operation, type_code<T>(), sizeof(Located<T>),
                  internal::apply_located<T, Operation::max_loc>};
  if (operation == Operation::min_loc)
    combine.apply = internal::apply_located<T, Operation::min_loc>;
  return combine;
}

}  // namespace tabane::comm
