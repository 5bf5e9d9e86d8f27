#include "tabane/comm/collective/messages.h"

#include <fmt/format.h>

namespace tabane::comm {

void Messages::throw_short(const Arrival& arrival, std::size_t bytes) const {
  const auto kind = static_cast<Kind>(kFirstCollectiveTag - label_.tag);
  throw MessageError(fmt::format("{}: rank {} sent {} bytes of {}, rank {} expects {} bytes of {}",
                                 name_of(kind), arrival.source, arrival.bytes,
                                 name_of(arrival.type), transport_.rank(), bytes,
                                 name_of(label_.type)));
}

void wait_all(std::span<const std::unique_ptr<Pending>> pending) {
  for (const std::unique_ptr<Pending>& one : pending) one->wait();
}

}  // namespace tabane::comm
