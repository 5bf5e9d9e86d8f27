#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {
namespace {

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

void write_part(Group& group, const Call& call) {
  Messages messages(group, call);
  std::byte* place = nullptr;
  messages.recv(call.root, bytes_of(place));
  std::uint8_t written = group.transport().memory()->write(call.root, place, call.in);
  messages.send(call.root, bytes_of(written));
  if (!written) messages.send(call.root, call.in);
}

}  // namespace

// The root tells the others where their parts belong, and each writes its own there: all at the
// same time, each part copied once. Where the system refuses that, it is sent.
// cost: 2 (p - 1) messages of a few bytes; n bytes copied by each rank.
void gather_written(Group& group, const Call& call) {
  if (group.rank() != call.root) return write_part(group, call);
  Messages messages(group, call);
  const int p = group.size();
  const bool sorted = call.layout == Layout::block;
  const std::span<std::byte> all =
      sorted ? call.out : group.scratch(call.bytes * static_cast<std::size_t>(p));
  const auto part = [&](int rank) {
    return all.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  for (int rank = 0; rank < p; ++rank) {
    std::byte* place = part(rank).data();
    if (rank != call.root) messages.send(rank, bytes_of(place));
  }
  put_piece(call.out, call, p, call.root, 0, call.in);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == call.root) continue;
    std::uint8_t written = 0;
    messages.recv(rank, bytes_of(written));
    if (!written) messages.recv(rank, part(rank));
    if (!sorted) put_piece(call.out, call, p, rank, 0, part(rank));
  }
}

}  // namespace tabane::comm
