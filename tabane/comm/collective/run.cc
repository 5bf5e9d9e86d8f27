#include <fmt/format.h>

#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/call_records.h"
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

bool has_work(const Call& call) { return call.bytes > 0 || call.kind == Kind::barrier; }

// For groups without shared memory. Ranks in different collectives would wait for each other for
// ever. If not all are in the same one, some rank's neighbour is in another.
void compare_by_message(Group& group, const CallRecord& own) {
  const int p = group.size(), self = group.rank(), neighbour = (self - 1 + p) % p;
  const Label label{kComparisonTag, {}};
  CallRecord other;
  const auto sent =
      group.transport().isend((self + 1) % p, label, std::as_bytes(std::span(&own, 1)));
  group.transport().recv(neighbour, label, std::as_writable_bytes(std::span(&other, 1)));
  sent->wait();
  compare(self, own, neighbour, other);
}

// cost: a multiplication for each rank, where all give the sizes of all parts.
std::uint64_t hash_of_parts(const Call& call) {
  if (call.kind != Kind::all_gather_varying) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;  // as FNV-1a, word by word
  for (const std::size_t bytes : call.part_bytes) hash = (hash ^ bytes) * 0x100000001b3;
  return hash;
}

CallRecord record_of(const Call& call, const Algorithm& algorithm) {
  return {signature_of(call), call.root,
          static_cast<std::uint32_t>(&algorithm - algorithms().data()), hash_of_parts(call)};
}

// While the rank is in the call.
class Watched {
 public:
  Watched(CallWatch& watch, std::uint32_t number) : watch_(watch) { watch_.begin(number); }
  ~Watched() { watch_.end(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  CallWatch& watch_;
};

struct Forget {
  CallRecords& calls;
  std::uint32_t number;
  ~Forget() { calls.forget(number); }
};

void run_on_board(Group& group, const Call& call, const Algorithm& algorithm) {
  CallRecords& calls = group.board()->calls;
  if (group.compares_calls()) calls.make_room(call.number);
  calls.write(record_of(call, algorithm));
  const Watched watched(*group.watch(), call.number);
  try {
    const bool is_told = has_work(call) && algorithm.compares_all;
    // Nothing would show that others have bytes here.
    const bool compares = group.compares_calls() ? !is_told : !has_work(call);
    if (compares) calls.compare_with_neighbour(call.number);
    if (has_work(call)) algorithm.run(group, call);
    if (is_told) calls.all_have_begun(call.number);
  } catch (const core::Error&) {
    // It may be the consequence: whoever this rank waits for has returned from another call, or a
    // message of another call does not fit.
    group.transport().check_alive();
    const Forget forget{calls, call.number};
    calls.compare_recorded(record_of(call, algorithm));
    throw;
  }
}

void run_by_messages(Group& group, const Call& call, const Algorithm& algorithm) try {
  if (group.compares_calls()) compare_by_message(group, record_of(call, algorithm));
  algorithm.run(group, call);  // without bytes, too: who has some is told by the messages
} catch (const MessageError&) {
  // After a loss, ranks that have heard of it may be in other calls than those that have not.
  group.transport().check_alive();
  throw;
}

}  // namespace

void require_root(const Group& group, const Call& call) {
  if (call.root >= 0 && call.root < group.size()) return;
  throw core::UsageError(fmt::format("{}: root {} does not exist: the group has ranks 0 to {}",
                                     name_of(call.kind), call.root, group.size() - 1));
}

void run(Group& group, Call& call, std::string_view algorithm) {
  require_root(group, call);
  const Algorithm& chosen = algorithm_for(group, call, algorithm);
  if (group.size() == 1) {
    group.transport().check_alive();
    return copy_bytes(call.out, call.in);
  }
  call.number = group.next_call();
  const InCall in(group.call(), name_of(call.kind).data());
  if (group.board() == nullptr) return run_by_messages(group, call, chosen);
  // What this rank reads may lie on the board already, and what it writes may not be waited for.
  group.transport().check_alive();
  run_on_board(group, call, chosen);
}

}  // namespace tabane::comm
