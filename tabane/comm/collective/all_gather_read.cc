#include <cstring>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/window.h"

namespace tabane::comm {
namespace {

// Shows `values` to all, with more ranks than PUs so that each runs once to come and once to leave.
template <class T>
Word show(Group& group, const Call& call, const T& values) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, std::as_bytes(std::span(&values, 1)));
  if (!group.transport().crowded()) {
    lines.notify_all();
  } else if (lines.is_last()) {
    lines.write_release(word, {});
    lines.notify_all();
  } else {
    lines.read_release(word);
  }
  return word;
}

template <class T>
T shown_by(Group& group, int rank, Word word) {
  T value;
  std::memcpy(&value, group.board()->lines.read(rank, word), sizeof(T));
  return value;
}

// Returns whether the system has permitted it.
bool read_part(Group& group, const Call& call, int rank, const Place& place,
               std::span<std::byte> into) {
  const Signature own = signature_of(call);
  if (place.signature != own) throw_different_calls(group.rank(), own, rank, place.signature);
  const Written read = group.transport().memory()->read(rank, place.window, 0, into);
  if (read == Written::closed) throw_owner_has_left(group, call, rank);
  return read == Written::yes;
}

}  // namespace

// Each rank shows where its part lies, reads those of all others there, and shows that it is done.
// Each part is copied once by each rank, all at the same time. Where the system refuses that to one
// of them, all parts are sent.
// cost: two lines written and 2 (p - 1) read, and p n bytes copied, on each rank.
void all_gather_read(Group& group, const Call& call) {
  const int p = group.size(), self = group.rank();
  const bool sorted = call.layout == Layout::block;
  const std::size_t total = call.bytes * static_cast<std::size_t>(p);
  const std::span<std::byte> all = sorted ? call.out : group.scratch(total);
  const auto part = [&](int rank) {
    return all.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  bool refused = false;
  {
    OpenWindow window(*group.transport().memory(), call.in);
    const Word word = show(group, call, Place{signature_of(call), window.key(), 0});
    copy_bytes(part(self), call.in);
    for (int round = 1; round < p; ++round) {
      const int rank = (self + round) % p;
      const auto place = shown_by<Place>(group, rank, word);
      refused |= !read_part(group, call, rank, place, part(rank));
    }
    const Word done = show(group, call, refused);
    for (int rank = 0; rank < p; ++rank) refused |= shown_by<bool>(group, rank, done);
    window.end();
  }
  if (refused) return all_gather_linear(group, call);
  if (sorted) return;
  for (int rank = 0; rank < p; ++rank) put_piece(call.out, call, p, rank, 0, part(rank));
}

}  // namespace tabane::comm
