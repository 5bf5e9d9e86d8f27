// How the values of several ranks become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tabane/comm/message.h"

namespace tabane::comm {

// min and max: a NaN loses to every number, as in C's fmin() and IEEE 754's minimumNumber; where
// all are NaN, so is the result. Of equal values (-0 and 0 are) the lowest rank's is taken. Sums
// and products of integers wrap around. bit_and, bit_or and bit_xor are of integers.
enum class Operation : std::uint8_t {
  sum,
  min,
  max,
  min_loc,  // of all_reduce_min_loc(); not for callers of all_reduce
  max_loc,  // of all_reduce_max_loc(); not for callers of all_reduce
  product,
  bit_and,
  bit_or,
  bit_xor,
  user,  // given as a function
};
inline constexpr int kOperations = 10;

// A value, the rank that had it, and that rank's index of it.
template <class T>
struct Located {
  T value{};
  std::int32_t rank = 0;
  std::int64_t index = 0;
};

// A function that makes one value of two. It must be associative, and the same on all ranks; it
// need not be commutative: its first argument always comes from lower ranks.
template <class F, class T>
concept Combines = std::is_invocable_r_v<T, const F&, const T&, const T&>;

// An operation without its C++ type, for the collectives' algorithms.
struct Combine {
  Operation operation = Operation::sum;
  TypeCode type = {};             // of T, also for Located<T>
  std::size_t element_bytes = 0;  // of T or Located<T>
  void (*function)(const void* given, std::byte* into, const std::byte* from,
                   std::size_t elements) = nullptr;
  const void* given = nullptr;  // the user's function object

  // into[i] = into[i] ∘ from[i], where into comes from lower ranks. They do not overlap.
  void apply(std::byte* into, const std::byte* from, std::size_t elements) const {
    function(given, into, from, elements);
  }
};

// Operations of arithmetic T. throws: core::UsageError for min_loc and max_loc, which are of a
// value and its place, for user, and for bit_and, bit_or and bit_xor of T that are no integers.
template <class T>
Combine combine_values(Operation operation);

// min_loc and max_loc. Of equal values the lower rank's wins; a NaN loses to every number.
template <class T>
Combine combine_located(Operation operation);

// The user's. It must outlive what is returned.
template <class T, Combines<T> F>
Combine combine_by(const F& function);

namespace internal {

[[noreturn]] void throw_not_of_values(Operation operation);
[[noreturn]] void throw_not_of_integers(Operation operation);

// Of an integer: the unsigned type in which sums and products wrap around.
template <class T>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

template <class T, Operation kOperation>
T combined(T a, T b) {
  if constexpr (kOperation == Operation::min) {
    return b < a || a != a ? b : a;
  } else if constexpr (kOperation == Operation::max) {
    return a < b || a != a ? b : a;
  } else if constexpr (kOperation == Operation::bit_and) {
    return static_cast<T>(a & b);
  } else if constexpr (kOperation == Operation::bit_or) {
    return static_cast<T>(a | b);
  } else if constexpr (kOperation == Operation::bit_xor) {
    return static_cast<T>(a ^ b);
  } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bool>) {
    return static_cast<T>(kOperation == Operation::sum ? a + b : a * b);
  } else {
    const auto x = static_cast<Wrapping<T>>(a), y = static_cast<Wrapping<T>>(b);
    return static_cast<T>(kOperation == Operation::sum ? x + y : x * y);
  }
}

template <class T, Operation kOperation>
void apply(const void* /*given*/, std::byte* into, const std::byte* from, std::size_t elements) {
  T* const a = reinterpret_cast<T*>(into);
  const T* const b = reinterpret_cast<const T*>(from);
  for (std::size_t i = 0; i < elements; ++i) a[i] = combined<T, kOperation>(a[i], b[i]);
}

template <class T, Operation kOperation>
void apply_located(const void* /*given*/, std::byte* into, const std::byte* from,
                   std::size_t elements) {
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

template <class T, class F>
void apply_given(const void* given, std::byte* into, const std::byte* from, std::size_t elements) {
  T* const a = reinterpret_cast<T*>(into);
  const T* const b = reinterpret_cast<const T*>(from);
  const F& function = *static_cast<const F*>(given);
  for (std::size_t i = 0; i < elements; ++i) a[i] = function(a[i], b[i]);
}

template <class T>
constexpr auto apply_of(Operation operation) -> decltype(Combine::function) {
  switch (operation) {
    case Operation::sum:
      return apply<T, Operation::sum>;
    case Operation::min:
      return apply<T, Operation::min>;
    case Operation::max:
      return apply<T, Operation::max>;
    case Operation::product:
      return apply<T, Operation::product>;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == Operation::bit_and) return apply<T, Operation::bit_and>;
    if (operation == Operation::bit_or) return apply<T, Operation::bit_or>;
    if (operation == Operation::bit_xor) return apply<T, Operation::bit_xor>;
  }
  return nullptr;
}

}  // namespace internal

template <class T>
Combine combine_values(Operation operation) {
  static_assert(std::is_arithmetic_v<T>,
                "named operations are for numbers; for other types give a function T(T, T)");
  if constexpr (std::is_arithmetic_v<T>) {  // else one message of the compiler's is enough
    Combine combine{operation, type_code<T>(), sizeof(T), internal::apply_of<T>(operation)};
    if (combine.function != nullptr) return combine;
    if (operation >= Operation::bit_and && operation <= Operation::bit_xor) {
      internal::throw_not_of_integers(operation);
    }
    internal::throw_not_of_values(operation);
  }
}

template <class T>
Combine combine_located(Operation operation) {
  static_assert(std::is_arithmetic_v<T>, "values that are compared are numbers");
  Combine combine{operation, type_code<T>(), sizeof(Located<T>),
                  internal::apply_located<T, Operation::max_loc>};
  if (operation == Operation::min_loc)
    combine.function = internal::apply_located<T, Operation::min_loc>;
  return combine;
}

template <class T, Combines<T> F>
Combine combine_by(const F& function) {
  static_assert(alignof(T) <= alignof(std::max_align_t), "buffers are aligned for standard types");
  return {Operation::user, type_code<T>(), sizeof(T), internal::apply_given<T, F>, &function};
}

}  // namespace tabane::comm
