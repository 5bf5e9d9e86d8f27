// Messages between the ranks of a collective.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/group.h"

namespace tabane::comm {

// Of one call. throws, all: as the transport; MessageError if a message is shorter than expected.
class Messages {
 public:
  Messages(Group& group, const Call& call)
      : transport_(group.transport()), label_{tag_of(call.kind, call.number), call.element.type} {}

  void send(int to, std::span<const std::byte> bytes) { transport_.send(to, label_, bytes); }
  void recv(int from, std::span<std::byte> into) {
    require(transport_.recv(from, label_, into), into.size());
  }
  // Sends and receives at once.
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> into) {
    const std::unique_ptr<Pending> sent = isend(to, out);
    recv(from, into);
    sent->wait();
  }

  std::unique_ptr<Pending> isend(int to, std::span<const std::byte> bytes) {
    return transport_.isend(to, label_, bytes);
  }
  std::unique_ptr<Pending> irecv(int from, std::span<std::byte> into) {
    return transport_.irecv(from, label_, into);
  }
  // Waits for an irecv() of so many bytes.
  void finish(Pending& pending, std::size_t bytes) {
    pending.wait();
    require(pending.arrival, bytes);
  }

 private:
  void require(const Arrival& arrival, std::size_t bytes) const {
    if (arrival.bytes != bytes) throw_short(arrival, bytes);
  }
  [[noreturn]] void throw_short(const Arrival& arrival, std::size_t bytes) const;

  Transport& transport_;
  Label label_;
};

void wait_all(std::span<const std::unique_ptr<Pending>> pending);

}  // namespace tabane::comm
