// What the algorithms of the operations share. Each operation is one file, which ends in the table
// of its algorithms. Only run() calls an algorithm, after it has checked the call: two ranks or
// more, at least one byte (except barriers), a root that exists. p: ranks, n: bytes per rank.
//
// Orders of combination: flags, counter, shared, linear, reduce_scatter and pairwise take the ranks
// in order from 0, ((v0 v1) v2) v3; two_level does so within groups, then with the groups; tree and
// recursive_doubling combine neighbours, (v0 v1) (v2 v3), and doubling the 2^k before a rank. All
// keep lower ranks on the left, so operations need not be commutative. No order depends on the
// root.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/group.h"

namespace tabane::comm {

// --- the tables, each in the file of its operation ---

std::span<const Algorithm> barrier_algorithms();
std::span<const Algorithm> broadcast_algorithms();
std::span<const Algorithm> reduce_algorithms();
std::span<const Algorithm> all_reduce_algorithms();
std::span<const Algorithm> scatter_algorithms();     // and scatter_varying
std::span<const Algorithm> gather_algorithms();      // and gather_varying
std::span<const Algorithm> all_gather_algorithms();  // and all_gather_varying
std::span<const Algorithm> all_to_all_algorithms();
std::span<const Algorithm> scan_algorithms();  // and exscan
std::span<const Algorithm> reduce_scatter_algorithms();

// Algorithms that those of other operations consist of.
void broadcast_binomial(Group& group, const Call& call);
void reduce_linear(Group& group, const Call& call);
void reduce_tree(Group& group, const Call& call);
void gather_direct(Group& group, const Call& call);

// --- when an algorithm refuses a call: see Algorithm::refuses ---

const char* never(const Group& group, const Call& call);
const char* without_memory(const Group& group, const Call& call);
const char* beyond_a_line(const Group& group, const Call& call);
const char* beyond_a_slot(const Group& group, const Call& call);
const char* without_native(const Group& group, const Call& call);
const char* without_native_reduction(const Group& group, const Call& call);

// Whether it is one of those that share memory.
bool uses_memory(const Algorithm& algorithm);

// The transport's own collectives, where it has some. MPI requires that all ranks get the same
// result of an all_reduce, and only recommends that the same call gives the same bits each time.
inline NativeCollectives& native(Group& group) { return *group.transport().collectives(); }
// Whether all ranks' parts together are more than they take.
bool is_too_large_for_native(Group& group, const Call& call);

// --- parts of ranks in an array of all ranks ---

// memcpy() that may be given nothing.
void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from);
// Copies so many bytes of elements; strides in bytes from one to the next. Equal ones: no gaps.
void copy_strided(std::byte* to, std::size_t to_stride, const std::byte* from,
                  std::size_t from_stride, std::size_t bytes, std::size_t element_bytes);

// Copies a piece of a rank's part, which starts `offset` bytes after the part's begin, to or from
// its places in `all`, which depend on call.layout. Whole elements; call.bytes: of a part.
void put_piece(std::span<std::byte> all, const Call& call, int ranks, int rank, std::size_t offset,
               std::span<const std::byte> piece);
void take_piece(std::span<const std::byte> all, const Call& call, int ranks, int rank,
                std::size_t offset, std::span<std::byte> piece);

// Returns block `index` of blocks of call.bytes.
template <class Byte>
std::span<Byte> block_of(std::span<Byte> all, const Call& call, int index) {
  return all.subspan(static_cast<std::size_t>(index) * call.bytes, call.bytes);
}

// Returns segment `index` of `parts` almost equal ones of the values, of whole elements.
std::span<std::byte> segment_of(std::span<std::byte> values, std::size_t element_bytes, int parts,
                                int index);

