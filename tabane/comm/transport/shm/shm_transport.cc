// Messages through memory that the ranks of one launch share.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tabane/comm/transport/shm/endpoint.h"
#include "tabane/comm/transport/shm/group_memory.h"

namespace tabane::comm::shm {
namespace {

// The ranks of a group.
struct Members {
  // self: in the world, as world_ranks.
  Members(std::vector<int> world_ranks, int ranks_in_world, int self_in_world)
      : in_world(std::move(world_ranks)), in_group(static_cast<std::size_t>(ranks_in_world), -1) {
    for (std::size_t i = 0; i < in_world.size(); ++i) {
      in_group[static_cast<std::size_t>(in_world[i])] = static_cast<int>(i);
    }
    self = in_group[static_cast<std::size_t>(self_in_world)];
  }

  std::vector<int> in_world;  // by rank in the group
  std::vector<int> in_group;  // by rank in the world; -1: not a member
  int self;                   // in the group
};

// Of what was received, or found.
Arrival arrival_of(const Receive& receive, const Members& members) {
  return {members.in_group[static_cast<std::size_t>(receive.from)],
          receive.envelope.tag,
          {receive.envelope.type},
          receive.envelope.bytes};
}

// throws: MessageError if what was received does not fit.
Arrival fitting_arrival_of(const Receive& receive, const Members& members) {
  const Arrival arrival = arrival_of(receive, members);
  if (!matches(receive)) [[unlikely]] {
    const std::size_t room = receive.keeps ? arrival.bytes : receive.into.size();
    check_fits({arrival.source, arrival.type, arrival.bytes}, {members.self, {receive.type}, room},
               arrival.tag);
  }
  return arrival;
}

class ShmParcel : public Parcel {
 public:
  ShmParcel(std::shared_ptr<Endpoint> endpoint, const Arrival& arrived, Stored stored)
      : endpoint_(std::move(endpoint)), stored_(std::move(stored)) {
    bytes = stored_.bytes;
    arrival = arrived;
  }
  ~ShmParcel() override { endpoint_->release(stored_); }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  Stored stored_;
};

class SendPending : public Pending {
 public:
  SendPending(std::shared_ptr<Endpoint> endpoint, int to, const Envelope& envelope,
              const std::byte* bytes)
      : endpoint_(std::move(endpoint)), send_(std::make_unique<Send>()) {
    send_->to = to;
    send_->envelope = envelope;
    send_->bytes = bytes;
    endpoint_->start(*send_);
  }
  ~SendPending() override {
    wait_unless_thrown();
    endpoint_->abandon(std::move(send_));
  }
  bool test() override { return endpoint_->test(*send_); }
  void wait() override { endpoint_->wait(*send_); }
  void wait_until(const std::function<bool()>& ready) override {
    endpoint_->wait_until(any_source, ready);
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  std::unique_ptr<Send> send_;
};

class ReceivePending : public Pending {
 public:
  // The receive is to be filled in and started.
  ReceivePending(std::shared_ptr<Endpoint> endpoint, std::shared_ptr<const Members> members)
      : endpoint_(std::move(endpoint)), members_(std::move(members)), receive_(*endpoint_) {}
  ~ReceivePending() override { wait_unless_thrown(); }
  OpenReceive& receive() { return receive_; }
  bool test() override {
    if (!endpoint_->test(*receive_)) return false;
    arrival = fitting_arrival_of(*receive_, *members_);
    return true;
  }
  void wait() override {
    receive_.wait();
    arrival = fitting_arrival_of(*receive_, *members_);
  }
  void wait_until(const std::function<bool()>& ready) override {
    endpoint_->wait_until(any_source, ready);
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<const Members> members_;
  OpenReceive receive_;
};

constexpr int kGroupTag = std::numeric_limits<int>::min();

// What the first member tells the others of a new group.
struct GroupNews {
  std::uint64_t context = 0;
  std::uint64_t offset = 0, bytes = 0;  // of its memory; bytes is 0 if there is none
};

// What is asked for; but half of the memory is for the group of all ranks, and of the other half
// each rank can be in four groups with its share.
std::size_t memory_bytes(const World& world, int members, const MemoryRequest& request) {
  const std::size_t half = world.plan().group_bytes / 2;
  const std::size_t share = members == world.ranks()
                                ? half
                                : half * static_cast<std::size_t>(members) /
                                      (4 * static_cast<std::size_t>(world.ranks()));
  return std::min(request.most, std::max(share, request.least));
}

GroupNews make_news(Endpoint& endpoint, int members, const MemoryRequest& request) {
  GroupNews news{.context = endpoint.new_context()};
  if (members == 1) return news;
  for (const std::size_t bytes :
       {memory_bytes(endpoint.world(), members, request), request.least}) {
    const auto offset =
        ShmGroupMemory::allocate(endpoint.world(), static_cast<std::size_t>(members), bytes);
    if (!offset) continue;
    news.offset = *offset;
    news.bytes = bytes;
    break;
  }
  return news;
}

// Returns the news on all members, ranks of the world. parent: context of the group whose messages
// carry them.
GroupNews spread_news(Endpoint& endpoint, std::uint64_t parent, std::span<const int> members,
                      const MemoryRequest& request) {
  GroupNews news;
  const Envelope envelope{parent, kGroupTag, 0, sizeof news};
  if (members.front() == endpoint.rank()) {
    news = make_news(endpoint, static_cast<int>(members.size()), request);
    for (const int other : members.subspan(1)) {
      endpoint.send(other, envelope, reinterpret_cast<const std::byte*>(&news));
    }
  } else {
    OpenReceive receive(endpoint);
    receive->context = parent;
    receive->source = members.front();
    receive->tag = kGroupTag;
    receive->into = std::as_writable_bytes(std::span(&news, 1));
    receive.start_and_wait();
  }
  return news;
}

// A group of these ranks of the world, in the process of one of them.
std::unique_ptr<Transport> join(const std::shared_ptr<Endpoint>& endpoint, std::uint64_t parent,
                                std::vector<int> world_ranks, const MemoryRequest& request);

class ShmTransport : public Transport {
 public:
  // context: tells groups apart in the world; the first member's rank is in it.
  ShmTransport(std::shared_ptr<Endpoint> endpoint, std::shared_ptr<const Members> members,
               std::uint64_t context, std::unique_ptr<GroupMemory> memory)
      : Transport(members->self, static_cast<int>(members->in_world.size())),
        endpoint_(std::move(endpoint)),
        members_(std::move(members)),
        context_(context),
        memory_(std::move(memory)) {}

