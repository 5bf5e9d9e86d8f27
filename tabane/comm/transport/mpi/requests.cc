#include "tabane/comm/transport/mpi/requests.h"

#include <cstdlib>
#include <cstring>

namespace tabane::comm::mpi {

void PostedReceive::post() {
  packet_ = origin_.engine->outbox().take_packet();
  const int source = origin_.source == any_source ? MPI_ANY_SOURCE : origin_.source;
  const int tag = origin_.tag == any_tag ? MPI_ANY_TAG : std::abs(origin_.tag);
  origin_.engine->check(MPI_Irecv(packet_->start(), kAboutBytes + kSmallBytes, MPI_BYTE, source,
                                  tag, origin_.comm, &request_),
                        "MPI_Irecv", peer());
}

bool PostedReceive::step() {
  if (stage_ == Stage::complete) return true;
  MPI_Status status;
  if (!origin_.engine->test(request_, peer(), &status)) return false;
  if (stage_ == Stage::posted) {
    const int tag = origin_.internal ? -status.MPI_TAG : status.MPI_TAG;
    arrival_ = {status.MPI_SOURCE, tag, {packet_->type}, packet_->bytes};
    open();
  } else {
    stage_ = Stage::complete;
    origin_.engine->check_not_withdrawn(world_source());
  }
  return stage_ == Stage::complete;
}

void PostedReceive::open(std::unique_ptr<Packet> packet, const Arrival& arrival) {
  packet_ = std::move(packet);
  arrival_ = arrival;
  open();
}

void PostedReceive::open() {
  const std::size_t bytes = arrival_.bytes;
  fits_ = types_fit(arrival_.type, origin_.type) && (keeps_ || bytes <= into_.size());
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
  origin_.engine->check_not_withdrawn(source);
  std::byte* place = into_.data();
  if (keeps_ || !fits_) {
    own_ = allocate_aligned(bytes);
    place = own_.get();
    kept_ = {place, bytes};
  }
  const ByteCount count(bytes);
  origin_.engine->check(
      MPI_Irecv(place, count.count(), count.type(), source, static_cast<int>(packet_->bulk_tag),
                origin_.engine->bulk(), &request_),
      "MPI_Irecv", source);
  stage_ = Stage::fetching;
}

void PostedReceive::wait() {
  origin_.engine->wait(awaited(), [this] { return step(); });
}

const Arrival& PostedReceive::arrival() const {
  if (!fits_) {
    throw MessageError(describe_mismatch({arrival_.source, arrival_.type, arrival_.bytes},
                                         {origin_.self, origin_.type, into_.size()}, arrival_.tag));
  }
  return arrival_;
}

// One that is given up, because an exception passes.
PostedReceive::~PostedReceive() {
  if (request_ != MPI_REQUEST_NULL) {
    if (stage_ == Stage::posted) cancel();
    if (stage_ == Stage::fetching) leave_fetch();
  }
  if (packet_) origin_.engine->outbox().give_back(std::move(packet_));
}

// What MPI may still write to is left to it.
void PostedReceive::cancel() {
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
  if (cancelled || packet_->bytes <= kSmallBytes || origin_.engine->broken()) return;
  // The packet has come, so the elements are fetched for nobody: their sender may wait.
  arrival_ = {status.MPI_SOURCE, 0, {packet_->type}, packet_->bytes};
  keeps_ = true;
  try {
    open();
  } catch (const core::Error&) {  // the rank's next call throws it
  }
}

void PostedReceive::leave_fetch() {
  if (origin_.engine->settle(request_)) return;
  if (own_) {
    static_cast<void>(own_.release());
  } else {
    origin_.engine->leave_receive(world_source());
  }
}

}  // namespace tabane::comm::mpi
