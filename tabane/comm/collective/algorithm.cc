#include "tabane/comm/collective/algorithm.h"

#include <cstring>

#include "tabane/comm/collective/board.h"

namespace tabane::comm {

namespace {

// With the size known, the copy of an element is a load and a store.
template <std::size_t kBytes>
void copy_elements(std::byte* to, std::size_t to_stride, const std::byte* from,
                   std::size_t from_stride, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, kBytes);
  }
}

// Where the piece of a rank's part is among the parts of all, and from one element to the next.
struct Place {
  std::size_t begin, stride;
};
Place place_of(const Call& call, int ranks, int rank, std::size_t offset) {
  const auto p = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  const std::size_t element = call.element.bytes;
  if (call.layout == Layout::block) return {r * call.bytes + offset, element};
  return {offset * p + r * element, p * element};
}

}  // namespace

void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

void copy_strided(std::byte* to, std::size_t to_stride, const std::byte* from,
                  std::size_t from_stride, std::size_t bytes, std::size_t element_bytes) {
  if (to_stride == from_stride) return copy_bytes({to, bytes}, {from, bytes});
  const std::size_t elements = bytes / element_bytes;
  switch (element_bytes) {
    case 1:
      return copy_elements<1>(to, to_stride, from, from_stride, elements);
    case 2:
      return copy_elements<2>(to, to_stride, from, from_stride, elements);
    case 4:
      return copy_elements<4>(to, to_stride, from, from_stride, elements);
    case 8:
      return copy_elements<8>(to, to_stride, from, from_stride, elements);
    case 16:
      return copy_elements<16>(to, to_stride, from, from_stride, elements);
    default:
      break;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, element_bytes);
  }
}

void put_piece(std::span<std::byte> all, const Call& call, int ranks, int rank, std::size_t offset,
               std::span<const std::byte> piece) {
  const Place to = place_of(call, ranks, rank, offset);
  copy_strided(all.data() + to.begin, to.stride, piece.data(), call.element.bytes, piece.size(),
               call.element.bytes);
}

void take_piece(std::span<const std::byte> all, const Call& call, int ranks, int rank,
                std::size_t offset, std::span<std::byte> piece) {
  const Place from = place_of(call, ranks, rank, offset);
  copy_strided(piece.data(), call.element.bytes, all.data() + from.begin, from.stride, piece.size(),
               call.element.bytes);
}

std::span<std::byte> segment_of(std::span<std::byte> values, std::size_t element_bytes, int parts,
                                int index) {
  const std::size_t elements = values.size() / element_bytes;
  const auto bound = [&](int i) {
    return elements * static_cast<std::size_t>(i) / static_cast<std::size_t>(parts) * element_bytes;
  };
  return values.subspan(bound(index), bound(index + 1) - bound(index));
}

Blocks::Blocks(Group& group, const Call& call)
    : call_(call), ranks_(group.size()), is_scratch_(call.layout != Layout::block) {
  if (!call.part_bytes.empty()) varying_.emplace(call);
  all_ = is_scratch_ ? group.scratch(call.bytes * static_cast<std::size_t>(ranks_)) : call.out;
}

void Blocks::sort() const {
  for (int rank = 0; rank < ranks_; ++rank) sort(rank);
}

BlocksToSend::BlocksToSend(Group& group, const Call& call) : call_(call), ranks_(group.size()) {
  if (!call.part_bytes.empty()) varying_.emplace(call);
  if (call.layout != Layout::block) {
    scratch_ = group.scratch(call.bytes * static_cast<std::size_t>(ranks_));
  }
}

void BlocksToSend::copy(int rank, std::span<std::byte> to) const {
  if (scratch_.empty()) return copy_bytes(to, of(rank));
  take_piece(call_.in, call_, ranks_, rank, 0, to);
}

std::span<const std::byte> BlocksToSend::of(int rank) const {
  if (varying_) return varying_->part(call_.in, rank);
  if (scratch_.empty()) return block_of(call_.in, call_, rank);
  const std::span<std::byte> block = block_of(scratch_, call_, rank);
  copy(rank, block);
  return block;
}

std::span<const std::byte> BlocksToSend::all() const {
  if (scratch_.empty()) return call_.in;
  for (int rank = 0; rank < ranks_; ++rank) of(rank);
  return scratch_;
}

const char* never(const Group&, const Call&) { return nullptr; }

const char* without_memory(const Group& group, const Call&) {
  return group.board() == nullptr ? "needs memory that the ranks share" : nullptr;
}

