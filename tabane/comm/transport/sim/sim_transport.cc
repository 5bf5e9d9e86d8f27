#include "tabane/comm/transport/sim/sim_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tabane/comm/transport/sim/world.h"

namespace tabane::comm::sim {
namespace {

// Of the network's own broadcast, from -3 on: see kSplitTag.
constexpr int kBroadcastTag = -3;

using Rank = World::Rank;

Bytes copy_of(std::span<const std::byte> bytes) {
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

// What a transport, its collectives and its receives share, which may outlive it.
struct Place {
  World& world;
  std::shared_ptr<GroupState> group;
  int rank;  // in the group

  int in_world(int of) const { return group->members[static_cast<std::size_t>(of)]; }
  Rank& self() const { return world.rank(in_world(rank)); }
  const Machine& machine() const { return world.machine; }
  int size() const { return static_cast<int>(group->members.size()); }

  void send(int to, const Label& label, const Bytes& bytes, const Law& latency) const {
    At call{static_cast<double>(bytes->size()), size()};
    call.hops = machine().hops(in_world(rank), in_world(to));
    double at = self().now;
    if (label.tag == kComparisonTag) {
      at = 0;
    } else if (!is_free(label.tag)) {
      at += latency.at(call);
    }
    world.put(self(), in_world(to),
              {.group = group->id,
               .arrival = {rank, label.tag, label.type, bytes->size()},
               .bytes = bytes,
               .at = at,
               .path = {}});
  }
  Message take(int from, const Label& label) const {
    PendingReceive receive{group->id, from, label, {}};
    world.begin(self(), receive);
    world.finish(self(), *group, receive);
    return std::move(*receive.message);
  }
  // After a message was taken.
  void receive(const Message& message, const Law& law) const {
    if (is_free(message.arrival.tag)) return;
    self().spend(Activity::receive, law.at({static_cast<double>(message.arrival.bytes), size()}));
  }
};

class SimReceive : public Pending {
 public:
  SimReceive(Place place, int from, const Label& label, std::span<std::byte> into)
      : place_(std::move(place)), receive_{place_.group->id, from, label, {}}, into_(into) {
    place_.world.begin(place_.self(), receive_);
  }
  ~SimReceive() override {
    if (complete_) return;
    wait_unless_thrown();
    place_.world.cancel(place_.self(), receive_);
  }

  bool test() override {
    if (complete_) return true;
    place_.world.throw_if_failed();
    if (!place_.world.is_there(place_.self(), *place_.group, receive_)) return false;
    wait();
    return true;
  }
  void wait() override {
    if (std::exchange(complete_, true)) return;
    place_.world.finish(place_.self(), *place_.group, receive_);
    const Arrival& got = receive_.message->arrival;
    check_fits({got.source, got.type, got.bytes}, {place_.rank, receive_.label.type, into_.size()},
               got.tag);
    copy(*receive_.message->bytes, into_);
    place_.receive(*receive_.message, place_.machine().receive_copy);
    arrival = got;
  }
  void wait_until(const std::function<bool()>& ready) override {
    place_.world.wait(place_.self(), {place_.group.get(), receive_.from, receive_.label.tag}, true,
                      nullptr, [&](bool) { return ready(); });
  }

 private:
  Place place_;
  PendingReceive receive_;
  std::span<std::byte> into_;
  bool complete_ = false;
};

class SimCollectives : public NativeCollectives {
 public:
  explicit SimCollectives(Place place) : place_(std::move(place)) {}

  bool offers(Kind kind) const override {
    static constexpr std::pair<Kind, Law Machine::*> kLaws[] = {
        {Kind::barrier, &Machine::barrier}, {Kind::broadcast, &Machine::broadcast_latency},
        {Kind::reduce, &Machine::sum},      {Kind::all_reduce, &Machine::sum},
        {Kind::gather, &Machine::gather},   {Kind::scatter, &Machine::scatter}};
    return std::ranges::any_of(kLaws, [&](const auto& one) {
      return one.first == kind && (machine().*one.second).is_given();
    });
  }

  void barrier() override {
    meet(Kind::barrier, any_source, 0, {}, [&](std::span<Part>) {
      return machine().barrier.at({0, size()});
    });
  }

  // The root goes on when the network has taken its bytes. The others need as long for theirs, but
  // have them no sooner than they arrive.
  void broadcast(std::span<std::byte> bytes, int root) override {
    const Label label{kBroadcastTag, {}};
    Rank& self = place_.self();
    const double occupied =
        machine().broadcast_occupancy.at({static_cast<double>(bytes.size()), size()});
    if (place_.rank == root) {
      place_.world.throw_if_failed();
      const Bytes sent = copy_of(bytes);
      for (int rank = 0; rank < size(); ++rank) {
        if (rank != root) place_.send(rank, label, sent, machine().broadcast_latency);
      }
      self.spend(Activity::collective, occupied);
      return;
    }
    self.spend(Activity::collective, occupied);
    const Message message = place_.take(root, label);
    check_fits({root, {}, message.bytes->size()}, {place_.rank, {}, bytes.size()}, kBroadcastTag);
    copy(*message.bytes, bytes);
  }

  bool reduce(std::span<std::byte> values, const Combine& combine, int root) override {
    return combined(Kind::reduce, values, combine, root);
  }
  bool all_reduce(std::span<std::byte> values, const Combine& combine) override {
    return combined(Kind::all_reduce, values, combine, any_source);
  }

  void gather(std::span<const std::byte> block, std::span<std::byte> all, int root,
              bool cyclic) override {
    const bool is_fine = cyclic && machine().gather_cyclic.is_given();
    meet(Kind::gather, root, block.size(), {block, all}, [&](std::span<Part> parts) {
      const std::span<std::byte> to = parts[static_cast<std::size_t>(root)].out;
      for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        copy(parts[rank].in, to.subspan(rank * block.size()));
      }
      return (is_fine ? machine().gather_cyclic : machine().gather).at(of_all(block.size()));
    });
  }
  void scatter(std::span<const std::byte> all, std::span<std::byte> block, int root) override {
    meet(Kind::scatter, root, block.size(), {all, block}, [&](std::span<Part> parts) {
      const std::span<const std::byte> from = parts[static_cast<std::size_t>(root)].in;
      for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        copy(from.subspan(rank * block.size(), block.size()), parts[rank].out);
      }
      return machine().scatter.at(of_all(block.size()));
    });
  }
  void all_gather(std::span<const std::byte>, std::span<std::byte>) override {}  // not offered
  void all_to_all(std::span<const std::byte>, std::span<std::byte>) override {}  // not offered