// Parts of different sizes, one after the other in the order of ranks.
class VaryingParts {
 public:
  explicit VaryingParts(const Call& call) : bytes_(call.part_bytes) {
    for (const std::size_t bytes : bytes_) begins_.push_back(begins_.back() + bytes);
  }
  std::size_t most_bytes() const { return *std::ranges::max_element(bytes_); }
  template <class Byte>
  std::span<Byte> part(std::span<Byte> all, int rank) const {
    return all.subspan(begins_[static_cast<std::size_t>(rank)],
                       bytes_[static_cast<std::size_t>(rank)]);
  }

 private:
  std::span<const std::size_t> bytes_;
  std::vector<std::size_t> begins_{0};  // of each rank's part, and the end
};

// Where all ranks' parts, also varying ones, arrive in the order of ranks: in call.out or, if the
// layout is another one, in the group's scratch until they are sorted.
class Blocks {
 public:
  Blocks(Group& group, const Call& call);
  std::span<std::byte> all() const { return all_; }
  std::span<std::byte> of(int rank) const {
    return varying_ ? varying_->part(all_, rank) : block_of(all_, call_, rank);
  }
  void sort(int rank) const {
    if (is_scratch_) put_piece(call_.out, call_, ranks_, rank, 0, of(rank));
  }
  void sort() const;
  bool is_scratch() const { return is_scratch_; }
  // This rank's own part, to its place.
  void put(int rank, std::span<const std::byte> part) const {
    is_scratch_ ? put_piece(call_.out, call_, ranks_, rank, 0, part) : copy_bytes(of(rank), part);
  }

 private:
  const Call& call_;
  int ranks_;
  bool is_scratch_;
  std::optional<VaryingParts> varying_;
  std::span<std::byte> all_;
};
// The other way, on the root of a scatter: all ranks' parts in call.in, also varying ones.
class BlocksToSend {
 public:
  BlocksToSend(Group& group, const Call& call);
  // Returns that rank's part, sorted into the group's scratch now if the layout needs it.
  std::span<const std::byte> of(int rank) const;
  // Returns all of them, in the order of ranks.
  std::span<const std::byte> all() const;
  void copy(int rank, std::span<std::byte> to) const;

 private:
  const Call& call_;
  int ranks_;
  std::optional<VaryingParts> varying_;
  std::span<std::byte> scratch_;  // empty: they are sorted
};

// Combines a rank's values, as many bytes as `sum` has, with those of the ranks before it. To be
// called for each rank from 0 on, so that the bits of the sum depend on nothing but the values.
inline void add_in_order(const Combine& combine, std::span<std::byte> sum, int rank,
                         const std::byte* values) {
  if (rank == 0) {
    copy_bytes(sum, {values, sum.size()});
  } else {
    combine.apply(sum.data(), values, sum.size() / combine.element_bytes);
  }
}

// --- messages ---

// Messages of one call. throws, all: as the transport; MessageError if a message is shorter than
// expected.
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
  // Waits for an irecv() of that many bytes.
  void finish(Pending& pending, std::size_t bytes) {
    pending.wait();
    require(pending.arrival, bytes);
  }

  // Sends part(rank) to each other rank, all at once. Returns what is to be waited for.
  template <class Part>
  std::vector<std::unique_ptr<Pending>> isend_to_others(const Part& part);
  // Between all ranks. out(rank): what that rank gets; in(rank): room for what it sends.
  // Copies this rank's own. cost: p - 1 messages to and from each rank, all at once.
  template <class Out, class In>
  void exchange_at_once(const Out& out, const In& in);
  // Leaves out this rank's own. cost: p - 1 exchanges one after the other: in round k with the k-th
  // rank after and before.
  template <class Out, class In>
  void exchange_in_turn(const Out& out, const In& in);
  // Gives all ranks' parts to all: each rank passes on what it has got from the rank before it.
  // part(rank): of this rank, full; of others, room for it.
  // cost: p - 1 exchanges one after the other.
  template <class Part>
  void pass_round(const Part& part);

 private:
  void require(const Arrival& arrival, std::size_t bytes) const {
    if (arrival.bytes != bytes) throw_short(arrival, bytes);
  }
  [[noreturn]] void throw_short(const Arrival& arrival, std::size_t bytes) const;
  int after(int distance) const { return (transport_.rank() + distance) % transport_.size(); }
  int before(int distance) const {
    return (transport_.rank() - distance + transport_.size()) % transport_.size();
  }

  Transport& transport_;
  Label label_;
};

