#include "tabane/comm/collective/call.h"

#include <fmt/format.h>

#include <array>

namespace tabane::comm {

std::string_view name_of(Operation operation) {
  static constexpr std::array<std::string_view, kOperations> kNames{
      "sum",     "min",     "max",    "min_loc", "max_loc",
      "product", "bit_and", "bit_or", "bit_xor", "an operation given by the user"};
  const auto index = static_cast<std::size_t>(operation);
  return index < kNames.size() ? kNames[index] : "no operation";
}

std::string describe(const Signature& signature) {
  const auto kind = static_cast<Kind>(signature.what >> 24);
  if (kind == Kind::barrier) return std::string(name_of(kind));
  const TypeCode type{static_cast<std::uint16_t>(signature.what)};
  std::string text =
      fmt::format("{} of {} bytes of {}", name_of(kind), signature.bytes, name_of(type));
  const std::uint32_t how = signature.what >> 16 & 0xff;
  if (combines(kind)) {
    text += fmt::format(", {}", name_of(static_cast<Operation>(how)));
  } else if (static_cast<Layout>(how) == Layout::cyclic) {
    text += ", cyclic";
  }
  return text;
}

namespace internal {

void throw_not_of_values(Operation operation) {
  throw core::UsageError(
      operation == Operation::user
          ? "an operation of the user's is given as a function, not by the name user"
          : fmt::format(
                "{} is of a value and its place: call all_reduce_min_loc or all_reduce_max_loc",
                name_of(operation)));
}

void throw_not_of_integers(Operation operation) {
  throw core::UsageError(fmt::format("{} needs integers", name_of(operation)));
}

}  // namespace internal

void throw_different_calls(int rank, const Signature& own, int other_rank, const Signature& other) {
  const std::string who =
      other_rank == any_source ? "another rank" : fmt::format("rank {}", other_rank);
  throw MessageError(
      fmt::format("ranks are in different collectives: rank {} calls {} (call {} of the group); {} "
                  "calls {} (call {})",
                  rank, describe(own), own.number, who, describe(other), other.number));
}

}  // namespace tabane::comm
