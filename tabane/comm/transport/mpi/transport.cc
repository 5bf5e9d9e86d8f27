// The messages of one group over MPI. It has two communicators, so that any_tag never takes a
// collective's message.
#include "tabane/comm/transport/transport.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/comm/transport/mpi/engine.h"
#include "tabane/comm/transport/mpi/outbox.h"
#include "tabane/comm/transport/mpi/requests.h"
#include "tabane/comm/transport/mpi_module.h"

namespace tabane::comm::mpi {

namespace {

class MpiTransport : public MpiWorld {
 public:
  // comm: owned then. world_ranks: of the group's ranks.
  MpiTransport(std::shared_ptr<Engine> engine, MPI_Comm comm, int rank,
               std::vector<int> world_ranks)
      : MpiWorld(rank, static_cast<int>(world_ranks.size())),
        engine_(std::move(engine)),
        user_(comm),
        internal_(engine_->library().duplicate(comm)),
        world_ranks_(std::make_shared<const std::vector<int>>(std::move(world_ranks))),
        collectives_(make_collectives(*engine_, internal_, rank, *world_ranks_)) {}
  ~MpiTransport() override {
    try {
      for (MPI_Comm comm : {user_, internal_}) {
        if (!engine_->broken()) engine_->drain(comm);
      }
    } catch (const core::Error&) {  // the rank's next call throws it
    }
    if (engine_->broken()) return;
    MPI_Comm_free(&internal_);
    MPI_Comm_free(&user_);
  }

  void close() override { engine_->close(std::array{user_, internal_}); }
  void fail(const std::string& how, const core::LostError* loss) override {
    loss == nullptr ? engine_->fail(how.c_str()) : engine_->fail(*loss);
  }

  std::string_view name() const override { return "mpi"; }
  int most_tag() const override { return std::min(kMostTag, engine_->most_tag()); }

  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    const int peer = world_rank(to);
    if (MPI_Request request = start(to, label, bytes); request != MPI_REQUEST_NULL) {
      SendPending(*engine_, request, peer).wait();
    }
    if (label.tag >= 0 && engine_->outbox().is_far_ahead_of(peer)) {
      engine_->wait({peer}, [&] { return !engine_->outbox().is_far_ahead_of(peer); });
    }
  }
  Arrival recv(int from, const Label& label, std::span<std::byte> into) override {
    PostedReceive receive(origin(from, label), into, false);
    begin(receive, from, label);
    receive.wait();
    return receive.arrival();
  }
  std::unique_ptr<Parcel> recv_parcel(int from, const Label& label) override {
    auto receive =
        std::make_unique<PostedReceive>(origin(from, label), std::span<std::byte>{}, true);
    begin(*receive, from, label);
    receive->wait();
    return std::make_unique<KeptParcel<std::unique_ptr<PostedReceive>>>(
        receive->arrival(), receive->kept(), std::move(receive));
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    MPI_Request request = start(to, label, bytes);
    if (request == MPI_REQUEST_NULL) return std::make_unique<CompletedSend>();
    return std::make_unique<SendPending>(*engine_, request, world_rank(to));
  }
  std::unique_ptr<Pending> irecv(int from, const Label& label, std::span<std::byte> into) override {
    auto receiving =
        std::make_unique<ReceivePending>(*engine_, world_ranks_, origin(from, label), into);
    begin(receiving->receive(), from, label);
    return receiving;
  }
  // The size of a large message is in its packet, so the packet is taken.
  bool probe(int from, const Label& label, Arrival& arrival) override {
    engine_->require_whole();
    require_tag(label.tag);
    engine_->progress();
    auto probed = find_probed(from, label.tag);
    if (probed == probed_.end()) {
      int there = 0;
      MPI_Message message;
      MPI_Status status;
      engine_->check(MPI_Improbe(from == any_source ? MPI_ANY_SOURCE : from,
                                 label.tag == any_tag ? MPI_ANY_TAG : std::abs(label.tag),
                                 comm_of(label.tag), &there, &message, &status),
                     "MPI_Improbe", any_source);
      if (!there) {
        const int peer = from == any_source ? any_source : world_rank(from);
        engine_->check_alive({peer, *world_ranks_});
        return false;
      }
      auto packet = engine_->outbox().take_packet();
      MPI_Request request;
      engine_->check(
          MPI_Imrecv(packet->start(), kAboutBytes + kSmallBytes, MPI_BYTE, &message, &request),
          "MPI_Imrecv", any_source);
      engine_->complete(request, {world_rank(status.MPI_SOURCE)});
      const int tag = label.tag < any_tag ? -status.MPI_TAG : status.MPI_TAG;
      const Arrival found{status.MPI_SOURCE, tag, {packet->type}, packet->bytes};
      probed = probed_.insert(probed_.end(), {std::move(packet), found});
    }
    arrival = probed->arrival;
    return true;
  }
  void progress() override { engine_->progress(); }
  void wait_until(int peer, const std::function<bool()>& ready) override {
    engine_->wait({peer == any_source ? any_source : world_rank(peer), *world_ranks_}, ready);
  }
  void enlist(Background& background) override { engine_->backgrounds().enlist(background); }
  void strike(Background& background) override { engine_->backgrounds().strike(background); }
  std::unique_ptr<Transport> make_group(std::span<const int> members,
                                        const MemoryRequest&) override {
    engine_->require_whole();
    engine_->note_group();
    MPI_Group all, some;
    MPI_Comm_group(internal_, &all);
    MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
    MPI_Comm comm = MPI_COMM_NULL;
    const int code = MPI_Comm_create_group(internal_, some, 0, &comm);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    engine_->check(code, "MPI_Comm_create_group", any_source);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    std::vector<int> world_ranks;
    for (const int member : members) world_ranks.push_back(world_rank(member));
    const auto own = std::ranges::find(members, rank()) - members.begin();
    return std::make_unique<MpiTransport>(engine_, comm, static_cast<int>(own),
                                          std::move(world_ranks));
  }
  NativeCollectives* collectives() override { return collectives_.get(); }
  bool crowded() const override { return engine_->crowded(); }
  void check_alive() override { engine_->check_alive({engine_->rank()}); }
  // MPI's launcher ends the ranks, also those of other hosts.
  void abort_job(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    for (;;) pause();
  }
  void set_phase(const char* text) override { engine_->set_phase(text); }
  std::atomic<const char*>& call() override { return engine_->call(); }