const char* without_native(const Group& group, const Call& call) {
  const NativeCollectives* const own = group.transport().collectives();
  if (own == nullptr) return "needs a transport with collectives of its own";
  return own->offers(call.kind) ? nullptr : "is not among the transport's own collectives";
}

// MPI takes min and max of floating-point numbers in whatever way a NaN falls, and an exception of
// the user's function must not pass through it.
const char* without_native_reduction(const Group& group, const Call& call) {
  if (call.combine != nullptr) {
    const Operation operation = call.combine->operation;
    const bool is_floating = call.combine->type.code >> 8 == 3;
    if (operation == Operation::user) return "does not take a function of the user's";
    if (is_floating && (operation == Operation::min || operation == Operation::max)) {
      return "may let a NaN win";
    }
  }
  return without_native(group, call);
}

const char* beyond_a_line(const Group& group, const Call& call) {
  static_assert(kLineValueBytes == 48);
  if (group.board() == nullptr) return "needs memory that the ranks share";
  return call.bytes > kLineValueBytes ? "is for at most 48 bytes" : nullptr;
}

// At least one element (of each pair, in all_to_all and reduce_scatter) goes through at once.
const char* beyond_a_slot(const Group& group, const Call& call) {
  if (group.board() == nullptr) return "needs memory that the ranks share";
  const std::size_t room = group.board()->slots.slot_bytes();
  const bool of_pairs = call.kind == Kind::all_to_all || call.kind == Kind::reduce_scatter;
  const std::size_t parts = of_pairs ? static_cast<std::size_t>(group.size()) : 1;
  return call.element.bytes * parts > room ? "has no room for elements of this size" : nullptr;
}

bool uses_memory(const Algorithm& algorithm) {
  return algorithm.refuses == without_memory || algorithm.refuses == beyond_a_line ||
         algorithm.refuses == beyond_a_slot;
}

bool is_too_large_for_native(Group& group, const Call& call) {
  return call.bytes > native(group).most_bytes() / static_cast<std::size_t>(group.size());
}

void Messages::throw_short(const Arrival& arrival, std::size_t bytes) const {
  throw MessageError("{}: rank {} sent {}, rank {} expects {}", name_of_tag(label_.tag),
                     arrival.source, describe_bytes(arrival.bytes, arrival.type), transport_.rank(),
                     describe_bytes(bytes, label_.type));
}

void wait_all(std::span<const std::unique_ptr<Pending>> pending) {
  for (const std::unique_ptr<Pending>& one : pending) one->wait();
}

namespace {

// What each rank sends to the root at the end.
struct WindowReply {
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
  throw MessageError("rank {} is in a {} with rank {}, which has left that {} by an error",
                     group.rank(), name_of(call.kind), owner, name_of(call.kind));
}

// These messages have no type, so that they arrive whatever the types of the parts are: then both
// sides report the difference.
WindowExchange::WindowExchange(Group& group, const Call& call)
    : group_(group), call_(call), words_(group, Call{.kind = call.kind, .number = call.number}) {}

void WindowExchange::send_offers(const OpenWindow& window) {
  WindowOffer offer{signature_of(call_), window.key(), 0};
  for (int rank = 0; rank < group_.size(); ++rank, offer.offset += call_.bytes) {
    if (rank != call_.root) words_.send(rank, bytes_of(offer));
  }
}

bool WindowExchange::is_done(int rank, const OpenWindow& window) {
  WindowReply reply;
  do {  // of a collective that this rank has left by an error
    words_.recv(rank, bytes_of(reply));
  } while (reply.window != window.key());
  const Signature own = signature_of(call_);
  if (reply.signature != own) throw_different_calls(call_.root, own, rank, reply.signature);
  return reply.done != 0;
}

WindowOffer WindowExchange::receive_offer() {
  WindowOffer offer;
  words_.recv(call_.root, bytes_of(offer));
  const Signature own = signature_of(call_);
  if (own == offer.signature) return offer;
  WindowReply reply{.signature = own, .window = offer.window};
  words_.send(call_.root, bytes_of(reply));
  throw_different_calls(group_.rank(), own, call_.root, offer.signature);
}

bool WindowExchange::answer(const WindowOffer& offer, CopyResult what) {
  if (what == CopyResult::closed) throw_owner_has_left(group_, call_, call_.root);
  WindowReply reply{signature_of(call_), offer.window, what == CopyResult::done};
  words_.send(call_.root, bytes_of(reply));
  return reply.done != 0;
}

}  // namespace tabane::comm
