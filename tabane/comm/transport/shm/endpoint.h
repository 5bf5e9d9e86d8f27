// One rank's messages to and from all others, of all groups: what a rank has one of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "tabane/comm/message.h"
#include "tabane/comm/transport/shm/channel.h"
#include "tabane/comm/transport/shm/world.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::shm {

// --- what waits in a rank: receives for messages, messages for receives, sends for room ---

// Something that waits in a List, which does not own it. Its end takes it out.
template <class T>
struct ListNode {
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { leave(); }
  bool waits() const { return previous != nullptr; }
  void leave() {
    if (previous == nullptr) return;
    previous->next = next;
    next->previous = previous;
    next = previous = nullptr;
  }

  ListNode* next = nullptr;
  ListNode* previous = nullptr;
};

template <class T>
class List {
 public:
  List() { ring_.next = ring_.previous = &ring_; }
  ~List() {
    while (!empty()) ring_.next->leave();
    ring_.next = ring_.previous = nullptr;
  }
  bool empty() const { return ring_.next == &ring_; }
  T& front() { return static_cast<T&>(*ring_.next); }
  void push_back(T& element) {
    element.next = &ring_;
    element.previous = ring_.previous;
    ring_.previous->next = &element;
    ring_.previous = &element;
  }
  // f may take its argument out of the list.
  template <class F>
  void for_each(F&& f) {
    for (ListNode<T>* i = ring_.next; i != &ring_;) {
      ListNode<T>* const following = i->next;
      f(static_cast<T&>(*i));
      i = following;
    }
  }
  // Returns the first element of which fits is true, or null.
  template <class Fits>
  T* find(Fits&& fits) {
    for (ListNode<T>* i = ring_.next; i != &ring_; i = i->next) {
      if (fits(static_cast<T&>(*i))) return static_cast<T*>(i);
    }
    return nullptr;
  }

 private:
  ListNode<T> ring_;
};

// A message's bytes after it has arrived: in blocks of the channel from `source`, or on the heap.
struct Stored {
  std::unique_ptr<std::byte[]> heap = nullptr;
  int source = 0;
  int first_block = -1;  // -1: not in blocks
  std::uint32_t blocks = 0;
  std::span<const std::byte> bytes = {};
};

// Makes room on the heap, and returns it.
std::byte* store_on_heap(Stored& stored, std::size_t bytes);

struct Receive : ListNode<Receive> {
  bool fits(int sender, const Envelope& message) const {
    return message.context == context && (source == any_source || source == sender) &&
           (tag == any_tag ? message.tag >= 0 : message.tag == tag);
  }

  // What it waits for; ranks of the world.
  std::uint64_t context = 0;
  int source = 0;
  std::span<const int> sources = {};  // if `source` is any_source: the members of its group
  std::int32_t tag = 0;
  std::uint16_t type = 0;
  // Where it goes; keeps: into `stored` instead, whatever its size.
  std::span<std::byte> into = {};
  bool keeps = false;

  bool complete = false;
  bool is_open = false;  // started, and neither complete nor abandoned
  // What came.
  int from = 0;
  Envelope envelope = {};
  Stored stored = {};
  int record = -1;             // of a direct copy at work
  std::uint64_t begin_ns = 0;  // of that, if its time is of use; else 0
};

// Whether the bytes that came may be read as what `receive` wants, and there is room for them.
inline bool matches(const Receive& receive) {
  const std::uint16_t sent = receive.envelope.type;
  return (sent == receive.type || sent == 0 || receive.type == 0) &&
         (receive.keeps || receive.envelope.bytes <= receive.into.size());
}

// Where the bytes of the message that matches `receive` are to be written.
std::byte* make_room(Receive& receive);

// A message that came before its receive.
struct Unexpected {
  Envelope envelope;
  Stored stored = {};
  int record = -1;           // its bytes are still with the sender
  bool complete = true;      // false: pieces are still to come
  Receive* taker = nullptr;  // gets it once it is complete
};

// The message of which pieces are arriving in a channel.
struct Arriving {
  Receive* receive = nullptr;        // that it is for …
  Unexpected* unexpected = nullptr;  // … or what becomes of it; neither: it is dropped
  LineKind kind = LineKind::run;
  std::byte* into = nullptr;  // null: stays in blocks, or is dropped
  bool stays = false;
  int first_block = 0;  // of a run
  int record = -1;      // of a repeat
  std::size_t done = 0;
  std::size_t total = 0;       // 0: nothing is arriving
  std::uint64_t begin_ns = 0;  // if its time is of use; else 0
  double factor = 1;           // its whole time, divided by that
};

