#include "tabane/comm/transport/conventional.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::comm {

SocketQueues::SocketQueues(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
      throw core::SystemError("socketpair", "for the queue of a rank", errno);
    queues_.push_back({core::Descriptor(ends[0]), core::Descriptor(ends[1])});
  }
}

namespace {

// The kernel keeps no packet in one piece that is much longer.
constexpr std::size_t kPacketBytes = 16 * 1024;
constexpr int kPollMilliseconds = 10;  // then it looks whether ranks are lost

using Bytes = std::vector<std::byte>;

// What is before the bytes of each packet.
struct PacketHead {
  std::uint64_t context = 0;  // of the group
  std::uint64_t total = 0;    // bytes of the message
  std::int32_t source = 0;    // in the group
  std::int32_t sender = 0;    // the same rank in the world
  std::int32_t tag = 0;
  TypeCode type;
  std::uint32_t number = 0;  // of the sender's messages: a background sends some within others
};

struct Message {
  PacketHead head;
  Bytes bytes;

  Arrival arrival() const { return {head.source, head.tag, head.type, head.total}; }
  // throws: MessageError unless rank `self` may receive it as that type, into that many bytes.
  void require_fit(int self, TypeCode type, std::size_t room) const {
    check_fits({head.source, head.type, head.total}, {self, type, room}, head.tag);
  }
};

struct Posted {
  std::uint64_t context;
  int from;
  Label label;
  std::optional<Message> message = {};

  bool fits(const PacketHead& head) const {
    return head.context == context && (from == any_source || from == head.source) &&
           (label.tag == any_tag ? head.tag >= 0 : head.tag == label.tag);
  }
};

// A rank's end of all queues, which its groups share.
class SocketEndpoint : public Background {
 public:
  SocketEndpoint(std::shared_ptr<Transport> world, const SocketQueues& queues)
      : world_(std::move(world)), queues_(queues) {
    world_->enlist(*this);
  }
  ~SocketEndpoint() override { world_->strike(*this); }

  // No other group has it.
  std::uint64_t new_context() {
    return static_cast<std::uint64_t>(world_->rank()) << 32 | ++contexts_;
  }
  // Waits until the queue has taken all; what comes for this rank it takes meanwhile.
  void send(int to, PacketHead head, std::span<const std::byte> bytes);
  void post(Posted& posted);
  void cancel(Posted& posted) { std::erase(posted_, &posted); }
  const Message* look(const Posted& pattern);  // null: it is not there
  void progress() override {
    while (receive_packet()) continue;
  }
  // Whether it is ready, after some progress. peers: in the world, one of which will bring it
  // about. throws: core::LostError if a rank is lost, or if it is not ready and all peers have
  // returned.
  bool test(std::span<const int> peers, const std::function<bool()>& ready);
  void wait(std::span<const int> peers, const std::function<bool()>& ready) {
    wait({queues_.reading(world_->rank()), POLLIN, 0}, peers, ready);
  }

 private:
  std::list<Message>::iterator find(const Posted& pattern);
  // Sleeps while the other end has nothing either.
  void wait(pollfd other, std::span<const int> peers, const std::function<bool()>& ready);
  std::exception_ptr loss_of(int peer);  // null: it has not returned
  bool try_send(int to, const PacketHead& head, std::span<const std::byte> bytes);
  bool receive_packet();
  void arrived(Message message);

