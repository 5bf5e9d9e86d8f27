#include "tabane/comm/transport/shm/shm_transport.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tabane::comm::shm {

namespace {

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
    PostedReceive receive(endpoint);
    receive->context = parent;
    receive->source = members.front();
    receive->tag = kGroupTag;
    receive->into = std::as_writable_bytes(std::span(&news, 1));
    receive.start_and_wait();
  }
  return news;
}

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

Members::Members(std::vector<int> world_ranks, int ranks_in_world, int self_in_world)
    : in_world(std::move(world_ranks)), in_group(static_cast<std::size_t>(ranks_in_world), -1) {
  for (std::size_t i = 0; i < in_world.size(); ++i) {
    in_group[static_cast<std::size_t>(in_world[i])] = static_cast<int>(i);
  }
  self = in_group[static_cast<std::size_t>(self_in_world)];
}

std::unique_ptr<Transport> make_shm_transport(World& world, int rank,
                                              const MemoryRequest& request) {
  std::vector<int> all(static_cast<std::size_t>(world.ranks()));
  std::iota(all.begin(), all.end(), 0);
  return join(std::make_shared<Endpoint>(world, rank), 0, std::move(all), request);
}

ShmTransport::ShmTransport(std::shared_ptr<Endpoint> endpoint,
                           std::shared_ptr<const Members> members, Context context,
                           std::unique_ptr<GroupMemory> memory)
    : Transport(members->self, static_cast<int>(members->in_world.size())),
      endpoint_(std::move(endpoint)),
      members_(std::move(members)),
      context_(context),
      memory_(std::move(memory)) {}

void ShmTransport::send(int to, const Label& label, std::span<const std::byte> bytes) {
  endpoint_->send(in_world(to), envelope(label, bytes.size()), bytes.data());
}

void ShmTransport::aim(Receive& receive, int from, const Label& label) const {
  receive.context = context_;
  receive.tag = label.tag;
  receive.type = label.type.code;
  receive.source = from == any_source ? any_source : in_world(from);
  if (from == any_source) receive.sources = members_->in_world;
}

Arrival ShmTransport::recv(int from, const Label& label, std::span<std::byte> into) {
  PostedReceive receive(*endpoint_);
  aim(*receive, from, label);
  receive->into = into;
  receive.start_and_wait();
  return arrival_of(*receive, *members_);
}

std::unique_ptr<Parcel> ShmTransport::recv_parcel(int from, const Label& label) {
  PostedReceive receive(*endpoint_);
  aim(*receive, from, label);
  receive->keeps = true;
  receive.start_and_wait();
  return std::make_unique<ShmParcel>(endpoint_, arrival_of(*receive, *members_),
                                     std::exchange(receive->stored, {}));
}

std::unique_ptr<Pending> ShmTransport::isend(int to, const Label& label,
                                             std::span<const std::byte> bytes) {
  return std::make_unique<SendPending>(endpoint_, in_world(to), envelope(label, bytes.size()),
                                       bytes.data());
}

std::unique_ptr<Pending> ShmTransport::irecv(int from, const Label& label,
                                             std::span<std::byte> into) {
  auto pending = std::make_unique<ReceivePending>(endpoint_, members_);
  aim(*pending->receive(), from, label);
  pending->receive()->into = into;
  pending->receive().start();
  return pending;
}

bool ShmTransport::probe(int from, const Label& label, Arrival& arrival) {
  Receive pattern;
  aim(pattern, from, label);
  if (!endpoint_->probe(pattern)) return false;
  arrival = {members_->in_group[static_cast<std::size_t>(pattern.from)],
             pattern.envelope.tag,
             {pattern.envelope.type},
             pattern.envelope.bytes};
  return true;
}

std::unique_ptr<Transport> ShmTransport::make_group(std::span<const int> members,
                                                    const MemoryRequest& request) {
  std::vector<int> world_ranks;
  world_ranks.reserve(members.size());
  for (const int member : members) world_ranks.push_back(in_world(member));
  return join(endpoint_, context_, std::move(world_ranks), request);
}

void ShmTransport::wait_until(int peer, const std::function<bool()>& ready) {
  const std::span<const int> all = members_->in_world;
  endpoint_->wait_until(peer == any_source ? all : all.subspan(static_cast<std::size_t>(peer), 1),
                        ready);
}

void ShmTransport::abort_job(int code) { endpoint_->world().abort_job(endpoint_->rank(), code); }

void ShmTransport::set_phase(const char* text) {
  endpoint_->world().set_phase(endpoint_->rank(), text);
}

Arrival arrival_of(const Receive& receive, const Members& members) {
  const int source = members.in_group[static_cast<std::size_t>(receive.from)];
  if (!matches(receive)) [[unlikely]] {
    const std::size_t room = receive.keeps ? receive.envelope.bytes : receive.into.size();
    check_fits({source, {receive.envelope.type}, receive.envelope.bytes},
               {members.self, {receive.type}, room}, receive.envelope.tag);
  }
  return {source, receive.envelope.tag, {receive.envelope.type}, receive.envelope.bytes};
}

SendPending::SendPending(std::shared_ptr<Endpoint> endpoint, int to, const Envelope& envelope,
                         const std::byte* bytes)
    : endpoint_(std::move(endpoint)), send_(std::make_unique<Send>()) {
  send_->to = to;
  send_->envelope = envelope;
  send_->bytes = bytes;
  endpoint_->start(*send_);
}

SendPending::~SendPending() {
  // While an exception takes the rank away, its peers may be waiting for it.
  if (std::uncaught_exceptions() == exceptions_) {
    try {
      wait();
    } catch (...) {  // The rank hears of it in its next call.
    }
  }
  endpoint_->abandon(std::move(send_));
}

bool SendPending::test() { return endpoint_->test(*send_); }

ReceivePending::ReceivePending(std::shared_ptr<Endpoint> endpoint,
                               std::shared_ptr<const Members> members)
    : endpoint_(std::move(endpoint)), members_(std::move(members)), receive_(*endpoint_) {}

ReceivePending::~ReceivePending() {
  if (std::uncaught_exceptions() != exceptions_) return;
  try {
    wait();
  } catch (...) {  // The rank hears of it in its next call.
  }
}

bool ReceivePending::test() {
  if (!endpoint_->test(*receive_)) return false;
  arrival = arrival_of(*receive_, *members_);
  return true;
}

void ReceivePending::wait() {
  receive_.wait();
  arrival = arrival_of(*receive_, *members_);
}

}  // namespace tabane::comm::shm
