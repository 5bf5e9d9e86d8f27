#include "tabane/comm/collective/messages.h"

#include <fmt/format.h>

namespace tabane::comm {

void Messages::throw_short(const Arrival& arrival, std::size_t bytes) const {
  throw MessageError(fmt::format("{}: rank {} sent {}, rank {} expects {}", name_of_tag(label_.tag),
                                 arrival.source, describe_bytes(arrival.bytes, arrival.type),
                                 transport_.rank(), describe_bytes(bytes, label_.type)));
}

void wait_all(std::span<const std::unique_ptr<Pending>> pending) {
  for (const std::unique_ptr<Pending>& one : pending) one->wait();
}

}  // namespace tabane::comm
