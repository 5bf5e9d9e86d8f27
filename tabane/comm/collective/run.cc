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

// Whether ranks that end it have seen the signatures of all others in their lines, or that of a
// rank that has.
bool compares_all(const Algorithm& algorithm) {
  const bool of_all = algorithm.kind == Kind::barrier || algorithm.kind == Kind::all_reduce ||
                      algorithm.kind == Kind::all_gather;
  return of_all && (algorithm.name == "flags" || algorithm.name == "counter" ||
                    algorithm.name == "two_level");
}

class Watch : public Background {
 public:
  Watch(Group& group, const CallRecord& own) : group_(group), own_(own), lookout_(group) {
    group.transport().enlist(*this);
  }
  ~Watch() override { group_.transport().strike(*this); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  void look() override { lookout_.look(own_); }

 private:
  Group& group_;
  const CallRecord& own_;
  Lookout lookout_;
};

struct Forget {
  CallRecords& calls;
  std::uint32_t number;
  ~Forget() { calls.forget(number); }
};

void run_on_board(Group& group, const Call& call, const Algorithm& algorithm,
                  const CallRecord& own) {
  CallRecords& calls = group.board()->calls;
  if (group.compares_calls()) calls.make_room(own.number());
  calls.write(own);
  try {
    const Watch watch(group, own);
    const bool is_told = has_work(call) && compares_all(algorithm);
    // Nothing would show that others have bytes here.
    const bool compares = group.compares_calls() ? !is_told : !has_work(call);
    if (compares) calls.compare_with_neighbour(own);
    if (has_work(call)) algorithm.run(group, call);
    if (is_told) calls.all_have_begun(own.number());
  } catch (const core::Error&) {
    // It may be the consequence: whoever this rank waits for has returned from another call, or a
    // message of another call does not fit.
    group.transport().check_alive();
    const Forget forget{calls, own.number()};
    calls.compare_recorded(own.number());
    throw;
  }
}

// Of what a rank is in, for the error if it dies.
class InCall {
 public:
  InCall(Transport& transport, Kind kind) : transport_(transport) {
    transport_.set_call(name_of(kind).data());
  }
  ~InCall() { transport_.set_call(nullptr); }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  Transport& transport_;
};

// cost: a multiplication for each rank, where all give the sizes of all parts.
std::uint64_t hash_of_parts(const Call& call) {
  if (call.kind != Kind::all_gather_varying) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::size_t bytes : call.part_bytes) hash = (hash ^ bytes) * 0x100000001b3;
  return hash;
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
  if (group.size() == 1) return copy_bytes(call.out, call.in);
  // What this rank reads may lie on the board already, and what it writes may not be waited for.
  if (group.board() != nullptr) group.transport().check_alive();
  call.number = group.next_call();
  const InCall in(group.transport(), call.kind);
  const CallRecord own{signature_of(call), call.root,
                       static_cast<std::uint32_t>(&chosen - algorithms().data()),
                       hash_of_parts(call)};
  try {
    if (group.board() != nullptr) return run_on_board(group, call, chosen, own);
    if (group.compares_calls()) compare_by_message(group, own);
    chosen.run(group, call);  // without bytes, too: who has some is told by the messages
  } catch (const MessageError&) {
    // After a loss, ranks that have heard of it may be in other calls than those that have not.
    group.transport().check_alive();
    throw;
  }
}

}  // namespace tabane::comm
