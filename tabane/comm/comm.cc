#include "tabane/comm/comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "tabane/comm/collective/group.h"

namespace tabane::comm {
namespace {

// What each rank tells the others in a split.
struct ColorKey {
  std::int32_t color, key;
};

constexpr Label kSplitLabel{kSplitTag, type_code<ColorKey>()};

// Through rank 0: few messages, and no collective has to work yet.
std::vector<ColorKey> colors_of_all(Transport& transport, ColorKey own) {
  std::vector<ColorKey> all(static_cast<std::size_t>(transport.size()));
  const auto bytes = std::as_writable_bytes(std::span(all));
  if (transport.rank() != 0) {
    transport.send(0, kSplitLabel, std::as_bytes(std::span(&own, 1)));
    transport.recv(0, kSplitLabel, bytes);
    return all;
  }
  all[0] = own;
  for (int rank = 1; rank < transport.size(); ++rank) {
    transport.recv(
        rank, kSplitLabel,
        bytes.subspan(static_cast<std::size_t>(rank) * sizeof(ColorKey), sizeof(ColorKey)));
  }
  for (int rank = 1; rank < transport.size(); ++rank) transport.send(rank, kSplitLabel, bytes);
  return all;
}

}  // namespace

void internal::throw_part(const Arrival& arrival, std::size_t element_bytes, int receiver) {
  throw MessageError(
      "message from rank {} to rank {}, tag {}: the sender sent {}, the receiver wants whole "
      "elements of {} bytes",
      arrival.source, receiver, arrival.tag, describe_bytes(arrival.bytes, arrival.type),
      element_bytes);
}

Comm::Comm(std::unique_ptr<Transport> transport, std::shared_ptr<const ChoiceTable> choice)
    : group_(std::make_shared<Group>(std::move(transport), std::move(choice))),
      transport_(&group_->transport()) {}

std::optional<Comm> Comm::split(int color, int key) {
  const std::vector<ColorKey> all = colors_of_all(*transport_, {color, key});
  if (color < 0) return std::nullopt;
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)].color == color) members.push_back(rank);
  }
  std::ranges::stable_sort(members, {},
                           [&](int rank) { return all[static_cast<std::size_t>(rank)].key; });
  const MemoryRequest request = board_request(static_cast<int>(members.size()));
  Comm part(transport_->make_group(members, request), group_->choice());
  part.group().compare_calls(group_->compares_calls());
  part.group().set_counter(group_->counter());
  return part;
}

void Comm::throw_bad_rank(int rank) const {
  const std::string has = size() == 1 ? "rank 0 only" : fmt::format("ranks 0 to {}", size() - 1);
  throw core::UsageError("rank {} does not exist: the group has {}{}", rank, has,
                         rank == any_source ? " (any_source is for receives)" : "");
}

void Comm::throw_bad_tag(int tag) {
  throw core::UsageError("tag {} cannot be used: give 0 to {} (negative ones are reserved)", tag,
                         kMostTag);
}

void Comm::throw_not_one(const Received& received) const {
  throw MessageError(
      "message from rank {} to rank {}, tag {}: the sender sent {} elements, the receiver wants 1",
      received.source, rank(), received.tag, received.count);
}

Arrival Comm::arrival_of_next(int from, const Label& label) {
  Arrival arrival;
  transport_->wait_until(from, [&] { return transport_->probe(from, label, arrival); });
  return arrival;
}

void Comm::abort(int code) {
  transport_->abort_job(code);
  throw AbortError(rank(), code);  // not reached: it does not return
}

void Comm::check_collectives(bool yes) { group_->compare_calls(yes); }

std::optional<std::size_t> test_any(std::span<Request> requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& request = requests[i];
    if (request.told_) continue;
    request.told_ = true;  // also if it throws
    if (request.test()) return i;
    request.told_ = false;
  }
  return {};
}

std::optional<std::size_t> wait_any(std::span<Request> requests) {
  std::optional<std::size_t> found = test_any(requests);
  const auto left = std::ranges::find(requests, false, &Request::told_);
  if (found || left == requests.end()) return found;
  try {
    left->pending_->wait_until([&] {
      if (!found) found = test_any(requests);  // asked again, it would tell of the next one
      return found.has_value();
    });
  } catch (const core::LostError&) {
    if (!found) found = test_any(requests);  // throws for the request that the loss concerns
    if (!found) throw;
  }
  return found;
}

void wait_all(std::span<Request> requests) {
  for (Request& request : requests) request.wait();
}

}  // namespace tabane::comm
