#include <string>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {
namespace {

// What the root tells each rank: what it expects, and where that belongs.
struct Place {
  Signature signature;
  std::uint64_t window = 0, offset = 0;
};

// What each rank tells the root then.
struct Outcome {
  Signature signature;
  std::uint64_t window = 0;
  std::uint64_t written = 0;  // 0: the part follows as a message
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// What they tell each other fits whatever the types of their parts are: a difference is for both
// sides to tell.
Messages words(Group& group, const Call& call) { return {group, Call{.kind = call.kind}}; }

[[noreturn]] void throw_root_has_left(Group& group, const Call& call) {
  group.transport().check_alive();
  throw MessageError("rank " + std::to_string(group.rank()) +
                     " gives its part of a gather to rank " + std::to_string(call.root) +
                     ", which has left that gather by an error");
}

void write_part(Group& group, const Call& call) {
  Messages messages = words(group, call);
  Place place;
  messages.recv(call.root, bytes_of(place));
  Outcome outcome{.signature = signature_of(call), .window = place.window};
  if (outcome.signature != place.signature) {
    messages.send(call.root, bytes_of(outcome));
    throw_different_calls(group.rank(), outcome.signature, call.root, place.signature);
  }
  const Written written =
      group.transport().memory()->write(call.root, place.window, place.offset, call.in);
  if (written == Written::closed) throw_root_has_left(group, call);
  outcome.written = written == Written::yes;
  messages.send(call.root, bytes_of(outcome));
  if (!outcome.written) Messages(group, call).send(call.root, call.in);
}

// The memory of the root that others write, while the root is in its gather: a rank that comes
// later, because the root has left by an exception, finds it closed.
class OpenWindow {
 public:
  OpenWindow(GroupMemory& memory, std::span<std::byte> bytes)
      : memory_(memory), key_(memory.open(bytes)) {}
  ~OpenWindow() { memory_.close(); }
  OpenWindow(const OpenWindow&) = delete;
  OpenWindow& operator=(const OpenWindow&) = delete;
  std::uint64_t key() const { return key_; }

 private:
  GroupMemory& memory_;
  std::uint64_t key_;
};

// Returns whether `rank` has written its part.
bool is_written(Group& group, const Call& call, int rank, std::uint64_t window) {
  Outcome outcome;
  do {  // of a gather that this rank has left by an error
    words(group, call).recv(rank, bytes_of(outcome));
  } while (outcome.window != window);
  const Signature own = signature_of(call);
  if (outcome.signature != own) throw_different_calls(call.root, own, rank, outcome.signature);
  return outcome.written != 0;
}

}  // namespace

// The root tells the others where their parts belong, and each writes its own there: all at the
// same time, each part copied once. Where the system refuses that, it is sent. Nobody writes if the
// parts are not of the same size on both sides, or the root is not in this gather any more.
// cost: 2 (p - 1) messages of a few bytes; n bytes copied by each rank.
void gather_written(Group& group, const Call& call) {
  if (group.rank() != call.root) return write_part(group, call);
  const int p = group.size();
  const bool sorted = call.layout == Layout::block;
  const std::span<std::byte> all =
      sorted ? call.out : group.scratch(call.bytes * static_cast<std::size_t>(p));
  const OpenWindow window(*group.transport().memory(), all);
  Place place{signature_of(call), window.key(), 0};
  for (int rank = 0; rank < p; ++rank, place.offset += call.bytes) {
    if (rank != call.root) words(group, call).send(rank, bytes_of(place));
  }
  put_piece(call.out, call, p, call.root, 0, call.in);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == call.root) continue;
    const auto part = all.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
    if (!is_written(group, call, rank, window.key())) Messages(group, call).recv(rank, part);
    if (!sorted) put_piece(call.out, call, p, rank, 0, part);
  }
}

}  // namespace tabane::comm
