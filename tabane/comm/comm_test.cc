#include "tabane/comm/comm.h"

#include <initializer_list>
#include <numeric>
#include <string>
#include <vector>

#include "tabane/comm/patterns_test.h"

namespace tabane::comm {
namespace {

struct Point {
  double x, y, z;
};

std::vector<int> numbers(std::size_t count, int first = 0) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(CommOnRanks, KnowsItsRankAndSize) {
  for (const int ranks : {1, 2, 5}) {
    run(ranks, [ranks](Comm& comm) {
      require_equal(comm.size(), ranks);
      if (comm.rank() != 0) return comm.send(0, comm.rank());
      std::vector<bool> seen(static_cast<std::size_t>(ranks));
      for (int i = 1; i < ranks; ++i) {
        const auto rank = static_cast<std::size_t>(comm.recv<int>(any_source));
        require(!seen.at(rank));
        seen[rank] = true;
      }
    });
  }
}

TEST(CommOnRanks, TellsSourceTagAndCountOfWhatItReceived) {
  run(2, [](Comm& comm) {
    if (comm.rank() == 0) {
      comm.send(1, numbers(3, 10), 4);
      comm.send(1, std::vector<int>{}, 5);
      comm.send(1, std::string("text"), kMostTag);
      return;
    }
    std::vector<int> values(8, -1);
    const Received first = comm.recv(any_source, values, any_tag);
    require_equal(first.source, 0);
    require_equal(first.tag, 4);
    require_equal(first.count, 3U);
    require_equal(values, (std::vector<int>{10, 11, 12, -1, -1, -1, -1, -1}));
    require_equal(comm.recv(0, values, 5).count, 0U);
    const View<char> text = comm.recv_view<char>(0, any_tag);
    require_equal(std::string(text.begin(), text.end()), "text");
    require_equal(text.tag(), kMostTag);
    require_equal(text.source(), 0);
  });
}

TEST(CommOnRanks, WaitsForAMessageWithoutTakingIt) {
  run(3, [](Comm& comm) {
    if (comm.rank() != 0) {
      comm.recv<int>(0, 1);
      comm.send(0, numbers(10'000 * static_cast<std::size_t>(comm.rank())), 4);
      return;
    }
    for (const int rank : {2, 1}) {
      comm.send(rank, 1, 1);
      const Received seen = comm.wait_for_message<int>(any_source, any_tag);
      require_equal(seen.source, rank);
      require_equal(seen.tag, 4);
      require_equal(seen.count, 10'000U * static_cast<std::size_t>(rank));
      require_equal(comm.recv_view<int>(rank, 4).size(), seen.count);
    }
    error_of<core::LostError>([&] { comm.wait_for_message(1, 5); });
    error_of<core::LostError>([&] { comm.wait_for_message(any_source, any_tag); });
  });
}

TEST(CommOnRanks, TellsWhoeverLooksOfARankThatHasReturned) { run(2, look_for_one_that_returns); }

TEST(CommOnRanks, TellsOfEachRequestThatBecomesCompleteOnce) {
  run(3, [](Comm& comm) {
    if (comm.rank() != 0) {
      comm.recv<int>(0, 1);
      comm.send(0, numbers(20'000, comm.rank()));
      return;
    }
    std::array<std::vector<int>, 2> in{std::vector<int>(20'000), std::vector<int>(20'000)};
    std::vector<Request> requests;
    requests.push_back(comm.irecv(1, in[0]));
    requests.push_back(comm.irecv(2, in[1]));
    require(!test_any(requests).has_value());
    for (const int rank : {2, 1}) {
      comm.send(rank, 1, 1);
      require_equal(wait_any(requests), std::optional(static_cast<std::size_t>(rank - 1)));
      require_equal(in[static_cast<std::size_t>(rank - 1)][0], rank);
    }
    require(!wait_any(requests).has_value());
    require(!test_any(requests).has_value());
    require(!wait_any({}).has_value());
    require_equal(requests[0].wait().count, 20'000U);
    requests.clear();
  });
}

TEST(CommOnRanks, WaitsForAnyThoughTheFirstIsFromItself) {
  run(2, [](Comm& comm) {
    if (comm.rank() == 1) {
      comm.recv<int>(0, 1);
      usleep(100'000);  // long enough for rank 0 to look who is left
      return comm.send(0, 5);
    }
    std::array<int, 1> own{}, theirs{};
    std::vector<Request> requests;
    requests.push_back(comm.irecv(0, own));
    requests.push_back(comm.irecv(1, theirs));
    comm.send(1, 1, 1);
    require_equal(wait_any(requests), std::optional<std::size_t>(1));
    require_equal(theirs[0], 5);
    comm.send(0, 6);
    require_equal(wait_any(requests), std::optional<std::size_t>(0));
  });
}

TEST(CommOnRanks, TellsOfARequestThatFailsAndGoesOn) {
  run(2, [](Comm& comm) {
    if (comm.rank() == 0) {
      comm.send(1, 1.5);
      comm.send(1, 7, 1);
      comm.recv<int>(1, 2);
      return;
    }
    std::vector<int> wrong(1), right(1);
    std::vector<Request> requests;
    requests.push_back(comm.irecv(0, wrong));
    require_contains(error_of<MessageError>([&] { wait_any(requests); }), "float64");
    requests.push_back(comm.irecv(0, right, 1));
    require_equal(wait_any(requests), std::optional<std::size_t>(1));
    require_equal(right[0], 7);
    comm.send(0, 1, 2);
    requests.push_back(comm.irecv(0, right, 9));
    error_of<core::LostError>([&] { wait_any(requests); });
    require(!wait_any(requests).has_value());
  });
}

TEST(CommOnRanks, RefusesRanksThatDoNotExist) {
  run(2, [](Comm& comm) {
    std::vector<int> one(1);
    const std::string two = "rank 2 does not exist: the group has ranks 0 to 1";
    require_equal(error_of<core::UsageError>([&] { comm.send(2, 1); }), two);
    require_equal(error_of<core::UsageError>([&] { comm.recv(2, one); }), two);
    require_equal(error_of<core::UsageError>([&] { comm.recv_view<int>(2); }), two);
    require_equal(error_of<core::UsageError>([&] { comm.irecv(2, one); }), two);
    require_equal(error_of<core::UsageError>([&] { comm.probe(2); }), two);
    error_of<core::UsageError>([&] { comm.isend(-1, one); });  // any_source is nobody to send to
    error_of<core::UsageError>([&] { comm.recv(-2, one); });
  });
  run(1, [](Comm& comm) {
    require_equal(error_of<core::UsageError>([&] { comm.send(1, 1); }),
                  "rank 1 does not exist: the group has rank 0 only");
  });
}

TEST(CommOnRanks, RefusesReservedTags) {
  run(1, [](Comm& comm) {
    std::vector<int> one(1);
    require_equal(error_of<core::UsageError>([&] { comm.send(0, 1, -2); }),
                  "tag -2 cannot be used: give 0 to 268435455 (negative ones are reserved)");
    error_of<core::UsageError>([&] { comm.send(0, 1, any_tag); });
    error_of<core::UsageError>([&] { comm.send(0, 1, kMostTag + 1); });
    error_of<core::UsageError>([&] { comm.isend(0, one, -3); });
    error_of<core::UsageError>([&] { comm.recv(0, one, kSplitTag); });
    error_of<core::UsageError>([&] { comm.irecv(0, one, -3); });
    error_of<core::UsageError>([&] { comm.probe(0, -3); });
    error_of<core::UsageError>([&] { comm.wait_for_message(0, -3); });
  });
}

// After each of them the message that did not fit is gone, and the next one comes.
TEST(CommOnRanks, NamesBothSidesOfAMessageThatDoesNotFit) {
  run(2, [](Comm& comm) {
    if (comm.rank() == 0) {
      for (int i = 0; i < 3; ++i) comm.send(1, std::vector<double>{1, 2, 3}, 7);
      comm.send(1, numbers(2), 7);
      comm.send(1, std::vector<std::byte>(25), 7);
      comm.send(1, std::vector<double>(100'000), 7);
      comm.send(1, 42, 7);
      return;
    }
    std::vector<float> floats(3);
    std::vector<double> doubles(2);
    const auto names = [](const std::string& error, std::initializer_list<const char*> words) {
      for (const char* const word : words) require_contains(error, word);
    };
    names(error_of<MessageError>([&] { comm.recv(0, floats, 7); }),
          {"rank 0", "tag 7", "float64", "float32"});
    names(error_of<MessageError>([&] { comm.recv_view<unsigned>(0, 7); }),
          {"rank 0", "tag 7", "float64", "uint32"});
    names(error_of<MessageError>([&] { comm.irecv(any_source, doubles, 7).wait(); }),
          {"rank 0", "tag 7", "24 bytes", "16"});
    names(error_of<MessageError>([&] { comm.recv<int>(0, 7); }),
          {"rank 0", "tag 7", "8 bytes", "4"});
    names(error_of<MessageError>([&] { comm.recv_view<Point>(0, 7); }),
          {"rank 0", "tag 7", "25 bytes", "24 bytes"});
    error_of<MessageError>([&] { comm.recv(0, doubles, 7); });
    require_equal(comm.recv<int>(0, 7), 42);
  });
}

TEST(CommOnRanks, WantsExactlyOneElementForAValue) {
  run(1, [](Comm& comm) {
    comm.send(0, std::vector<int>{});
    require_equal(error_of<MessageError>([&] { comm.recv<int>(0); }),
                  "message from rank 0 to rank 0, tag 0: the sender sent 0 elements, the receiver "
                  "wants 1");
  });
}

TEST(CommOnRanks, TakesBytesAsAnyType) {
  run(1, [](Comm& comm) {
    const std::vector<double> sent{1.5, 2.5};
    comm.send(0, std::as_bytes(std::span(sent)));
    require_equal(comm.recv_view<double>(0)[1], 2.5);
    comm.send(0, sent);
    require_equal(comm.recv_view<std::byte>(0).size(), 16U);
  });
}

TEST(CommOnRanks, SplitsByColorInTheOrderOfKeys) {
  run(5, [](Comm& comm) {
    // Colors 0 1 0 1 0, keys against the ranks' order.
    std::optional<Comm> part = comm.split(comm.rank() % 2, -comm.rank());
    require(part.has_value());
    require_equal(part->size(), comm.rank() % 2 == 0 ? 3 : 2);
    const std::array<int, 5> expected{2, 1, 1, 0, 0};
    require_equal(part->rank(), expected[static_cast<std::size_t>(comm.rank())]);
    const int next = (part->rank() + 1) % part->size();
    part->send(next, comm.rank());
    const int got = part->recv<int>(any_source);
    require_equal(got % 2, comm.rank() % 2);
    require_equal(got, (comm.rank() + 2) > 4 ? comm.rank() % 2 : comm.rank() + 2);
  });
}

}  // namespace
}  // namespace tabane::comm
