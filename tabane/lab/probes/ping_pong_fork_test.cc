#include "tabane/lab/probes/ping_pong.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

using Message = std::vector<std::byte>;

Message pattern(std::size_t bytes) {
  Message message(bytes);
  for (std::size_t i = 0; i < bytes; ++i) message[i] = static_cast<std::byte>(i * 7 + 1);
  return message;
}

// On two ranks that are forked here; returns what rank 0 found.
std::string on_two_ranks(const std::function<std::string(comm::Comm&)>& rank) {
  return *comm::launch_result<std::string>({.ranks = 2, .transport = comm::TransportKind::shm},
                                           rank);
}

class Links : public testing::TestWithParam<const char*> {};

TEST_P(Links, CarryMessagesOfAllSizesThereAndBack) {
  const std::string found = on_two_ranks([](comm::Comm& two) -> std::string {
    std::string reason;
    const auto link = SocketLink::connect(two, GetParam(), &reason);
    if (!link) return "no link: " + reason;
    std::string wrong;
    for (const std::size_t bytes : {0, 1, 2, 4095, 65536, 3'000'001}) {
      // What rank 1 has at first must not come back.
      Message message = two.rank() == 0 ? pattern(bytes) : Message(bytes);
      link->round_trips(message, 3);
      if (message != pattern(bytes)) wrong = "changed";
      if (two.rank() == 1) two.send(0, static_cast<std::uint8_t>(wrong.empty()));
      if (two.rank() == 0 && two.recv<std::uint8_t>(1) == 0) wrong = "changed at rank 1";
    }
    return wrong;
  });
  EXPECT_EQ(found, "");
}

TEST_P(Links, SayThatThePeerHasClosed) {
  EXPECT_EQ(on_two_ranks([](comm::Comm& two) -> std::string {
              auto link = SocketLink::connect(two, GetParam(), nullptr);
              if (!link) return "no link";
              if (two.rank() == 1) {
                link.reset();
                two.send(0, 1);
                return "";
              }
              two.recv<int>(1);
              Message message(10);
              try {
                link->round_trips(message, 2);
              } catch (const core::LostError& error) {
                return std::string(error.what()).find("rank 1") != std::string::npos ? ""
                                                                                     : error.what();
              }
              return "nothing was noticed";
            }),
            "");
}

INSTANTIATE_TEST_SUITE_P(Sockets, Links, testing::Values("127.0.0.1", "localhost", ""),
                         [](const auto& instance) {
                           const std::string host = instance.param;
                           return host.empty()          ? "unix"
                                  : host == "localhost" ? "localhost"
                                                        : "address";
                         });

TEST(SocketLink, IsNoneOnBothRanksWhereThereIsNoSuchHost) {
  const std::string found = on_two_ranks([](comm::Comm& two) -> std::string {
    std::string reason;
    const auto link = SocketLink::connect(two, "no-such-host.invalid", &reason);
    if (two.rank() == 1) two.send(0, static_cast<std::uint8_t>(link == nullptr));
    if (two.rank() == 1) return "";
    if (link || two.recv<std::uint8_t>(1) == 0) return "there is a link";
    return reason;
  });
  EXPECT_NE(found.find("no-such-host.invalid: "), std::string::npos) << found;
}

TEST(PingPongs, AreMeasuredInTurnByAllWays) {
  const auto samples = comm::launch_result<RankSamples>(
      {.ranks = 2, .transport = comm::TransportKind::shm}, [](comm::Comm& two) {
        comm::Grid grid(two, 1, 2);
        LocalLinks links;
        const std::array works = {message_ping_pong(100), links.ping_pong("127.0.0.1", 100),
                                  links.ping_pong("", 100), links.ping_pong("", 1000),
                                  socket_ping_pong(nullptr, 100)};
        return measure_rounds(grid, works, {.fewest = 2, .budget_seconds = 0.01});
      });
  ASSERT_EQ(samples->size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_GE((*samples)[i].size(), 2u) << i;
    EXPECT_GT(*std::ranges::min_element((*samples)[i]), 0) << i;
  }
  EXPECT_TRUE((*samples)[4].empty());
}

TEST(PingPongSizes, AreNetPipes) {
  EXPECT_EQ(ping_pong_sizes(16), (std::vector<std::uint64_t>{1, 2, 4, 5, 7, 8, 11, 13, 16}));
  EXPECT_EQ(ping_pong_sizes(1 << 22).back(), 1u << 22);
}

}  // namespace
}  // namespace tabane::lab