// From its start until it is complete or withdrawn it waits in a list.
struct Send : ListNode<Send> {
  int to = 0;  // in the world
  Envelope envelope = {};
  const std::byte* bytes = nullptr;
  bool complete = false;

  bool started = false;
  std::size_t done = 0;  // bytes that are in blocks
  LineKind kind = LineKind::run;
  int first_block = 0;  // of a run
  int record = -1;
  std::unique_ptr<std::byte[]> own = nullptr;  // the bytes, after their owner has gone
  Way way = Way::undecided;                    // of a large message, once it was tried
};

struct NoChannel;

// Messages larger than this may be copied directly, if the kernel lets us: one copy and two system
// calls instead of two copies; see direct_copy.h. A receiver that takes views reads what is in
// blocks without any copy, so there only what does not fit into blocks.
inline constexpr std::size_t kDirectBytes = 12 * 1024;
// Of such messages, from this size on both sides copy: a smaller one is faster if its bytes change
// caches only once.
inline constexpr std::size_t kSharedCopyBytes = 128 * 1024;
// What the sender puts into blocks at once, while the receiver takes out what was there before. The
// smaller, the more of the time both copy; but each piece costs a line.
inline constexpr std::size_t kPieceBytes = 4 * 1024;

// Ranks are those of the world. Whoever waits makes the progress of everything that this rank has
// begun.
class Endpoint {
 public:
  // world lives longer.
  Endpoint(World& world, int rank);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  int rank() const { return rank_; }
  World& world() { return world_; }
  // Tells a new group apart from all others of the world, also from those that have ended: a late
  // message of one meets nobody.
  std::uint64_t new_context();

  // All that throw core::LostError do so at once where a rank is known to be lost, whatever has
  // come. After it nobody reads or writes the bytes of that send or receive any more.

  // Returns when the bytes may be changed. throws: core::LostError.
  void send(int to, const Envelope& envelope, const std::byte* bytes) {
    Peer& peer = *peers_[static_cast<std::size_t>(to)];
    if (envelope.bytes <= kInlineBytes && peer.queue.empty() && to != rank_ && !world_.failed() &&
        peer.out.put_inline(envelope, bytes)) [[likely]] {
      wake(*peer.doorbell);
      return;
    }
    send_slowly(to, envelope, bytes);
  }

  // Begins; it may be complete then. It is the caller's, and must be complete or abandoned before
  // it ends. A receive that is complete may have received what does not fit it: see matches().
  // throws: core::LostError.
  void start(Send& send);
  void start(Receive& receive);
  // Returns when it is complete. throws: core::LostError; then it is not, and nothing will be.
  void wait(Send& send);
  void wait(Receive& receive);
  // Whether it is complete, after some progress. throws: core::LostError.
  bool test(Send& send);
  bool test(Receive& receive);
  // The short way of a receive from one rank while nothing else is under way: waits for that rank's
  // next line. Returns false if the receive is to be started after all. throws: core::LostError.
  bool take_next(Receive& receive);
  // Nobody waits for it any more. What has been begun of a send is completed from a copy, but not
  // after a loss.
  void abandon(std::unique_ptr<Send> send) noexcept;
  void abandon(Receive& receive) noexcept;
  // Whatever can be done without waiting; stops early once `enough`.
  void progress(const bool& enough);

  // Looks for a message that `pattern` would get. Fills in pattern's from and envelope. throws:
  // core::LostError, also if its source has returned.
  bool probe(Receive& pattern);
  bool finds(Receive& pattern);

  // Returns once ready() is true, which one of `peers` will bring about: several ranks, or
  // any_source. throws: core::LostError, and what ready() does.
  template <class Peers>
  void wait_until(const Peers& peers, const std::function<bool()>& ready) {
    const auto polls = [&] {
      if (ready()) return true;
      progress(false);
      return false;
    };
    waiter_.wait(polls, [&] {
      world_.check(rank_, peers, ready);
      backgrounds_.look();
    });
  }
  Backgrounds& backgrounds() { return backgrounds_; }

  // What was received is no longer read.
  void release(Stored& stored);

 private:
  enum class Direct : std::uint8_t { unknown, possible, refused };

  struct alignas(64) Peer {
    Peer(const ChannelLayout& to, const ChannelLayout& from, std::size_t window_bytes)
        : out(to, window_bytes), in(from) {}
    Sender out;
    Receiver in;
    Doorbell* doorbell = nullptr;
    List<Send> queue;
    Arriving arriving;
    std::list<Unexpected> unexpected;
    std::array<Receive*, kRecords> repeats{};  // whose direct copy was refused
    std::uint32_t held_blocks = 0;             // of parcels and unexpected messages
    Direct direct = Direct::unknown;
    WayTries tries;  // as sender
    WayTimes times;  // as receiver
  };

