// What waits in a rank: receives for their messages, messages for their receives, sends for room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>

#include "tabane/comm/message.h"
#include "tabane/comm/transport/shm/channel.h"

namespace tabane::comm::shm {

// Something that waits in a List, which does not own it. Its end takes it out.
template <class T>
struct Waiting {
  Waiting() = default;
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { leave(); }
  bool waits() const { return previous != nullptr; }
  void leave() {
    if (previous == nullptr) return;
    previous->next = next;
    next->previous = previous;
    next = previous = nullptr;
  }

  Waiting* next = nullptr;
  Waiting* previous = nullptr;
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
    for (Waiting<T>* i = ring_.next; i != &ring_;) {
      Waiting<T>* const following = i->next;
      f(static_cast<T&>(*i));
      i = following;
    }
  }
  // Returns the first element of which fits is true, or null.
  template <class Fits>
  T* find(Fits&& fits) {
    for (Waiting<T>* i = ring_.next; i != &ring_; i = i->next) {
      if (fits(static_cast<T&>(*i))) return static_cast<T*>(i);
    }
    return nullptr;
  }

 private:
  Waiting<T> ring_;
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

struct Receive : Waiting<Receive> {
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
  int record = -1;           // it still lies with the sender, see there
  bool complete = true;      // false: pieces are still to come
  Receive* taker = nullptr;  // gets it once it is complete
};

// The message of which pieces are arriving in a channel.
struct Arriving {
  Receive* receive = nullptr;        // for whom it is …
  Unexpected* unexpected = nullptr;  // … or what becomes of it; neither: nobody wants it any more
  LineKind kind = LineKind::run;
  std::byte* into = nullptr;  // null: stays in blocks, or is dropped
  bool stays = false;
  int first_block = 0;  // of a run
  int record = -1;      // of a repeat
  std::size_t done = 0;
  std::size_t total = 0;       // 0: nothing is arriving
  std::uint64_t begin_ns = 0;  // if its time is of use; else 0
};

// From its start until it is complete or withdrawn it waits in a list.
struct Send : Waiting<Send> {
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

}  // namespace tabane::comm::shm
