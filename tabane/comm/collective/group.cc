#include "tabane/comm/collective/group.h"

#include <fmt/format.h>

#include <array>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/call_records.h"
#include "tabane/comm/collective/calls.h"
#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {

std::string_view name_of(Operation operation) {
  static constexpr std::array<std::string_view, kOperations> kNames{
      "sum",     "min",     "max",    "min_loc", "max_loc",
      "product", "bit_and", "bit_or", "bit_xor", "an operation given by the user"};
  const auto index = static_cast<std::size_t>(operation);
  return index < kNames.size() ? kNames[index] : "no operation";
}

std::string describe(const Signature& signature) {
  std::string text(name_of(signature.kind));
  if (signature.kind == Kind::barrier) return text;
  text += fmt::format(" of {} bytes of {}", signature.bytes, name_of(signature.type));
  if (combines(signature.kind)) {
    text += fmt::format(", {}", name_of(static_cast<Operation>(signature.how)));
  } else if (static_cast<Layout>(signature.how) == Layout::cyclic) {
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
  throw core::UsageError("{} needs integers", name_of(operation));
}

}  // namespace internal

void throw_different_calls(int rank, const Signature& own, int other_rank, const Signature& other) {
  const std::string who =
      other_rank == any_source ? "another rank" : fmt::format("rank {}", other_rank);
  throw MessageError(
      "ranks are in different collectives: rank {} calls {} (call {} of the group); {} "
      "calls {} (call {})",
      rank, describe(own), own.number, who, describe(other), other.number);
}

namespace {

// throws: core::UsageError.
const Algorithm& algorithm_for(const Group& group, const Call& call, std::string_view name) {
  if (name.empty()) return group.choice()->pick(group, call);
  const Algorithm* const algorithm = find_algorithm(call.kind, name);
  if (algorithm == nullptr) {
    throw core::UsageError("{} has no algorithm '{}': give one of {}", name_of(call.kind), name,
                           algorithm_names(call.kind));
  }
  const char* why = group.size() > 1 ? algorithm->refuses(group, call) : nullptr;
  if (call.reproducible && !algorithm->in_order) why = "is not reproducible: it groups the ranks";
  if (why != nullptr) {
    throw core::UsageError("{}: algorithm '{}' {}", name_of(call.kind), name, why);
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

void run_on_board(Group& group, const Call& call, const Algorithm& algorithm) {
  CallRecords& calls = group.board()->calls;
  if (group.compares_calls()) calls.make_room(call.number);
  calls.write(record_of(call, algorithm));
  group.watch()->begin(call.number);
  const AtEnd watched([&] { group.watch()->end(); });
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
    const AtEnd forget([&] { calls.forget(call.number); });
    calls.compare_recorded(record_of(call, algorithm));
    throw;
  }
}

void run_by_messages(Group& group, const Call& call, const Algorithm& algorithm) try {
  if (group.compares_calls()) compare_by_message(group, record_of(call, algorithm));
  algorithm.run(
      group,
      call);  // even without bytes: a rank that has some learns of the difference by the messages
} catch (const MessageError&) {
  // After a loss, ranks that have heard of it may be in other calls than those that have not.
  group.transport().check_alive();
  throw;
}

}  // namespace

Group::Group(std::unique_ptr<Transport> transport, std::shared_ptr<const ChoiceTable> choice)
    : transport_(std::move(transport)), call_(&transport_->call()) {
  set_choice(std::move(choice));
  GroupMemory* const memory = transport_->memory();
  if (size() < 2 || memory == nullptr || memory->bytes().size() < least_board_bytes(size())) return;
  board_ = std::make_unique<SharedBoard>(rank(), size(), *memory);
  watch_ = std::make_unique<CallWatch>(*this);
  transport_->enlist(*watch_);
}

Group::~Group() {
  if (watch_ != nullptr) transport_->strike(*watch_);
}

void Group::set_choice(std::shared_ptr<const ChoiceTable> choice) {
  choice_ = choice ? std::move(choice) : default_choice();
}

std::span<std::byte> Group::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return std::span(scratch_).first(bytes);
}

void require_root(const Group& group, const Call& call) {
  if (call.root >= 0 && call.root < group.size()) return;
  throw core::UsageError("{}: root {} does not exist: the group has ranks 0 to {}",
                         name_of(call.kind), call.root, group.size() - 1);
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
  const CallCounter::Scope counted(group.counter(), name_of(call.kind), chosen.name);
  if (group.board() == nullptr) return run_by_messages(group, call, chosen);
  // What this rank reads may be on the board already, and nobody may wait for what it writes.
  group.transport().check_alive();
  run_on_board(group, call, chosen);
}

void run_within(Group& group, const Call& part) {
  const Algorithm& chosen = group.choice()->pick(group, part);
  const CallCounter::Scope counted(group.counter(), name_of(part.kind), chosen.name);
  chosen.run(group, part);
}

}  // namespace tabane::comm