 private:
  const Machine& machine() const { return place_.machine(); }
  int size() const { return place_.size(); }
  At of_all(std::size_t bytes) const { return {static_cast<double>(bytes) * size(), size()}; }

  // Of one value each. The ranks are combined in order; the machine goes along rows, then columns.
  bool combined(Kind kind, std::span<std::byte> values, const Combine& combine, int root) {
    if (values.size() != combine.element_bytes) return false;
    const bool is_located =
        combine.operation == Operation::min_loc || combine.operation == Operation::max_loc;
    const Law& law = is_located && machine().max.is_given() ? machine().max : machine().sum;
    meet(kind, root, values.size(), {values, values}, [&](std::span<Part> parts) {
      std::vector<std::byte> result(parts[0].in.begin(), parts[0].in.end());
      for (std::size_t rank = 1; rank < parts.size(); ++rank) {
        combine.apply(result.data(), parts[rank].in.data(), 1);
      }
      for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        if (root == any_source || static_cast<int>(rank) == root) copy(result, parts[rank].out);
      }
      return cost(law, static_cast<double>(values.size()));
    });
    return true;
  }

  double cost(const Law& law, double bytes) const {
    const GroupState& group = *place_.group;
    if (group.rows * group.columns != size()) return law.at({bytes, size()});  // no rectangle
    double sum = 0;
    for (const int ranks : {group.columns, group.rows}) {
      if (ranks > 1) sum += law.at({bytes, ranks});
    }
    return sum;
  }

  static std::string describe(Kind kind, int root, std::size_t bytes) {
    if (kind == Kind::barrier) return std::string(name_of(kind));
    return fmt::format("{} of {} bytes{}", name_of(kind), bytes,
                       root == any_source ? "" : fmt::format(", root {}", root));
  }

  // Returns when all have come. The last one calls work() for all, which returns what it costs.
  // root, bytes: see GroupState; the same on all ranks.
  template <class DoWork>
  void meet(Kind kind, int root, std::size_t bytes, Part part, const DoWork& work) {
    GroupState& group = *place_.group;
    Rank& self = place_.self();
    place_.world.throw_if_failed();
    if (group.come > 0 && (group.kind != kind || group.root != root || group.bytes != bytes)) {
      throw MessageError(
          "ranks are in different collectives: rank {} calls {}; rank {} calls {}", place_.rank,
          describe(kind, root, bytes),
          std::ranges::find(group.parts, true, &Part::has_come) - group.parts.begin(),
          describe(group.kind, group.root, group.bytes));
    }
    group.kind = kind;
    group.root = root;
    group.bytes = bytes;
    self.account(Activity::wait);
    if (group.come == 0 || self.now > group.last) {
      group.last = self.now;
      group.path = self.path;
    }
    part.has_come = true;
    group.parts[static_cast<std::size_t>(place_.rank)] = part;
    if (++group.come < size()) {
      const std::uint64_t before = group.ended;
      place_.world.wait(self, {.group = &group, .is_collective = true}, false, nullptr,
                        [&](bool) { return group.ended != before; });
    } else {
      group.cost = work(std::span<Part>(group.parts));
      group.end = group.last + group.cost;
      group.path_to_end = group.path;
      for (Part& one : group.parts) one = {};
      group.come = 0;
      ++group.ended;
      for (const int member : group.members) {
        place_.world.wake(place_.world.rank(member), group.end);
      }
    }
    self.now = std::max(self.now, group.end);  // an event before it may have ended the wait
    self.account(Activity::wait, group.end - group.cost);
    self.account(Activity::collective, group.end);
    self.follow(group.path_to_end, Activity::collective);
  }

