// Private memory of one rank that others read or write during a collective, and what they tell each
// other about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/group.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Of this rank, while it is in its collective: a rank that comes later, because this one has left
// by an exception, finds it closed.
class OpenWindow {
 public:
  OpenWindow(GroupMemory& memory, std::span<std::byte> bytes)
      : memory_(memory), key_(memory.open(bytes)) {}
  // Others only read it.
  OpenWindow(GroupMemory& memory, std::span<const std::byte> bytes)
      : OpenWindow(memory,
                   std::span<std::byte>(const_cast<std::byte*>(bytes.data()), bytes.size())) {}
  ~OpenWindow() { memory_.close(all_done_); }
  OpenWindow(const OpenWindow&) = delete;
  OpenWindow& operator=(const OpenWindow&) = delete;
  std::uint64_t key() const { return key_; }
  // All others have said that they have read or written their parts.
  void end() { all_done_ = true; }

 private:
  GroupMemory& memory_;
  std::uint64_t key_;
  bool all_done_ = false;
};

// What the owner of a window tells the others: its call, and where their parts lie.
struct Place {
  Signature signature;
  std::uint64_t window = 0, offset = 0;
};

// throws: core::LostError if a rank is gone; MessageError naming the owner, whose window is closed.
[[noreturn]] void throw_owner_has_left(Group& group, const Call& call, int owner);

// Between a root that opens a window and the others, who each read or write their part of it.
// throws, all: as Messages; MessageError naming both if the call of the other rank differs.
class WindowTalk {
 public:
  WindowTalk(Group& group, const Call& call);

  // On the root. Parts lie in the order of ranks.
  void send_places(const OpenWindow& window);
  // Returns whether `rank` has done its part; if not, the system has refused it, and the part goes
  // as a message.
  bool is_done(int rank, const OpenWindow& window);

  // Elsewhere.
  Place receive_place();
  // Tells the root what became of it. Returns whether it is done. throws, too: as
  // throw_owner_has_left() if the window was closed.
  bool tell(const Place& place, Written what);

 private:
  Group& group_;
  const Call& call_;
  Messages words_;
};

}  // namespace tabane::comm
