// A rank's view of a group of ranks that send messages to each other.
//
//   tabane::comm::launch({.ranks = 4}, [](tabane::comm::Comm& world) {
//     if (world.rank() == 0) world.send(1, std::vector{1.0, 2.0});
//     if (world.rank() == 1) { auto view = world.recv_view<double>(0); use(view[0]); }
//   });
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tabane/comm/message.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

class Group;        // collective/group.h: a transport and what collectives keep of it
class ChoiceTable;  // collective/choice.h

// What a receive took.
struct Received {
  int source = 0, tag = 0;
  std::size_t count = 0;  // elements
};

namespace internal {

[[noreturn]] void throw_part(const Arrival& arrival, std::size_t element_bytes, int receiver);

// throws: MessageError if the message, sent as bytes, is not of whole elements.
inline Received received(const Arrival& arrival, std::size_t element_bytes, int receiver) {
  if (arrival.bytes % element_bytes != 0) throw_part(arrival, element_bytes, receiver);
  return {arrival.source, arrival.tag, arrival.bytes / element_bytes};
}

}  // namespace internal

// A received message, read where the transport put it. Its place is free again when the view ends.
// While many views are held, the sender may have to take slower paths.
template <Sendable T>
class View {
 public:
  explicit View(std::unique_ptr<Parcel> parcel) : parcel_(std::move(parcel)) {}
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(parcel_->bytes.data()), parcel_->bytes.size() / sizeof(T)};
  }
  const T& operator[](std::size_t i) const { return values()[i]; }
  std::size_t size() const { return values().size(); }
  auto begin() const { return values().begin(); }
  auto end() const { return values().end(); }
  int source() const { return parcel_->arrival.source; }
  int tag() const { return parcel_->arrival.tag; }

 private:
  std::unique_ptr<Parcel> parcel_;
};

// A message on its way, or a collective. The range must live until the request is complete, or, on
// shm, until wait() or test() has thrown core::LostError. The destructor waits for completion,
// except while an exception is passing: then the message may be lost. (MPI uses the range until the
// other side has taken the message. While an exception is passing, the destructor gives it a
// quarter of a second for that. If it is not taken, the world has ended for this rank, even if the
// exception is caught.)
class Request {
 public:
  // rank: the one that waits, for errors.
  Request(PendingPtr pending, std::size_t element_bytes, int rank)
      : pending_(std::move(pending)), element_bytes_(element_bytes), rank_(rank) {}
  bool test() { return pending_->test(); }
  Received wait() {
    told_ = true;
    pending_->wait();
    return received();
  }
  // Of a receive that is complete.
  Received received() const { return internal::received(pending_->arrival, element_bytes_, rank_); }

 private:
  friend std::optional<std::size_t> wait_any(std::span<Request>);
  friend std::optional<std::size_t> test_any(std::span<Request>);

  PendingPtr pending_;
  std::size_t element_bytes_;
  int rank_;
  bool told_ = false;  // by wait(), wait_any() or test_any(), that it is complete or has failed
};

void wait_all(std::span<Request> requests);

// Waits until one is complete and returns its index. Each request is reported once. Returns nothing
// if all have been reported, by wait() or by these two functions. throws: as wait() of that
// request, which then counts as reported.
std::optional<std::size_t> wait_any(std::span<Request> requests);
// The same without waiting: nothing also if none is complete now.
std::optional<std::size_t> test_any(std::span<Request> requests);

// Copies share the group. One thread at a time may use it. It must end, as its views and requests
// must, before the function that launch() calls returns.
// throws, all that communicate: core::LostError naming rank, pid and phase if a rank of the world
// is gone, within a second; on shm every call that begins after the loss is known, even for what
// had arrived before; MessageError naming both sides if a message does not fit its receiver in size
// or type; core::UsageError if a rank or tag does not exist.
class Comm {
 public:
  // choice: chooses the collectives' algorithms, see collective/group.h.
  explicit Comm(std::unique_ptr<Transport> transport,
                std::shared_ptr<const ChoiceTable> choice = {});

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  // The largest tag here: kMostTag, or less over an MPI that has fewer, but never below 32767.
  int most_tag() const { return transport_->most_tag(); }

  // Returns when `values` may be changed. Up to 4 KiB that is at once, as long as the receiver
  // keeps up; otherwise it may wait for the receiver, as MPI_Send does.
  template <SendableRange R>
  void send(int to, const R& values, int tag = 0) {
    transport_->send(checked_peer(to), label<std::ranges::range_value_t<R>>(tag),
                     internal::bytes_of(values));
  }
  template <SendableValue T>
  void send(int to, const T& value, int tag = 0) {
    send(to, std::span<const T>(&value, 1), tag);
  }