void wait_all(std::span<const std::unique_ptr<Pending>> pending);

template <class Part>
std::vector<std::unique_ptr<Pending>> Messages::isend_to_others(const Part& part) {
  std::vector<std::unique_ptr<Pending>> sent;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank != transport_.rank()) sent.push_back(isend(rank, part(rank)));
  }
  return sent;
}

template <class Out, class In>
void Messages::exchange_at_once(const Out& out, const In& in) {
  const int p = transport_.size();
  std::vector<std::unique_ptr<Pending>> received, sent;
  for (int round = 1; round < p; ++round) {
    received.push_back(irecv(before(round), in(before(round))));
  }
  for (int round = 1; round < p; ++round) {
    sent.push_back(isend(after(round), out(after(round))));
  }
  copy_bytes(in(transport_.rank()), out(transport_.rank()));
  for (int round = 1; round < p; ++round) {
    finish(*received[static_cast<std::size_t>(round - 1)], in(before(round)).size());
  }
  wait_all(sent);
}

template <class Out, class In>
void Messages::exchange_in_turn(const Out& out, const In& in) {
  for (int round = 1; round < transport_.size(); ++round) {
    exchange(after(round), out(after(round)), before(round), in(before(round)));
  }
}

template <class Part>
void Messages::pass_round(const Part& part) {
  for (int round = 0; round < transport_.size() - 1; ++round) {
    exchange(after(1), part(before(round)), before(1), part(before(round + 1)));
  }
}

// A rank's place in a binomial tree whose ranks count from the root.
struct BinomialNode {
  BinomialNode(int all_ranks, int rank, int tree_root)
      : ranks(all_ranks), root(tree_root), position((rank - root + ranks) % ranks) {
    while (span < ranks && (position & span) == 0) span *= 2;
  }

  int rank_at(int at) const { return (at + root) % ranks; }
  int parent() const { return rank_at(position - span); }  // not of the root
  int served() const { return std::min(span, ranks - position); }

  int ranks, root, position;
  int span = 1;  // of positions that this rank serves, its own first, as if there were 2^k ranks
};

// --- private memory of one rank that others read or write during a collective ---

// A window of this rank, open while it is in its collective: a rank that comes later, because this
// one has left by an exception, finds it closed.
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
  // To be called once all others have said that they have read or written their parts.
  void end() { all_done_ = true; }

 private:
  GroupMemory& memory_;
  std::uint64_t key_;
  bool all_done_ = false;
};

// What the owner of a window sends to the others: its call, and where their parts are.
struct WindowOffer {
  Signature signature;
  std::uint64_t window = 0, offset = 0;
};

// throws: core::LostError if a rank is gone; MessageError naming the owner, whose window is closed.
[[noreturn]] void throw_owner_has_left(Group& group, const Call& call, int owner);

// Between a root that opens a window and the others, who each read or write their part of it.
// throws, all: as Messages; MessageError naming both if the call of the other rank differs.
class WindowExchange {
 public:
  WindowExchange(Group& group, const Call& call);

  // On the root. Parts are in the order of ranks.
  void send_offers(const OpenWindow& window);
  // Returns whether `rank` has done its part; if not, the system has refused it, and the part goes
  // as a message.
  bool is_done(int rank, const OpenWindow& window);

  // Elsewhere.
  WindowOffer receive_offer();
  // Tells the root what became of it. Returns whether it is done. throws, too: as
  // throw_owner_has_left() if the window was closed.
  bool answer(const WindowOffer& offer, CopyResult what);

 private:
  Group& group_;
  const Call& call_;
  Messages words_;
};

}  // namespace tabane::comm
