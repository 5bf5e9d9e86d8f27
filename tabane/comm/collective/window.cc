#include "tabane/comm/collective/window.h"

#include <fmt/format.h>

namespace tabane::comm {
namespace {

// What each rank tells the root at the end.
struct Outcome {
  Signature signature;
  std::uint64_t window = 0;
  std::uint64_t done = 0;  // 0: the part follows as a message
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

void throw_owner_has_left(Group& group, const Call& call, int owner) {
  group.transport().check_alive();
  throw MessageError(
      fmt::format("rank {} is in a {} with rank {}, which has left that {} by an error",
                  group.rank(), name_of(call.kind), owner, name_of(call.kind)));
}

// What they tell each other fits whatever the types of their parts are: a difference is for both
// sides to tell.
WindowTalk::WindowTalk(Group& group, const Call& call)
    : group_(group), call_(call), words_(group, Call{.kind = call.kind, .number = call.number}) {}

void WindowTalk::send_places(const OpenWindow& window) {
  Place place{signature_of(call_), window.key(), 0};
  for (int rank = 0; rank < group_.size(); ++rank, place.offset += call_.bytes) {
    if (rank != call_.root) words_.send(rank, bytes_of(place));
  }
}

bool WindowTalk::is_done(int rank, const OpenWindow& window) {
  Outcome outcome;
  do {  // of a collective that this rank has left by an error
    words_.recv(rank, bytes_of(outcome));
  } while (outcome.window != window.key());
  const Signature own = signature_of(call_);
  if (outcome.signature != own) throw_different_calls(call_.root, own, rank, outcome.signature);
  return outcome.done != 0;
}

Place WindowTalk::receive_place() {
  Place place;
  words_.recv(call_.root, bytes_of(place));
  const Signature own = signature_of(call_);
  if (own == place.signature) return place;
  Outcome outcome{.signature = own, .window = place.window};
  words_.send(call_.root, bytes_of(outcome));
  throw_different_calls(group_.rank(), own, call_.root, place.signature);
}

bool WindowTalk::tell(const Place& place, Written what) {
  if (what == Written::closed) throw_owner_has_left(group_, call_, call_.root);
  Outcome outcome{signature_of(call_), place.window, what == Written::yes};
  words_.send(call_.root, bytes_of(outcome));
  return outcome.done != 0;
}

}  // namespace tabane::comm
