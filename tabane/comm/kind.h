// The collectives, and the tags by which their messages are found.
#pragma once

#include <cstdint>
#include <string_view>

namespace tabane::comm {

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