  std::shared_ptr<Transport> world_;
  const SocketQueues& queues_;
  std::uint64_t contexts_ = 0;
  std::uint32_t messages_ = 0;
  std::map<std::pair<int, std::uint32_t>, Message> parts_;  // without some of their packets
  std::list<Message> arrived_;                              // that nobody waits for
  std::vector<Posted*> posted_;
  Bytes packet_ = Bytes(sizeof(PacketHead) + kPacketBytes);
};

void SocketEndpoint::send(int to, PacketHead head, std::span<const std::byte> bytes) {
  if (to == world_->rank()) return arrived({head, {bytes.begin(), bytes.end()}});
  head.number = ++messages_;
  do {
    const auto piece = bytes.first(std::min(bytes.size(), kPacketBytes));
    bytes = bytes.subspan(piece.size());
    wait({queues_.writing(to), POLLOUT, 0}, {&to, 1}, [&] { return try_send(to, head, piece); });
  } while (!bytes.empty());
}

bool SocketEndpoint::try_send(int to, const PacketHead& head, std::span<const std::byte> bytes) {
  iovec parts[] = {{const_cast<PacketHead*>(&head), sizeof head},
                   {const_cast<std::byte*>(bytes.data()), bytes.size()}};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  if (sendmsg(queues_.writing(to), &packet, MSG_NOSIGNAL) >= 0) return true;
  if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return false;
  throw core::SystemError("sendmsg", "to the queue of a rank", errno);
}

bool SocketEndpoint::receive_packet() {
  const ssize_t got = ::recv(queues_.reading(world_->rank()), packet_.data(), packet_.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got < static_cast<ssize_t>(sizeof(PacketHead)))
    throw core::SystemError("recv", "from the queue of a rank", got < 0 ? errno : EPROTO);
  PacketHead head;
  std::memcpy(&head, packet_.data(), sizeof head);
  const std::pair<int, std::uint32_t> place{head.sender, head.number};
  Message& message = parts_[place];
  message.head = head;
  message.bytes.insert(message.bytes.end(), packet_.begin() + sizeof head, packet_.begin() + got);
  if (message.bytes.size() < head.total) return true;
  Message whole = std::move(message);
  parts_.erase(place);
  arrived(std::move(whole));
  return true;
}

void SocketEndpoint::arrived(Message message) {
  const auto found = std::ranges::find_if(
      posted_, [&](const Posted* posted) { return posted->fits(message.head); });
  if (found == posted_.end()) return arrived_.push_back(std::move(message));
  (*found)->message = std::move(message);
  posted_.erase(found);
}

std::list<Message>::iterator SocketEndpoint::find(const Posted& pattern) {
  return std::ranges::find_if(arrived_,
                              [&](const Message& message) { return pattern.fits(message.head); });
}

const Message* SocketEndpoint::look(const Posted& pattern) {
  const auto found = find(pattern);
  return found == arrived_.end() ? nullptr : &*found;
}

void SocketEndpoint::post(Posted& posted) {
  progress();
  const auto found = find(posted);
  if (found == arrived_.end()) return posted_.push_back(&posted);
  posted.message = std::move(*found);
  arrived_.erase(found);
}

std::exception_ptr SocketEndpoint::loss_of(int peer) {
  try {
    Arrival none;
    world_->probe(peer, {world_->most_tag(), {}}, none);
    return nullptr;
  } catch (const core::LostError&) {
    return std::current_exception();
  }
}

bool SocketEndpoint::test(std::span<const int> peers, const std::function<bool()>& ready) {
  progress();
  if (ready()) return true;
  world_->check_alive();
  std::exception_ptr loss;
  for (const int peer : peers) {
    if (peer == world_->rank() && peers.size() > 1) continue;
    if (!(loss = loss_of(peer))) return false;
  }
  progress();  // what they sent before that
  if (ready()) return true;
  if (loss) std::rethrow_exception(loss);
  return false;
}

void SocketEndpoint::wait(pollfd other, std::span<const int> peers,
                          const std::function<bool()>& ready) {
  for (;;) {
    progress();
    if (ready()) return;
    world_->progress();
    world_->check_alive();
    if (ready()) return;
    pollfd ends[] = {{queues_.reading(world_->rank()), POLLIN, 0}, other};
    if (poll(ends, 2, kPollMilliseconds) == 0 && test(peers, ready)) return;
  }
}

class SocketTransport : public ForwardingTransport {
 public:
  SocketTransport(std::shared_ptr<Transport> below, std::shared_ptr<SocketEndpoint> endpoint,
                  std::vector<int> world_ranks, std::uint64_t context)
      : ForwardingTransport(std::move(below)),
        endpoint_(std::move(endpoint)),
        world_ranks_(std::move(world_ranks)),
        context_(context) {}

  std::string_view name() const override { return "sockets"; }
  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    check_alive();
    endpoint_->send(in_world(to),
                    {context_, bytes.size(), rank(), in_world(rank()), label.tag, label.type},
                    bytes);
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    send(to, label, bytes);
    return std::make_unique<CompletedSend>();
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    SocketReceive receive(*this, from, label, into);
    receive.wait();
    return receive.arrival;
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    Posted posted{context_, from, label};
    endpoint_->post(posted);
    Message message = take(posted);
    message.require_fit(rank(), label.type, message.bytes.size());
    return std::make_unique<KeptParcel<Bytes>>(message.arrival(), message.bytes,
                                               std::move(message.bytes));
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    return std::make_unique<SocketReceive>(*this, from, label, into);
  }
  bool probe(int from, const Label& label, Arrival& arrival) override {
    check_alive();
    const Posted wanted{context_, from, label};
    const Message* found = nullptr;
    if (!arrives(from, [&] { return (found = endpoint_->look(wanted)) != nullptr; })) return false;
    arrival = found->arrival();
    return true;
  }
  void progress() override {
    endpoint_->progress();
    below().progress();
  }
  void wait_until(int peer, const std::function<bool()>& ready) override {
    endpoint_->wait(peers(peer), ready);
  }
  // The first member counts its groups, so that no two of them have one context.
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override {
    std::unique_ptr<Transport> group = below().make_group(members, request);
    std::vector<int> world_ranks;
    for (const int member : members) world_ranks.push_back(in_world(member));
    std::uint64_t context = endpoint_->new_context();
    const Label label{kSplitTag, type_code<std::uint64_t>()};
    const auto bytes = std::as_writable_bytes(std::span(&context, 1));
    if (group->rank() != 0) group->recv(0, label, bytes);
    for (int rank = 1; rank < group->size() && group->rank() == 0; ++rank)
      group->send(rank, label, bytes);
    return std::make_unique<SocketTransport>(std::move(group), endpoint_, std::move(world_ranks),
                                             context);
  }