 private:
  // A packet that a probe has taken. Older than what MPI has of its source and tag.
  struct Probed {
    std::unique_ptr<Packet> packet;
    Arrival arrival;
  };

  int world_rank(int rank) const { return (*world_ranks_)[static_cast<std::size_t>(rank)]; }
  MPI_Comm comm_of(int tag) const { return tag >= any_tag ? user_ : internal_; }
  void require_tag(int tag) const {
    if (std::abs(tag) <= engine_->most_tag()) return;
    throw core::UsageError("tag {} cannot be used: this MPI has tags up to {}", tag,
                           engine_->most_tag());
  }
  // Starts to send; returns the request of what is not copied, MPI_REQUEST_NULL if all is.
  MPI_Request start(int to, const Label& label, std::span<const std::byte> bytes) {
    engine_->begin_message();
    require_tag(label.tag);
    std::unique_ptr<Packet> packet = engine_->outbox().take_packet();
    packet->bytes = bytes.size();
    packet->type = label.type.code;
    const bool small = bytes.size() <= kSmallBytes;
    if (small && !bytes.empty()) {
      std::memcpy(packet->elements.data(), bytes.data(), bytes.size());
    }
    packet->bulk_tag = small ? 0 : engine_->next_bulk_tag();
    const auto bulk_tag = static_cast<int>(packet->bulk_tag);

    // Collectives keep up with each other by themselves.
    const bool may_be_mark = small && label.tag >= 0 && to != rank();
    DetachedSend detached{.peer = world_rank(to),
                          .packet = std::move(packet),
                          .is_mark = may_be_mark && engine_->outbox().next_is_mark(world_rank(to))};
    const std::size_t payload = small ? bytes.size() : 0;
    const auto send_packet = detached.is_mark ? MPI_Issend : MPI_Isend;
    engine_->check(
        send_packet(detached.packet->start(), static_cast<int>(kAboutBytes + payload), MPI_BYTE, to,
                    std::abs(label.tag), comm_of(label.tag), &detached.request),
        "MPI_Isend", world_rank(to));
    engine_->outbox().detach(std::move(detached));
    if (small) return MPI_REQUEST_NULL;

    // To itself it is complete at once, so it is copied.
    DetachedSend copy{.peer = world_rank(to)};
    const bool to_itself = to == rank();
    if (to_itself) {
      copy.elements = allocate_aligned(bytes.size());
      std::memcpy(copy.elements.get(), bytes.data(), bytes.size());
    }
    const ByteCount count(bytes.size());
    MPI_Request request = MPI_REQUEST_NULL;
    engine_->check(MPI_Isend(to_itself ? copy.elements.get() : bytes.data(), count.count(),
                             count.type(), world_rank(to), bulk_tag, engine_->bulk(), &request),
                   "MPI_Isend", world_rank(to));
    if (!to_itself) return request;
    copy.request = request;
    engine_->outbox().detach(std::move(copy));
    return MPI_REQUEST_NULL;
  }
  PostedReceive::Origin origin(int from, const Label& label) const {
    return {engine_.get(), comm_of(label.tag), *world_ranks_,       rank(),
            from,          label.tag,          label.tag < any_tag, label.type};
  }
  void begin(PostedReceive& receive, int from, const Label& label) {
    engine_->begin_message();
    require_tag(label.tag);
    const auto probed = probed_.empty() ? probed_.end() : find_probed(from, label.tag);
    if (probed == probed_.end()) return receive.post();
    Probed taken = std::move(*probed);
    probed_.erase(probed);
    receive.open(std::move(taken.packet), taken.arrival);
  }
  std::list<Probed>::iterator find_probed(int from, int tag) {
    return std::ranges::find_if(probed_, [&](const Probed& probed) {
      const Arrival& arrival = probed.arrival;
      return (from == any_source || from == arrival.source) &&
             (tag == any_tag ? arrival.tag >= 0 : tag == arrival.tag);
    });
  }

  std::shared_ptr<Engine> engine_;
  MPI_Comm user_, internal_;
  std::shared_ptr<const std::vector<int>> world_ranks_;
  std::list<Probed> probed_;
  std::unique_ptr<NativeCollectives> collectives_;
};

}  // namespace
}  // namespace tabane::comm::mpi

namespace tabane::comm {

const char tabane_mpi_version[] = TABANE_VERSION;

MpiWorld* tabane_mpi_open(double silence_limit_s) {
  mpi::Library& library = mpi::Library::get();
  library.require_permitted();
  auto engine = std::make_shared<mpi::Engine>(library, silence_limit_s);
  std::vector<int> all(static_cast<std::size_t>(engine->size()));
  std::iota(all.begin(), all.end(), 0);
  const int rank = engine->rank();
  MPI_Comm comm = engine->library().duplicate(MPI_COMM_WORLD);
  return new mpi::MpiTransport(std::move(engine), comm, rank, std::move(all));
}

}  // namespace tabane::comm
