// What all transports call a message: tags, types, and the errors about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tabane/core/error.h"

namespace tabane::comm {

inline constexpr int any_source = -1;
inline constexpr int any_tag = -1;
// The same on all transports, so that a program that runs on one runs on all: MPICH has no larger
// tags. See Comm::most_tag().
inline constexpr int kMostTag = (1 << 28) - 1;
inline constexpr int kSplitTag = -2;  // Comm::split(); -3 and below: transports and collectives

// Tells types apart, in a message's header: kind and size of arithmetic types, so that they can be
// named; a hash of the name of others. 0: bytes, which fit every type.
struct TypeCode {
  std::uint16_t code = 0;
  bool operator==(const TypeCode&) const = default;
};

// "float64", "int32", "another type"; "bytes".
std::string name_of(TypeCode type);

// "48 bytes of float64", "5 bytes".
std::string describe_bytes(std::size_t bytes, TypeCode type);

// Sender and receiver, or the ranks of a collective, disagree about a message. what() names both
// sides.
class MessageError : public core::Error {
 public:
  using core::Error::Error;
};

// A rank has ended the whole job: what launch() throws then.
class AbortError : public core::Error {
 public:
  AbortError(int rank, int code);  // "rank 2 has aborted the job with code 7"
  int rank() const { return rank_; }
  int code() const { return code_; }

 private:
  int rank_, code_;
};

// Whether elements sent as one type may be received as the other: if the types are the same, or one
// of them is bytes.
bool types_fit(TypeCode sent, TypeCode wanted);

// What its sender or its receiver says of a message.
struct MessageEnd {
  int rank = 0;           // in the group
  TypeCode type = {};     // of the elements
  std::size_t bytes = 0;  // sent, or room for
};

// For transports. throws: MessageError naming both sides if the types do not fit or the message is
// larger than the room.
void check_fits(const MessageEnd& sender, const MessageEnd& receiver, int tag);
// The error's text: "message from rank 0 to rank 1, tag 7: the sender sent float64, the receiver
// wants int32".
std::string describe_mismatch(const MessageEnd& sender, const MessageEnd& receiver, int tag);

// What can be sent: a value that may be copied as bytes. It must hold no pointers, which cannot be
// checked for a struct.
template <class T>
concept Sendable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

// A std::vector, std::array, std::span, std::string … of sendable elements.
template <class R>
concept SendableRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Sendable<std::ranges::range_value_t<R>>;
// One that results can be written to.
template <class R>
concept WritableRange = SendableRange<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// One that is still there when the call to which it was given has returned.
template <class R>
concept LastingRange = std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R>;
// A value that is no range.
template <class T>
concept SendableValue = Sendable<T> && !SendableRange<T>;
template <class T>
concept Number = std::is_arithmetic_v<T>;

namespace internal {

template <class T>
constexpr std::string_view name_with_type() {
  return __PRETTY_FUNCTION__;
}

constexpr std::uint16_t hash_of(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return static_cast<std::uint16_t>(hash ^ (hash >> 16));
}

template <class R>
std::span<const std::byte> bytes_of(const R& values) {
  return std::as_bytes(std::span(std::ranges::data(values), std::ranges::size(values)));
}
template <class R>
std::span<std::byte> writable_bytes_of(R& values) {
  return std::as_writable_bytes(std::span(std::ranges::data(values), std::ranges::size(values)));
}

}  // namespace internal

// Bits 8 … 9 of a code below 0x400: 1 signed, 2 unsigned, 3 floating-point; bits 0 … 7: its bytes.
template <class T>
constexpr TypeCode type_code() {
  if constexpr (std::is_same_v<T, std::byte>) {
    return {};
  } else if constexpr (std::is_arithmetic_v<T>) {
    constexpr int kind = std::is_floating_point_v<T> ? 3 : std::is_signed_v<T> ? 1 : 2;
    return {static_cast<std::uint16_t>(kind << 8 | static_cast<int>(sizeof(T)))};
  } else {
    constexpr std::uint16_t hash = internal::hash_of(internal::name_with_type<T>());
    return {static_cast<std::uint16_t>(hash | 0x8000)};
  }
}

// --- the collectives, and the tags by which their messages are found ---

enum class Kind : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  all_reduce,
  scatter,
  gather,
  all_gather,
  all_to_all,
  scan,
  exscan,
  reduce_scatter,
  gather_varying,
  scatter_varying,
  all_gather_varying
};
inline constexpr int kKinds = 14;
std::string_view name_of(Kind kind);  // "all_reduce"

// Whether it combines the ranks' values.
constexpr bool combines(Kind kind) {
  return kind == Kind::reduce || kind == Kind::all_reduce || kind == Kind::scan ||
         kind == Kind::exscan || kind == Kind::reduce_scatter;
}

constexpr bool has_root(Kind kind) {
  return kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::scatter ||
         kind == Kind::gather || kind == Kind::gather_varying || kind == Kind::scatter_varying;
}

// Messages of a call have tags of its kind and number, so that none takes what another has left.
// Those of calls that do not block come first. No MPI has fewer tags than 32767.
inline constexpr int kComparisonTag = -16;
inline constexpr int kFirstPendingTag = -1024, kPendingTags = 16 * 1024;
inline constexpr int kFirstCollectiveTag = kFirstPendingTag - kPendingTags, kTagsOfKind = 1024;
static_assert(kFirstCollectiveTag - kKinds * kTagsOfKind > -32767);
constexpr int tag_of(Kind kind, std::uint32_t number) {
  return kFirstCollectiveTag - static_cast<int>(kind) * kTagsOfKind -
         static_cast<int>(number % kTagsOfKind);
}
constexpr int pending_tag_of(std::uint32_t number) {
  return kFirstPendingTag - static_cast<int>(number % kPendingTags);
}
// Returns whose a negative tag is: "broadcast", "a non-blocking collective".
std::string_view name_of_tag(int tag);

}  // namespace tabane::comm