 private:
  class SocketReceive : public Pending {
   public:
    SocketReceive(SocketTransport& transport, int from, const Label& label,
                  std::span<std::byte> into)
        : transport_(transport), posted_{transport.context_, from, label}, into_(into) {
      transport_.endpoint_->post(posted_);
    }
    ~SocketReceive() override {
      if (!is_done_) wait_unless_thrown();
      transport_.endpoint_->cancel(posted_);
    }
    bool test() override {
      if (is_done_) return true;
      transport_.progress();
      if (!transport_.arrives(posted_.from, [&] { return posted_.message.has_value(); }))
        return false;
      wait();
      return true;
    }
    void wait() override {
      if (std::exchange(is_done_, true)) return;
      const Message message = transport_.take(posted_);
      message.require_fit(transport_.rank(), posted_.label.type, into_.size());
      std::ranges::copy(message.bytes, into_.begin());
      arrival = message.arrival();
    }
    void wait_until(const std::function<bool()>& ready) override {
      transport_.wait_until(posted_.from, ready);
    }

   private:
    SocketTransport& transport_;
    Posted posted_;
    std::span<std::byte> into_;
    bool is_done_ = false;
  };

  int in_world(int rank) const { return world_ranks_[static_cast<std::size_t>(rank)]; }
  // Those in the world that `from` may be.
  std::span<const int> peers(int from) const {
    if (from == any_source) return world_ranks_;
    return std::span(world_ranks_).subspan(static_cast<std::size_t>(from), 1);
  }
  // Whether it is there, which `from` sends. throws: see SocketEndpoint::test().
  bool arrives(int from, const std::function<bool()>& is_there) {
    // Of any source: this rank itself may still send one.
    return endpoint_->test(from == any_source ? std::span<const int>() : peers(from), is_there);
  }
  // Waits for a message that is posted; whatever happens, it is not posted afterwards.
  Message take(Posted& posted) {
    const AtEnd cancel([&] { endpoint_->cancel(posted); });
    endpoint_->wait(peers(posted.from), [&] { return posted.message.has_value(); });
    return std::move(*posted.message);
  }

  std::shared_ptr<SocketEndpoint> endpoint_;
  std::vector<int> world_ranks_;
  std::uint64_t context_;
};

// --- buffered ---

class BufferedSend : public Pending {
 public:
  BufferedSend(Transport& below, int to, const Label& label, std::span<const std::byte> bytes)
      : buffer_(bytes.begin(), bytes.end()), sent_(below.isend(to, label, buffer_)) {}
  bool test() override { return sent_->test(); }
  void wait() override { sent_->wait(); }
  void wait_until(const std::function<bool()>& ready) override { sent_->wait_until(ready); }

 private:
  const Bytes buffer_;
  std::unique_ptr<Pending> sent_;
};

class BufferedTransport : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  std::string_view name() const override { return "buffered"; }
  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    below().send(to, label, Bytes(bytes.begin(), bytes.end()));
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    return std::make_unique<BufferedSend>(below(), to, label, bytes);
  }
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override {
    return buffered_transport(below().make_group(members, request));
  }
};

}  // namespace

std::unique_ptr<Transport> socket_transport(std::unique_ptr<Transport> world,
                                            const SocketQueues& queues) {
  std::vector<int> all(static_cast<std::size_t>(world->size()));
  std::iota(all.begin(), all.end(), 0);
  const std::shared_ptr<Transport> below = std::move(world);
  return std::make_unique<SocketTransport>(below, std::make_shared<SocketEndpoint>(below, queues),
                                           std::move(all), 0);
}

std::unique_ptr<Transport> buffered_transport(std::unique_ptr<Transport> below) {
  return std::make_unique<BufferedTransport>(std::move(below));
}

}  // namespace tabane::comm
