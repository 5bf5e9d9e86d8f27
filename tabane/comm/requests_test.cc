// Messages under way at the same time, on worlds of any size: exchanges, isend and irecv, probes.
#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "tabane/comm/patterns_test.h"

namespace tabane::comm {
namespace {

TEST(Requests, ExchangeRoundTheRing) {
  on_worlds([](Comm& world) {
    int number = 0;
    for (const std::size_t size : sizes_around_borders(world)) {
      Bytes in(size);
      const Bytes out = pattern_out(world, size, ++number);
      require_equal(world.exchange(next(world), out, previous(world), in, 1).count, size);
      require_pattern(in, size, key_in(world, number));
    }
  });
}

// Each rank sends a large message to each rank, and waits for them in an order of its own.
TEST(Requests, OfAllPairsAtOnceEndInAnyOrder) {
  on_worlds([](Comm& world) {
    const int size = world.size();
    for (const std::size_t bytes : {100, 5'000, saves_time(world) ? 200'000 : 1'500'000}) {
      std::vector<Bytes> in(static_cast<std::size_t>(size), Bytes(bytes)), out;
      std::vector<Request> requests;
      for (int rank = 0; rank < size; ++rank) {
        requests.push_back(world.irecv(rank, in[static_cast<std::size_t>(rank)], 2));
      }
      for (int rank = 0; rank < size; ++rank) {
        out.push_back(pattern(bytes, key_of(world.rank(), rank, 2)));
        requests.push_back(world.isend(rank, out.back(), 2));
      }
      std::mt19937_64 random(1 + static_cast<std::uint64_t>(world.rank()));
      std::ranges::shuffle(requests, random);
      wait_all(requests);
      for (int rank = 0; rank < size; ++rank) {
        require_pattern(in[static_cast<std::size_t>(rank)], bytes, key_of(rank, world.rank(), 2));
      }
    }
  });
}

// Receives are posted, then both sides send with send(): that completes the partner's receive.
TEST(Requests, CompleteWhileRanksSendTowardsEachOther) {
  on_worlds([](Comm& world) {
    for (const std::size_t size : sizes_around_borders(world)) {
      Bytes in(size);
      Request posted = world.irecv(previous(world), in, 3);
      world.send(next(world), pattern_out(world, size, 3), 3);
      posted.wait();
      require_pattern(in, size, key_in(world, 3));
    }
  });
}

// A posted receive makes progress while its rank waits in a collective.
TEST(Requests, CompleteDuringABarrier) {
  on_worlds([](Comm& world) {
    for (const std::size_t size : {100, 50'000, 3'000'000}) {
      Bytes in(size);
      std::optional<Request> posted;
      if (world.rank() % 2 == 0 && world.rank() + 1 < world.size()) {
        posted = world.irecv(world.rank() + 1, in, 4);
      } else if (world.rank() % 2 == 1) {
        world.send(world.rank() - 1, pattern(size, size), 4);
      }
      barrier(world);
      if (!posted) continue;
      posted->wait();
      require_pattern(in, size, size);
    }
  });
}

TEST(Requests, MayBeManyAtOnce) {
  const auto size_of = [](int i) {
    return static_cast<std::size_t>(i % 41 == 0 ? 60'000 : i % 97);
  };
  on_worlds([&](Comm& world) {
    const int count = saves_time(world) ? 150 : 1'000;
    std::vector<Bytes> in, out;
    std::deque<Request> receives, sends;
    for (int i = 0; i < count; ++i) {
      in.emplace_back(size_of(i));
      receives.push_back(world.irecv(i % 5 == 0 ? any_source : previous(world), in.back(), i));
    }
    for (int i = count - 1; i >= 0; --i) {
      out.push_back(pattern_out(world, size_of(i), i));
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
      require_pattern(in[static_cast<std::size_t>(i)], size_of(i), key_in(world, i));
    }
  });
}

// Receives of the same source and tag take the messages in the order in which they were posted.
TEST(Requests, MatchInTheOrderOfPosting) {
  constexpr std::array<std::size_t, 5> kSizes{10, 70'000, 0, 5'000, 4096};
  on_worlds([&](Comm& world) {
    std::vector<Bytes> in, out;
    std::vector<Request> receives, sends;
    for (std::size_t i = 0; i < 20; ++i) {
      in.emplace_back(kSizes[i % 5]);
      receives.push_back(world.irecv(i % 3 == 0 ? any_source : previous(world), in.back(),
                                     i % 2 == 0 ? any_tag : 6));
    }
    for (std::size_t i = 0; i < 20; ++i) {
      out.push_back(pattern_out(world, kSizes[i % 5], static_cast<int>(i)));
      sends.push_back(world.isend(next(world), out.back(), 6));
    }
    for (auto request = receives.rbegin(); request != receives.rend(); ++request) request->wait();
    for (std::size_t i = 0; i < 20; ++i) {
      require_equal(receives[i].received().count, kSizes[i % 5]);
      require_pattern(in[i], kSizes[i % 5], key_in(world, static_cast<int>(i)));
    }
    wait_all(sends);
  });
}

TEST(Requests, AreWaitedForWhenTheyEnd) {
  on_worlds([](Comm& world) {
    for (const std::size_t size : {8, 5'000, 400'000}) {
      const Bytes out = pattern_out(world, size, 7);
      Bytes in(size);
      {
        const Request sent = world.isend(next(world), out, 7);
        const Request received = world.irecv(previous(world), in, 7);
      }
      require_pattern(in, size, key_in(world, 7));
    }
  });
}

TEST(Probes, TellWhatWaits) {
  on_worlds([](Comm& world) {
    require(!world.probe(any_source, any_tag));
    barrier(world);
    for (const std::size_t size : {0, 6, 5'000, 600'000}) {
      const std::vector<std::uint16_t> out(size, 17);
      Request sent = world.isend(next(world), out, 9);
      std::optional<Received> seen;
      while (!seen) seen = world.probe<std::uint16_t>(any_source, any_tag);
      require(seen->source == previous(world) && seen->tag == 9);
      require_equal(seen->count, size);
      // Nothing that a receive with the same arguments would not take.
      require(!world.probe(previous(world)));
      require(!world.probe(previous(world), 8));
      const auto again = world.probe<std::uint16_t>(previous(world), 9);
      require(again && again->count == size);
      std::vector<std::uint16_t> in(seen->count);
      require_equal(world.recv(seen->source, in, seen->tag).count, size);
      require(in == out);
      sent.wait();
    }
  });
}

TEST(Probes, WaitForAMessage) {
  on_worlds([](Comm& world) {
    for (const std::size_t size : {0, 5'000, 600'000}) {
      const std::vector<std::uint16_t> out(size, 23);
      Request other = world.isend(next(world), out, 3), sent = world.isend(next(world), out);
      const Received seen = world.wait_for_message<std::uint16_t>(any_source);
      require(seen.source == previous(world) && seen.tag == 0);
      require_equal(seen.count, size);
      require_equal(world.recv_view<std::uint16_t>(seen.source).size(), size);
      require_equal(world.wait_for_message(previous(world), any_tag).tag, 3);
      require_equal(world.recv_view<std::uint16_t>(previous(world), 3).size(), size);
    }
  });
}

TEST(Requests, OfSeveralAreEachToldOfOnce) {
  constexpr std::size_t kEach = 10;
  on_worlds([](Comm& world) {
    std::vector<Bytes> out, in;
    for (std::size_t i = 0; i < kEach; ++i) {
      const std::size_t size = i % 3 == 0 ? 200'000 : 100 * i;
      out.push_back(pattern_out(world, size, static_cast<int>(i)));
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
    while (const auto i = wait_any(requests)) ++told.at(*i);
    require_equal(told, std::vector<int>(requests.size(), 1));
    require(!test_any(requests));
    for (std::size_t i = 0; i < kEach; ++i) {
      require_pattern(in[i], in[i].size(), key_in(world, static_cast<int>(i)));
    }
  });
}

}  // namespace
}  // namespace tabane::comm
