#include "tabane/comm/transport/mpi/transport.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "tabane/comm/transport/mpi_module.h"

namespace tabane::comm::mpi {

MpiTransport::MpiTransport(std::shared_ptr<Engine> engine, MPI_Comm comm, int rank,
                           std::vector<int> world_ranks)
    : Transport(rank, static_cast<int>(world_ranks.size())),
      engine_(std::move(engine)),
      user_(comm),
      internal_(engine_->library().duplicate(comm)),
      world_ranks_(std::make_shared<const std::vector<int>>(std::move(world_ranks))),
      collectives_(*engine_, internal_, rank, *world_ranks_) {}

MpiTransport::~MpiTransport() {
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

void MpiTransport::close() { engine_->close(std::array{user_, internal_}); }

void MpiTransport::require_tag(int tag) const {
  if (std::abs(tag) <= engine_->most_tag()) return;
  throw core::UsageError("tag " + std::to_string(tag) +
                         " cannot be used: this MPI has tags up to " +
                         std::to_string(engine_->most_tag()));
}

MPI_Request MpiTransport::start(int to, const Label& label, std::span<const std::byte> bytes) {
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

void MpiTransport::send(int to, const Label& label, std::span<const std::byte> bytes) {
  const int peer = world_rank(to);
  if (MPI_Request request = start(to, label, bytes); request != MPI_REQUEST_NULL) {
    SendPending(*engine_, request, peer).wait();
  }
  if (label.tag >= 0 && engine_->outbox().is_far_ahead_of(peer)) {
    engine_->wait({peer}, [&] { return !engine_->outbox().is_far_ahead_of(peer); });
  }
}

std::unique_ptr<Pending> MpiTransport::isend(int to, const Label& label,
                                             std::span<const std::byte> bytes) {
  MPI_Request request = start(to, label, bytes);
  if (request == MPI_REQUEST_NULL) return std::make_unique<CompletedSend>();
  return std::make_unique<SendPending>(*engine_, request, world_rank(to));
}

PostedReceive::Origin MpiTransport::origin(int from, const Label& label) const {
  return {engine_.get(), comm_of(label.tag), *world_ranks_,       rank(),
          from,          label.tag,          label.tag < any_tag, label.type};
}

std::list<MpiTransport::Probed>::iterator MpiTransport::find_probed(int from, int tag) {
  return std::ranges::find_if(probed_, [&](const Probed& probed) {
    const Arrival& arrival = probed.arrival;
    return (from == any_source || from == arrival.source) &&
           (tag == any_tag ? arrival.tag >= 0 : tag == arrival.tag);
  });
}

void MpiTransport::begin(PostedReceive& receive, int from, const Label& label) {
  engine_->begin_message();
  require_tag(label.tag);
  const auto probed = probed_.empty() ? probed_.end() : find_probed(from, label.tag);
  if (probed == probed_.end()) return receive.post();
  Probed taken = std::move(*probed);
  probed_.erase(probed);
  receive.open(std::move(taken.packet), taken.arrival);
}

Arrival MpiTransport::recv(int from, const Label& label, std::span<std::byte> into) {
  PostedReceive receive(origin(from, label), into, false);
  begin(receive, from, label);
  receive.wait();
  return receive.arrival();
}

std::unique_ptr<Parcel> MpiTransport::recv_parcel(int from, const Label& label) {
  auto receive = std::make_unique<PostedReceive>(origin(from, label), std::span<std::byte>{}, true);
  begin(*receive, from, label);
  receive->wait();
  return std::make_unique<MpiParcel>(std::move(receive));
}

std::unique_ptr<Pending> MpiTransport::irecv(int from, const Label& label,
                                             std::span<std::byte> into) {
  auto receiving =
      std::make_unique<ReceivePending>(*engine_, world_ranks_, origin(from, label), into);
  begin(receiving->receive(), from, label);
  return receiving;
}

// The size of a large message is in its packet, so the packet is taken.
bool MpiTransport::probe(int from, const Label& label, Arrival& arrival) {
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

void MpiTransport::wait_until(int peer, const std::function<bool()>& ready) {
  engine_->wait({peer == any_source ? any_source : world_rank(peer), *world_ranks_}, ready);
}

// MPI's launcher ends the ranks, also those of other hosts.
void MpiTransport::abort_job(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  for (;;) pause();
}

std::unique_ptr<Transport> MpiTransport::make_group(std::span<const int> members,
                                                    const MemoryRequest&) {
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

}  // namespace tabane::comm::mpi

// --- the entries of the module, see mpi_module.h ---

namespace {

tabane::comm::mpi::MpiTransport& mpi_transport(tabane::comm::Transport* world) {
  return *static_cast<tabane::comm::mpi::MpiTransport*>(world);
}

}  // namespace

const char tabane_mpi_version[] = TABANE_VERSION;

extern "C" tabane::comm::Transport* tabane_mpi_open(double silence_limit_s) {
  using namespace tabane::comm::mpi;
  Library& library = Library::get();
  library.require_permitted();
  auto engine = std::make_shared<Engine>(library, silence_limit_s);
  std::vector<int> all(static_cast<std::size_t>(engine->size()));
  std::iota(all.begin(), all.end(), 0);
  const int rank = engine->rank();
  MPI_Comm comm = engine->library().duplicate(MPI_COMM_WORLD);
  return new MpiTransport(std::move(engine), comm, rank, std::move(all));
}

extern "C" void tabane_mpi_close(tabane::comm::Transport* world) { mpi_transport(world).close(); }

extern "C" void tabane_mpi_fail(tabane::comm::Transport* world, const char* how,
                                const tabane::core::LostError* loss) {
  tabane::comm::mpi::Engine& engine = mpi_transport(world).engine();
  loss == nullptr ? engine.fail(how) : engine.fail(*loss);
}