  std::string_view name() const override { return "shm"; }
  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    endpoint_->send(in_world(to), envelope(label, bytes.size()), bytes.data());
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    OpenReceive receive(*endpoint_);
    aim(*receive, from, label);
    receive->into = into;
    receive.start_and_wait();
    return fitting_arrival_of(*receive, *members_);
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    OpenReceive receive(*endpoint_);
    aim(*receive, from, label);
    receive->keeps = true;
    receive.start_and_wait();
    return std::make_unique<ShmParcel>(endpoint_, fitting_arrival_of(*receive, *members_),
                                       std::exchange(receive->stored, {}));
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    return std::make_unique<SendPending>(endpoint_, in_world(to), envelope(label, bytes.size()),
                                         bytes.data());
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    auto pending = std::make_unique<ReceivePending>(endpoint_, members_);
    aim(*pending->receive(), from, label);
    pending->receive()->into = into;
    pending->receive().start();
    return pending;
  }
  bool probe(int from, const Label& label, Arrival& arrival) override {
    Receive pattern;
    aim(pattern, from, label);
    if (!endpoint_->probe(pattern)) return false;
    arrival = arrival_of(pattern, *members_);
    return true;
  }
  void progress() override { endpoint_->progress(false); }
  void wait_until(int peer, const std::function<bool()>& ready) override {
    const std::span<const int> all = members_->in_world;
    endpoint_->wait_until(peer == any_source ? all : all.subspan(static_cast<std::size_t>(peer), 1),
                          ready);
  }
  void enlist(Background& background) override { endpoint_->backgrounds().enlist(background); }
  void strike(Background& background) override { endpoint_->backgrounds().strike(background); }
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest& request) override {
    std::vector<int> world_ranks;
    for (const int member : members) world_ranks.push_back(in_world(member));
    return join(endpoint_, context_, std::move(world_ranks), request);
  }
  GroupMemory* memory() override { return memory_.get(); }
  bool crowded() const override { return world().crowded(); }
  void check_alive() override { world().check_failed(endpoint_->rank()); }
  void abort_job(int code) override { world().abort_job(endpoint_->rank(), code); }
  void set_phase(const char* text) override { world().set_phase(endpoint_->rank(), text); }
  std::atomic<const char*>& call() override { return world().call(endpoint_->rank()); }

 private:
  World& world() const { return endpoint_->world(); }
  int in_world(int rank) const { return members_->in_world[static_cast<std::size_t>(rank)]; }
  Envelope envelope(const Label& label, std::size_t bytes) const {
    return {context_, label.tag, label.type.code, bytes};
  }
  void aim(Receive& receive, int from, const Label& label) const {
    receive.context = context_;
    receive.tag = label.tag;
    receive.type = label.type.code;
    receive.source = from == any_source ? any_source : in_world(from);
    if (from == any_source) receive.sources = members_->in_world;
  }

  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<const Members> members_;
  std::uint64_t context_;
  std::unique_ptr<GroupMemory> memory_;
};

std::unique_ptr<Transport> join(const std::shared_ptr<Endpoint>& endpoint, std::uint64_t parent,
                                std::vector<int> world_ranks, const MemoryRequest& request) {
  const GroupNews news = spread_news(*endpoint, parent, world_ranks, request);
  World& world = endpoint->world();
  std::unique_ptr<GroupMemory> memory;
  if (news.bytes > 0) {
    memory = std::make_unique<ShmGroupMemory>(
        world, endpoint->rank(), world_ranks, news.offset, news.bytes,
        WaitHooks{[self = endpoint.get()] { self->progress(false); },
                  [self = endpoint.get()] { self->backgrounds().look(); }});
  }
  auto members =
      std::make_shared<const Members>(std::move(world_ranks), world.ranks(), endpoint->rank());
  return std::make_unique<ShmTransport>(endpoint, std::move(members), news.context,
                                        std::move(memory));
}

}  // namespace

std::unique_ptr<Transport> make_shm_transport(World& world, int rank,
                                              const MemoryRequest& request) {
  std::vector<int> all(static_cast<std::size_t>(world.ranks()));
  std::iota(all.begin(), all.end(), 0);
  return join(std::make_shared<Endpoint>(world, rank), 0, std::move(all), request);
}

}  // namespace tabane::comm::shm
