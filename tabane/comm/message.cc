#include "tabane/comm/message.h"

#include <fmt/format.h>

#include <array>

namespace tabane::comm {
namespace {

constexpr std::uint16_t kFirstOther = 0x8000;

bool is_other(TypeCode type) { return type.code >= kFirstOther; }

std::string describe_types(TypeCode sent, TypeCode wanted) {
  if (is_other(sent) && is_other(wanted)) {
    return "elements of one struct type, the receiver wants another";
  }
  return fmt::format("{}, the receiver wants {}", name_of(sent), name_of(wanted));
}

}  // namespace

AbortError::AbortError(int rank, int code)
    : Error("rank {} has aborted the job with code {}", rank, code), rank_(rank), code_(code) {}

std::string name_of(TypeCode type) {
  if (type == TypeCode{}) return "bytes";
  constexpr std::array<const char*, 4> kClasses{"", "int", "uint", "float"};
  const unsigned kind = type.code >> 8;
  if (kind == 0 || kind >= kClasses.size()) return "another type";
  return fmt::format("{}{}", kClasses[kind], (type.code & 0xff) * 8);
}

std::string describe_bytes(std::size_t bytes, TypeCode type) {
  if (type == TypeCode{}) return fmt::format("{} bytes", bytes);
  return fmt::format("{} bytes of {}", bytes, name_of(type));
}

bool types_fit(TypeCode sent, TypeCode wanted) {
  return sent == wanted || sent == TypeCode{} || wanted == TypeCode{};
}

std::string describe_mismatch(const MessageEnd& sender, const MessageEnd& receiver, int tag) {
  const std::string message =
      fmt::format("message from rank {} to rank {}, {}", sender.rank, receiver.rank,
                  tag < 0 ? fmt::format("of {}", name_of_tag(tag)) : fmt::format("tag {}", tag));
  if (!types_fit(sender.type, receiver.type)) {
    return fmt::format("{}: the sender sent {}", message,
                       describe_types(sender.type, receiver.type));
  }
  return fmt::format("{}: the sender sent {}, the receiver has room for {}", message,
                     describe_bytes(sender.bytes, sender.type),
                     describe_bytes(receiver.bytes, receiver.type));
}

void check_fits(const MessageEnd& sender, const MessageEnd& receiver, int tag) {
  if (types_fit(sender.type, receiver.type) && sender.bytes <= receiver.bytes) return;
  throw MessageError(describe_mismatch(sender, receiver, tag));
}

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
