#include "tabane/comm/transport/shm/pending.h"

#include "tabane/comm/transport/shm/shm_transport.h"

namespace tabane::comm::shm {

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