  // Receives a message of at most the size of `values`. from: a rank or any_source; tag: a tag or
  // any_tag.
  template <WritableRange R>
  Received recv(int from, R&& values, int tag = 0) {
    using T = std::ranges::range_value_t<R>;
    return received<T>(transport_->recv(checked_source(from), source_label<T>(tag),
                                        internal::writable_bytes_of(values)));
  }
  // Receives one value.
  template <Sendable T>
  T recv(int from, int tag = 0) {
    std::array<T, 1> value;
    const Received got = recv(from, value, tag);
    if (got.count != 1) throw_not_one(got);
    return value[0];
  }
  // Receives a message of any size, without copying it where the transport can.
  template <Sendable T>
  View<T> recv_view(int from, int tag = 0) {
    auto parcel = transport_->recv_parcel(checked_source(from), source_label<T>(tag));
    received<T>(parcel->arrival);
    return View<T>(std::move(parcel));
  }

  // Sends and receives at once. If both sides called send() and then recv(), each might wait for
  // the other for ever; here neither does.
  template <SendableRange Out, WritableRange In>
  Received exchange(int to, const Out& out, int from, In&& in, int tag = 0) {
    Request sent = isend(to, out, tag);
    const Received got = recv(from, in, tag);
    sent.wait();
    return got;
  }

  // No temporaries: the request holds on to the range.
  template <SendableRange R>
  requires LastingRange<R> Request isend(int to, R&& values, int tag = 0) {
    using T = std::ranges::range_value_t<R>;
    return Request(transport_->isend(checked_peer(to), label<T>(tag), internal::bytes_of(values)),
                   sizeof(T), rank());
  }
  template <WritableRange R>
  requires LastingRange<R> Request irecv(int from, R&& values, int tag = 0) {
    using T = std::ranges::range_value_t<R>;
    return Request(transport_->irecv(checked_source(from), source_label<T>(tag),
                                     internal::writable_bytes_of(values)),
                   sizeof(T), rank());
  }
  // Returns what recv() with the same arguments would take at once, or nothing. T: the elements
  // that `count` counts. throws: core::LostError, too, if rank `from` has returned and left none.
  template <Sendable T = std::byte>
  std::optional<Received> probe(int from, int tag = 0) {
    Arrival arrival;
    if (!transport_->probe(checked_source(from), source_label<T>(tag), arrival)) return {};
    return Received{arrival.source, arrival.tag, arrival.bytes / sizeof(T)};
  }
  // Waits until probe() with the same arguments finds a message, and returns what that does.
  template <Sendable T = std::byte>
  Received wait_for_message(int from, int tag = 0) {
    const Arrival arrival = arrival_of_next(checked_source(from), source_label<T>(tag));
    return {arrival.source, arrival.tag, arrival.bytes / sizeof(T)};
  }

  // Returns the group of the ranks that gave the same color >= 0, ordered by key, then by rank
  // here; nothing for a negative color. All ranks call it.
  std::optional<Comm> split(int color, int key = 0);

  // Starts or stops comparing what the ranks call in each collective of this group and of those
  // split from it later, so that none that differ hang or pass unnoticed. All ranks call it. cost:
  // on shared memory nothing in barrier, all_reduce and all_gather of up to 48 bytes; in others, a
  // rank waits until the rank before it has begun; over MPI, and in calls that do not block, one
  // message more per call.
  void check_collectives(bool yes);

  // Ends the whole job: launch() throws AbortError with this rank of the world and the code, and
  // under MPI its launcher exits with the code. Does not return. throws: AbortError for launch() to
  // pass on, if this is the only rank.
  [[noreturn]] void abort(int code);

  // For simulated machines, see LaunchOptions::machine; elsewhere the clock is real, and compute()
  // does nothing. now: seconds since some moment. compute: what the rank has done since it last
  // said so.
  double now() { return transport_->now(); }
  void compute(const Work& work) { transport_->compute(work); }

  // Says what this rank is doing, for the message if it dies. text: of static storage.
  void set_phase(const char* text) { transport_->set_phase(text); }

  Transport& transport() { return *transport_; }
  Group& group() { return *group_; }  // for collectives

 private:
  template <class T>
  Label label(int tag) const {
    if (tag < 0 || tag > kMostTag) throw_bad_tag(tag);
    return {tag, type_code<T>()};
  }
  template <class T>
  Label source_label(int tag) const {
    return tag == any_tag ? Label{tag, type_code<T>()} : label<T>(tag);
  }
  int checked_peer(int rank) const {
    if (rank < 0 || rank >= size()) throw_bad_rank(rank);
    return rank;
  }
  int checked_source(int rank) const { return rank == any_source ? rank : checked_peer(rank); }
  [[noreturn]] void throw_bad_rank(int rank) const;
  [[noreturn]] static void throw_bad_tag(int tag);
  Arrival arrival_of_next(int from, const Label& label);
  [[noreturn]] void throw_not_one(const Received& received) const;

  template <class T>
  Received received(const Arrival& arrival) const {
    return internal::received(arrival, sizeof(T), rank());
  }

  std::shared_ptr<Group> group_;
  Transport* transport_;  // of the group
};

}  // namespace tabane::comm
