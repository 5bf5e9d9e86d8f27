// Messages under way at the same time: exchanges, isend and irecv, probe.
#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "conformance.h"
#include "tabane/comm/collectives.h"

namespace tabane::conformance {
namespace {

using comm::any_source;
using comm::any_tag;
using comm::Request;

void exchange_in_a_ring(Comm& world, const Settings& settings) {
  int number = 0;
  for (const std::size_t size : sizes_around_borders(settings)) {
    ++number;
    Bytes in(size);
    const Bytes out = pattern(size, key_of(world.rank(), next(world), number));
    const auto got = world.exchange(next(world), out, previous(world), in, 1);
    require_equal(got.count, size, "exchanged");
    require_pattern(in, size, key_of(previous(world), world.rank(), number), "exchanged");
  }
}

// Each rank sends a large message to each rank, and waits for them in an order of its own.
void all_pairs_at_once(Comm& world, const Settings& settings) {
  const int size = world.size();
  const std::size_t most = settings.quick || size > 8 ? 200'000 : 1'500'000;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{5'000}, most}) {
    std::vector<Bytes> in(static_cast<std::size_t>(size), Bytes(bytes)), out;
    std::vector<Request> requests;
    for (int rank = 0; rank < size; ++rank) {
      requests.push_back(world.irecv(rank, in[static_cast<std::size_t>(rank)], 2));
    }
    for (int rank = 0; rank < size; ++rank) {
      out.push_back(pattern(bytes, key_of(world.rank(), rank, 2)));
      requests.push_back(world.isend(rank, out.back(), 2));
    }
    std::mt19937_64 random(settings.seed + static_cast<std::uint64_t>(world.rank()));
    std::ranges::shuffle(requests, random);
    comm::wait_all(requests);
    for (int rank = 0; rank < size; ++rank) {
      require_pattern(in[static_cast<std::size_t>(rank)], bytes, key_of(rank, world.rank(), 2),
                      fmt::format("from rank {} of all", rank));
    }
  }
}

// Receives are posted, then both sides send with send(): that completes the partner's receive.
void blocking_sends_towards_each_other(Comm& world, const Settings& settings) {
  for (const std::size_t size : sizes_around_borders(settings)) {
    Bytes in(size);
    Request posted = world.irecv(previous(world), in, 3);
    world.send(next(world), pattern(size, key_of(world.rank(), next(world), 3)), 3);
    posted.wait();
    require_pattern(in, size, key_of(previous(world), world.rank(), 3), "sent towards each other");
  }
}

// A posted receive makes progress while its rank waits in a collective.
void receives_complete_during_a_barrier(Comm& world, const Settings&) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{50'000}, std::size_t{3'000'000}}) {
    Bytes in(size);
    std::optional<Request> posted;
    if (world.rank() % 2 == 0 && world.rank() + 1 < world.size()) {
      posted = world.irecv(world.rank() + 1, in, 4);
    } else if (world.rank() % 2 == 1) {
      world.send(world.rank() - 1, pattern(size, size), 4);
    }
    comm::barrier(world);
    if (!posted) continue;
    posted->wait();
    require_pattern(in, size, size, "received during a barrier");
  }
}

void storm_of_requests(Comm& world, const Settings& settings) {
  const int count = settings.quick ? 150 : 1'000;
  const auto size_of = [](int i) {
    return static_cast<std::size_t>(i % 41 == 0 ? 60'000 : i % 97);
  };
  std::vector<Bytes> in, out;
  std::deque<Request> receives, sends;
  for (int i = 0; i < count; ++i) {
    in.emplace_back(size_of(i));
    receives.push_back(world.irecv(i % 5 == 0 ? any_source : previous(world), in.back(), i));
  }
  for (int i = count - 1; i >= 0; --i) {
    out.push_back(pattern(size_of(i), key_of(world.rank(), next(world), i)));
    sends.push_back(world.isend(next(world), out.back(), i));
  }
  while (!sends.empty() || !receives.empty()) {
    for (std::deque<Request>* queue : {&sends, &receives}) {
      if (queue->empty()) continue;
      if (queue->front().test()) {
        queue->pop_front();
      } else {
        std::rotate(queue->begin(), queue->begin() + 1, queue->end());
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    require_pattern(in[static_cast<std::size_t>(i)], size_of(i),
                    key_of(previous(world), world.rank(), i), fmt::format("message {}", i));
  }
}

// Receives of the same source and tag take the messages in the order in which they were posted.
void receives_match_in_order_of_posting(Comm& world, const Settings&) {
  constexpr std::array<std::size_t, 5> kSizes{10, 70'000, 0, 5'000, 4096};
  std::vector<Bytes> in, out;
  std::vector<Request> receives, sends;
  for (std::size_t i = 0; i < 20; ++i) {
    in.emplace_back(kSizes[i % 5]);
    receives.push_back(world.irecv(i % 3 == 0 ? any_source : previous(world), in.back(),
                                   i % 2 == 0 ? any_tag : 6));
  }
  for (std::size_t i = 0; i < 20; ++i) {
    out.push_back(pattern(kSizes[i % 5], key_of(world.rank(), next(world), static_cast<int>(i))));
    sends.push_back(world.isend(next(world), out.back(), 6));
  }
  for (auto request = receives.rbegin(); request != receives.rend(); ++request) request->wait();
  for (std::size_t i = 0; i < 20; ++i) {
    require_pattern(in[i], kSizes[i % 5],
                    key_of(previous(world), world.rank(), static_cast<int>(i)),
                    fmt::format("receive {}", i));
  }
  comm::wait_all(sends);
}

void requests_that_end_are_waited_for(Comm& world, const Settings&) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{5'000}, std::size_t{400'000}}) {
    const Bytes out = pattern(size, key_of(world.rank(), next(world), 7));
    Bytes in(size);
    {
      const Request sent = world.isend(next(world), out, 7);
      const Request received = world.irecv(previous(world), in, 7);
    }
    require_pattern(in, size, key_of(previous(world), world.rank(), 7), "an ended request");
  }
}

