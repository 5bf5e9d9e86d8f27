// Two ends of one channel in one process, so that a test decides when which one moves.
#include "tabane/comm/transport/shm/endpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

#include "tabane/comm/transport/shm/pending.h"

namespace tabane::comm::shm {
namespace {

// While a receive waits for the rest of a message, another rank may die, and it is abandoned.
TEST(Endpoint, GivesTheBlocksOfAnAbandonedMessageBackOnce) {
  World world(plan_memory(2, 0), 2);
  Endpoint sender(world, 0), receiver(world, 1);
  const ChannelLayout channel(world.channel(0, 1));
  const auto released = [&] { return std::popcount(channel.control->released.load()); };

  // The channel has one line left, so one piece of the message can be sent.
  const std::array<std::byte, 8> small{};
  for (std::uint32_t i = 0; i + 1 < channel.line_count; ++i) {
    sender.send(1, {.tag = 2, .bytes = small.size()}, small.data());
  }
  const std::vector<std::byte> bytes(3 * kPieceBytes);
  Send send;
  send.to = 1;
  send.envelope = {.tag = 1, .bytes = bytes.size()};
  send.bytes = bytes.data();
  sender.start(send);
  {
    PostedReceive receive(receiver);
    receive->tag = 1;
    receive->keeps = true;
    receive.start();
    receiver.progress(false);
    ASSERT_FALSE(receive->complete);
    ASSERT_GE(receive->stored.first_block, 0);
  }
  EXPECT_EQ(released(), 0) << "pieces are still to come into these blocks";
  ASSERT_TRUE(sender.test(send));
  receiver.progress(false);
  EXPECT_EQ(released(), static_cast<int>(channel.blocks_for(bytes.size())));
}

}  // namespace
}  // namespace tabane::comm::shm