  Peer& peer(int rank) { return *peers_[static_cast<std::size_t>(rank)]; }
  // Waits in that call until ready(). peers: a rank, or several of which any one may bring it
  // about. rest: called before each yield or sleep.
  template <class Peers, class Ready, class Rest>
  void wait_in(const char* call, const Peers& peers, Ready&& ready, Rest&& rest);
  template <class Operation, class Peers>
  void wait_for(Operation& operation, const Peers& peers);

  // --- endpoint_send.cc ---
  void send_slowly(int to, const Envelope& envelope, const std::byte* bytes);
  void advance_queue(int to);
  bool advance(Peer& peer, Send& send);  // whether the next one may begin
  bool begin(Peer& peer, Send& send);
  bool announce_direct(Peer& peer, Send& send);
  bool may_copy_directly(Peer& peer, int to);
  static bool wants_direct(Peer& peer, Send& send);
  bool put_piece(Peer& peer, Send& send);
  void advance_direct(Send& send);
  void repeat_in_pieces(Peer& peer, Send& send);
  void enqueue(Peer& peer, Send& send);
  void withdraw(Send& send) noexcept;
  void stop_direct(Send& send) noexcept;
  void complete(Send& send);

  // --- endpoint_receive.cc ---
  void send_to_self(Send& send);
  bool poll(int from);  // takes one line, if there is one
  // A message that is here as a whole: copy(to) copies it.
  template <class Copy>
  void arrive_whole(int from, const Envelope& envelope, const Copy& copy);
  Unexpected& add_unexpected(Peer& peer, Unexpected message);
  void arrive_in_pieces(Peer& peer, int from, const Line& line);
  void arrive_direct(Peer& peer, int from, const Line& line);
  void expect_repeat(Peer& peer, const Line& line);
  void choose_place(Peer& peer, int from, const Envelope& envelope);
  void take_piece(Peer& peer, const Line& line);
  void finish_arriving(Peer& peer);
  Receive* match(int from, const Envelope& envelope);
  bool take_unexpected(Receive& receive, int from);
  void hand_over(Receive& receive, Unexpected& unexpected);
  void note_taste(const Receive& receive);  // of a receive that has its message
  // A message has come that way since begin_ns. factor: its whole time, divided by that.
  void note_way(Peer& peer, std::size_t bytes, Way way, std::uint64_t begin_ns, double factor);
  // For a message that begins to come: the time, or 0 if it is not of use.
  static std::uint64_t begin_ns(Peer& peer, std::size_t bytes);
  void open_direct(Peer& peer, Receive& receive, int record);
  void advance_direct(Receive& receive);
  void stop_direct(Receive& receive) noexcept;
  void finish_direct(Peer& peer, Receive& receive, int record);
  void complete(Receive& receive);

  World& world_;
  int rank_;
  Waiter waiter_;
  std::unique_ptr<NoChannel> no_channel_;  // in place of the one to itself
  std::vector<std::unique_ptr<Peer>> peers_;
  List<Receive> posted_;
  List<Receive> direct_receives_;
  List<Send> direct_sends_;
  std::vector<std::unique_ptr<Send>> abandoned_;
  Backgrounds backgrounds_;
  std::uint64_t contexts_ = 0;
  int open_ = 0;          // sends and receives that are started and not complete
  int queued_ = 0;        // sends in queues
  int unexpected_ = 0;    // messages in all lists of unexpected ones
  int polled_first_ = 0;  // so that each rank's turn comes
};

// A receive that is abandoned, if it is not complete, at its end.
class OpenReceive {
 public:
  explicit OpenReceive(Endpoint& endpoint) : endpoint_(endpoint) {}
  ~OpenReceive() {
    if (receive_.is_open) endpoint_.abandon(receive_);
    if (receive_.stored.first_block >= 0) endpoint_.release(receive_.stored);
  }
  OpenReceive(const OpenReceive&) = delete;
  OpenReceive& operator=(const OpenReceive&) = delete;

  Receive* operator->() { return &receive_; }
  Receive& operator*() { return receive_; }
  void start() { endpoint_.start(receive_); }
  void wait() { endpoint_.wait(receive_); }
  void start_and_wait() {
    if (endpoint_.take_next(receive_)) return;
    start();
    wait();
  }

 private:
  Endpoint& endpoint_;
  Receive receive_;
};

}  // namespace tabane::comm::shm
