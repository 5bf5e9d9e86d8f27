#include <fmt/format.h>

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/group.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/registry.h"

namespace tabane::comm {
namespace {

// throws: core::UsageError.
const Algorithm& algorithm_for(const Group& group, const Call& call, std::string_view name) {
  if (name.empty()) return group.choice()->pick(group, call);
  const Algorithm* const algorithm = find_algorithm(call.kind, name);
  if (algorithm == nullptr) {
    throw core::UsageError(fmt::format("{} has no algorithm '{}': give one of {}",
                                       name_of(call.kind), name, algorithm_names(call.kind)));
  }
  const char* why = group.size() > 1 ? algorithm->refuses(group, call) : nullptr;
  if (call.reproducible && !algorithm->in_order) why = "is not reproducible: it groups the ranks";
  if (why != nullptr) {
    throw core::UsageError(fmt::format("{}: algorithm '{}' {}", name_of(call.kind), name, why));
  }
  return *algorithm;
}

// What a rank tells its neighbour of a call.
struct Summary {
  Signature signature;
  std::uint32_t number = 0;
  std::int32_t root = 0;
  std::uint32_t algorithm = 0;  // index in algorithms()
  bool operator==(const Summary&) const = default;
};

std::string describe(const Summary& summary) {
  return fmt::format("{} (its collective no. {}, root {}, algorithm '{}')",
                     describe(summary.signature), summary.number, summary.root,
                     algorithms()[summary.algorithm].name);
}

// Ranks in different collectives would wait for each other for ever. If not all are in the same
// one, some rank's neighbour is in another.
void compare_with_neighbour(Group& group, const Call& call, const Algorithm& algorithm) {
  const int p = group.size(), self = group.rank(), neighbour = (self - 1 + p) % p;
  const Label label{kComparisonTag, {}};
  const Summary own{signature_of(call), group.next_call(), call.root,
                    static_cast<std::uint32_t>(&algorithm - algorithms().data())};
  Summary other;
  const auto sent =
      group.transport().isend((self + 1) % p, label, std::as_bytes(std::span(&own, 1)));
  group.transport().recv(neighbour, label, std::as_writable_bytes(std::span(&other, 1)));
  sent->wait();
  if (own == other) return;
  throw MessageError(fmt::format("rank {} calls {}, rank {} calls {}", self, describe(own),
                                 neighbour, describe(other)));
}

}  // namespace

void run(Group& group, const Call& call, std::string_view algorithm) {
  if (call.root < 0 || call.root >= group.size()) {
    throw core::UsageError(fmt::format("{}: root {} does not exist: the group has ranks 0 to {}",
                                       name_of(call.kind), call.root, group.size() - 1));
  }
  const Algorithm& chosen = algorithm_for(group, call, algorithm);
  if (group.size() == 1) return copy_bytes(call.out, call.in);
  // What this rank reads may lie on the board already, and what it writes may not be waited for.
  if (group.board() != nullptr) group.transport().check_alive();
  try {
    if (group.compares_calls()) compare_with_neighbour(group, call, chosen);
    if (call.bytes > 0 || call.kind == Kind::barrier) chosen.run(group, call);
  } catch (const MessageError&) {
    // After a loss, ranks that have heard of it may be in other calls than those that have not.
    group.transport().check_alive();
    throw;
  }
}

}  // namespace tabane::comm