void probe_tells_what_waits(Comm& world, const Settings&) {
  require(!world.probe(any_source, any_tag), "probe sees a message that nobody has sent");
  comm::barrier(world);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{6}, std::size_t{5'000}, std::size_t{600'000}}) {
    const std::vector<std::uint16_t> out(size, 17);
    Request sent = world.isend(next(world), out, 9);
    std::optional<comm::Received> seen;
    while (!seen) seen = world.probe<std::uint16_t>(any_source, any_tag);
    require(seen->source == previous(world) && seen->tag == 9 && seen->count == size,
            "probe tells {} elements from rank {}, tag {}", seen->count, seen->source, seen->tag);
    require(!world.probe(previous(world)), "probe sees what recv with the same arguments does not");
    require(!world.probe(previous(world), 8), "probe sees a tag that nobody has sent");
    const auto again = world.probe<std::uint16_t>(previous(world), 9);
    require(again && again->count == size, "a second probe sees less than the first");
    std::vector<std::uint16_t> in(seen->count);
    require_equal(world.recv(seen->source, in, seen->tag).count, size, "probed");
    require(in == out, "a probed message came changed");
    sent.wait();
  }
}

void messages_are_waited_for_before_they_are_taken(Comm& world, const Settings&) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5'000}, std::size_t{600'000}}) {
    const std::vector<std::uint16_t> out(size, 23);
    Request other = world.isend(next(world), out, 3), sent = world.isend(next(world), out);
    const comm::Received seen = world.wait_for_message<std::uint16_t>(any_source);
    require(seen.source == previous(world) && seen.tag == 0 && seen.count == size,
            "wait_for_message tells {} elements from rank {}, tag {}", seen.count, seen.source,
            seen.tag);
    require_equal(world.recv_view<std::uint16_t>(seen.source).size(), size, "waited for");
    require_equal(world.wait_for_message(previous(world), any_tag).tag, 3, "the tag that is left");
    require_equal(world.recv_view<std::uint16_t>(previous(world), 3).size(), size, "waited for");
  }
}

void any_request_is_told_of_once(Comm& world, const Settings&) {
  constexpr std::size_t kEach = 10;
  std::vector<Bytes> out, in;
  for (std::size_t i = 0; i < kEach; ++i) {
    const std::size_t size = i % 3 == 0 ? 200'000 : 100 * i;
    out.push_back(pattern(size, key_of(world.rank(), next(world), static_cast<int>(i))));
    in.emplace_back(size);
  }
  std::vector<Request> requests;
  for (std::size_t i = 0; i < kEach; ++i) {
    requests.push_back(world.irecv(previous(world), in[i], static_cast<int>(i)));
  }
  for (std::size_t i = kEach; i-- > 0;) {
    requests.push_back(world.isend(next(world), out[i], static_cast<int>(i)));
  }
  std::vector<int> told(requests.size());
  while (const auto i = comm::wait_any(requests)) ++told.at(*i);
  require(told == std::vector<int>(requests.size(), 1), "a request was not told of once");
  require(!comm::test_any(requests), "a request is told of again");
  for (std::size_t i = 0; i < kEach; ++i) {
    require_pattern(in[i], in[i].size(), key_of(previous(world), world.rank(), static_cast<int>(i)),
                    "any request");
  }
}

constexpr std::array kChecks{
    Check{"requests.exchange_in_a_ring", exchange_in_a_ring},
    Check{"requests.all_pairs_at_once", all_pairs_at_once},
    Check{"requests.blocking_sends_towards_each_other", blocking_sends_towards_each_other},
    Check{"requests.receives_complete_during_a_barrier", receives_complete_during_a_barrier},
    Check{"requests.storm", storm_of_requests},
    Check{"requests.receives_match_in_order_of_posting", receives_match_in_order_of_posting},
    Check{"requests.those_that_end_are_waited_for", requests_that_end_are_waited_for},
    Check{"requests.probe_tells_what_waits", probe_tells_what_waits},
    Check{"requests.messages_are_waited_for", messages_are_waited_for_before_they_are_taken},
    Check{"requests.any_is_told_of_once", any_request_is_told_of_once},
};

}  // namespace

std::span<const Check> request_checks() { return kChecks; }

}  // namespace tabane::conformance
