#include "tabane/comm/kind.h"

#include <array>

#include "tabane/comm/message.h"

namespace tabane::comm {

std::string_view name_of(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames{
      "barrier",         "broadcast",         "reduce",
      "all_reduce",      "scatter",           "gather",
      "all_gather",      "all_to_all",        "scan",
      "exscan",          "reduce_scatter",    "gather_varying",
      "scatter_varying", "all_gather_varying"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "no collective";
}

std::string_view name_of_tag(int tag) {
  if (tag == kSplitTag) return "split";
  if (tag > kFirstPendingTag) return "the comparison of collectives";
  if (tag > kFirstCollectiveTag) return "a non-blocking collective";
  return name_of(static_cast<Kind>((kFirstCollectiveTag - tag) / kTagsOfKind));
}

}  // namespace tabane::comm