  Place place_;
};

class SimTransport : public Transport {
 public:
  explicit SimTransport(Place place)
      : Transport(place.rank, place.size()), place_(place), collectives_(std::move(place)) {}

  std::string_view name() const override { return "sim"; }

  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    place_.world.throw_if_failed();
    place_.send(to, label, copy_of(bytes), machine().send_latency);
    if (is_free(label.tag)) return;
    const At call{static_cast<double>(bytes.size()), size()};
    self().spend(Activity::send, machine().send_occupancy.at(call));
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    send(to, label, bytes);
    return std::make_unique<CompletedSend>();
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    SimReceive receive(place_, from, label, into);
    receive.wait();
    return receive.arrival;
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    return std::make_unique<SimReceive>(place_, from, label, into);
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    Message message = place_.take(from, label);
    const Arrival& got = message.arrival;
    check_fits({got.source, got.type, got.bytes}, {rank(), label.type, got.bytes}, got.tag);
    place_.receive(message, machine().receive_pointer);
    return std::make_unique<KeptParcel<Bytes>>(got, *message.bytes, std::move(message.bytes));
  }
  bool probe(int from, const Label& label, Arrival& arrival) override {
    place_.world.throw_if_failed();
    const Message* const found = place_.world.find(self(), *place_.group, from, label);
    if (found != nullptr) arrival = found->arrival;
    return found != nullptr;
  }

  void progress() override { self().backgrounds.progress(); }
  void wait_until(int peer, const std::function<bool()>& ready) override {
    place_.world.wait(self(), {.group = place_.group.get(), .peer = peer}, true, nullptr,
                      [&](bool) { return ready(); });
  }
  void enlist(Background& background) override { self().backgrounds.enlist(background); }
  void strike(Background& background) override { self().backgrounds.strike(background); }

  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest&) override {
    const auto own = std::ranges::find(members, rank()) - members.begin();
    return std::make_unique<SimTransport>(
        Place{place_.world, place_.world.join(*place_.group, self().number, members),
              static_cast<int>(own)});
  }
  NativeCollectives* collectives() override { return &collectives_; }

  double now() override {
    self().spend(Activity::compute, machine().clock.at({0, size()}));
    return self().now * 1e-6;
  }
  void compute(const Work& work) override {
    place_.world.check();
    const auto& laws = machine().compute;
    std::string_view kind = work.kind;
    auto found = laws.find(kind);
    for (; found == laws.end(); found = laws.find(kind)) {  // of product.ldlt, of product, of all
      if (kind.empty()) return;
      kind = kind.substr(0, kind.find('.') == kind.npos ? 0 : kind.rfind('.'));
    }
    self().spend(Activity::compute, found->second.at({work.bytes, size(), 0, work.operations}));
  }

  void check_alive() override { place_.world.throw_if_failed(); }
  void abort_job(int code) override { throw AbortError(self().number, code); }
  void set_phase(const char* text) override { self().phase.store(text); }
  std::atomic<const char*>& call() override { return self().call; }

  World& world() const { return place_.world; }

 private:
  Rank& self() const { return place_.self(); }
  const Machine& machine() const { return place_.machine(); }

  Place place_;
  SimCollectives collectives_;
};

}  // namespace

void run(const Machine& machine,
         const std::function<void(int rank, std::unique_ptr<Transport> transport)>& f,
         int& failed) {
  World world(machine);
  try {
    world.run([&](int rank) {
      f(rank, std::make_unique<SimTransport>(Place{world, world.all(), rank}));
    });
  } catch (...) {
    failed = world.failed();
    throw;
  }
}

}  // namespace tabane::comm::sim

namespace tabane::comm {

void record_run(Transport& transport, SimulatedRun& run) {
  if (auto* const simulated = dynamic_cast<sim::SimTransport*>(&transport)) {
    simulated->world().record(run);
  }
}

void check_run(Transport& transport, std::function<void()> check) {
  if (auto* const simulated = dynamic_cast<sim::SimTransport*>(&transport)) {
    simulated->world().check_with(std::move(check));
  }
}

}  // namespace tabane::comm
