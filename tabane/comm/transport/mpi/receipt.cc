#include "tabane/comm/transport/mpi/receipt.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace tabane::comm::mpi {

void Receipt::post() {
  packet_ = from_.engine->outbox().take_packet();
  const int source = from_.source == any_source ? MPI_ANY_SOURCE : from_.source;
  const int tag = from_.tag == any_tag ? MPI_ANY_TAG : std::abs(from_.tag);
  from_.engine->check(MPI_Irecv(packet_->start(), kAboutBytes + kSmallBytes, MPI_BYTE, source, tag,
                                from_.comm, &request_),
                      "MPI_Irecv", peer());
}

bool Receipt::step() {
  if (stage_ == Stage::complete) return true;
  MPI_Status status;
  if (!from_.engine->test(request_, peer(), &status)) return false;
  if (stage_ == Stage::posted) {
    const int tag = from_.internal ? -status.MPI_TAG : status.MPI_TAG;
    arrival_ = {status.MPI_SOURCE, tag, {packet_->type}, packet_->bytes};
    open();
  } else {
    stage_ = Stage::complete;
    from_.engine->check_not_withdrawn(world_source());
  }
  return stage_ == Stage::complete;
}

void Receipt::open(std::unique_ptr<Packet> packet, const Arrival& arrival) {
  packet_ = std::move(packet);
  arrival_ = arrival;
  open();
}

void Receipt::open() {
  const std::size_t bytes = arrival_.bytes;
  fits_ = types_fit(arrival_.type, from_.type) && (keeps_ || bytes <= into_.size());
  if (bytes <= kSmallBytes) {
    if (keeps_) {
      kept_ = std::span(packet_->elements).first(bytes);
    } else if (fits_ && bytes > 0) {
      std::memcpy(into_.data(), packet_->elements.data(), bytes);
    }
    stage_ = Stage::complete;
    return;
  }
  const int source = world_source();
  from_.engine->check_not_withdrawn(source);
  std::byte* place = into_.data();
  if (keeps_ || !fits_) {
    own_ = allocate_aligned(bytes);
    place = own_.get();
    kept_ = {place, bytes};
  }
  const ByteCount count(bytes);
  from_.engine->check(
      MPI_Irecv(place, count.count(), count.type(), source, static_cast<int>(packet_->bulk_tag),
                from_.engine->bulk(), &request_),
      "MPI_Irecv", source);
  stage_ = Stage::fetching;
}

void Receipt::wait() {
  from_.engine->wait(awaited(), [this] { return step(); });
}

const Arrival& Receipt::arrival() const {
  if (!fits_) {
    throw MessageError(describe_mismatch({arrival_.source, arrival_.type, arrival_.bytes},
                                         {from_.self, from_.type, into_.size()}, arrival_.tag));
  }
  return arrival_;
}

// One that is given up, because an exception passes.
Receipt::~Receipt() {
  if (request_ != MPI_REQUEST_NULL) {
    if (stage_ == Stage::posted) cancel();
    if (stage_ == Stage::fetching) leave_fetch();
  }
  if (packet_) from_.engine->outbox().give_back(std::move(packet_));
}

// What MPI may still write to is left to it.
void Receipt::cancel() {
  int done = 0, cancelled = 0;
  MPI_Status status;
  MPI_Cancel(&request_);
  MPI_Test(&request_, &done, &status);
  if (!done) {
    MPI_Request_free(&request_);
    static_cast<void>(packet_.release());
    return;
  }
  MPI_Test_cancelled(&status, &cancelled);
  if (cancelled || packet_->bytes <= kSmallBytes || from_.engine->broken()) return;
  // The packet has come, so the elements are fetched for nobody: their sender may wait.
  arrival_ = {status.MPI_SOURCE, 0, {packet_->type}, packet_->bytes};
  keeps_ = true;
  try {
    open();
  } catch (const core::Error&) {  // the rank's next call throws it
  }
}

void Receipt::leave_fetch() {
  if (from_.engine->settle(request_)) return;
  if (own_) {
    static_cast<void>(own_.release());
  } else {
    from_.engine->leave_receive(world_source());
  }
}

}  // namespace tabane::comm::mpi
