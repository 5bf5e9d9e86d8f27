// Two ends of one channel in one process, so that a test decides when which one moves.
#include "tabane/comm/transport/shm/endpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <thread>

#include "tabane/core/error.h"

namespace tabane::comm::shm {
namespace {

// What rank 1 has decided about messages from rank 0.
void choose_way(World& world, Way way) {
  for (std::atomic<Way>& one : ChannelLayout(world.channel(0, 1)).control->ways) one.store(way);
}

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
    OpenReceive receive(receiver);
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

TEST(Endpoint, TellsMillionsOfGroupsApart) {
  World world(plan_memory(2, 0), 2);
  Endpoint first(world, 0), second(world, 1);
  std::uint64_t last = 0;
  for (int i = 0; i < 3'000'000; ++i) {
    const std::uint64_t context = first.new_context();
    ASSERT_GT(context, last);
    last = context;
  }
  EXPECT_GT(second.new_context(), last + (std::uint64_t{1} << 33));
}

// Contexts that differ in a few bits only, wherever those are, and sizes up to what a line can say.
TEST(Endpoint, GivesAMessageOnlyToItsGroup) {
  World world(plan_memory(2, 0), 2);
  Endpoint sender(world, 0), receiver(world, 1);
  std::array<std::byte, 600> bytes{}, into{};
  const std::uint64_t own = (std::uint64_t{0xabc} << kGroupBits) + 0x123456789;
  for (const std::size_t size : {0, 8, 41, 600}) {
    for (int bit = 0; bit < kContextBits; ++bit) {
      const std::uint64_t other = own ^ std::uint64_t{1} << bit;
      sender.send(1, {.context = other, .tag = 1, .bytes = size}, bytes.data());
      OpenReceive receive(receiver), others(receiver);
      for (OpenReceive* const one : {&receive, &others}) {
        (*one)->context = one == &receive ? own : other;
        (*one)->tag = 1;
        (*one)->into = into;
        one->start();
      }
      receiver.progress(false);
      ASSERT_FALSE(receive->complete) << bit;
      ASSERT_TRUE(others->complete) << bit;
      ASSERT_EQ(others->envelope.bytes, size);
    }
  }
}

constexpr std::byte kOld{7}, kNew{8};

// A message from rank 0 to rank 1, which has begun its receive when rank 2 is lost.
struct LostMessage {
  explicit LostMessage(std::size_t size) : bytes(size, kOld), into(size) {
    for (const int rank : {0, 1}) world.enter(rank);
    choose_way(world, Way::direct);
    send.to = 1;
    send.envelope = {.tag = 1, .bytes = size};
    send.bytes = bytes.data();
    sender.start(send);
    receive->tag = 1;
    receive->into = into;
    receive.start();
  }
  void lose_and_reuse() {
    world.fail(2, 0, "test");
    EXPECT_THROW(sender.wait(send), core::LostError);
    std::ranges::fill(bytes, kNew);
    EXPECT_THROW(sender.wait(send), core::LostError);
  }
  bool is_old() const { return std::ranges::count(into, kOld) == std::ssize(into); }

  World world{plan_memory(3, 0), 2};
  Endpoint sender{world, 0}, receiver{world, 1};
  std::vector<std::byte> bytes, into;
  Send send;
  OpenReceive receive{receiver};
};

TEST(Endpoint, TakesAnAnnouncedMessageBackWhenItsSenderHearsOfALoss) {
  for (const std::size_t size : {8, 4096, 60000, 131072, 1 << 20}) {
    LostMessage message(size);
    message.lose_and_reuse();
    for (int i = 0; i < 10; ++i) message.receiver.progress(false);
    EXPECT_TRUE(!message.receive->complete || message.is_old()) << size;
    EXPECT_EQ(message.receive->complete, size < kDirectBytes) << "else it lay with the sender";
  }
}

// The loss comes before, while and after the message is copied.
TEST(Endpoint, WaitsForACopyThatIsBeingMadeWhenItsSenderHearsOfALoss) {
  int complete = 0;
  for (int round = 0; round < 400; ++round) {
    LostMessage message(round % 2 == 0 ? 200'000 : 2'000'000);
    std::atomic<bool> stop{false};
    std::thread receiver([&] {
      while (!stop && !message.receive->complete) message.receiver.progress(false);
    });
    for (int i = 0; i < round * 20; ++i) Waiter::pause();
    message.lose_and_reuse();
    stop = true;
    receiver.join();
    if (!message.receive->complete) continue;
    ++complete;
    ASSERT_TRUE(message.is_old()) << "round " << round;
  }
  EXPECT_LT(complete, 400);
}

// Sends bytes that the receive takes. Returns how they went: d(irectly) or through b(locks).
char exchange(Endpoint& sender, const std::vector<std::byte>& bytes, Endpoint& receiver,
              OpenReceive& receive) {
  Send send;
  send.to = 1;
  send.envelope = {.tag = 1, .bytes = bytes.size()};
  send.bytes = bytes.data();
  sender.start(send);
  const char way = send.record >= 0 ? 'd' : 'b';
  receive->tag = 1;
  receive.start();
  while (!sender.test(send) || !receive->complete) receiver.progress(false);
  return way;
}

// A copy straight from the sender may be the cheaper way into a buffer, blocks are the cheaper way
// to a view.
TEST(Endpoint, SendsLargeMessagesAsTheReceiverTakesThem) {
  World world(plan_memory(2, 0), 2);
  for (const int rank : {0, 1}) world.enter(rank);
  choose_way(world, Way::direct);
  Endpoint sender(world, 0), receiver(world, 1);
  const std::vector<std::byte> bytes(kDirectBytes + 4096, kOld);
  std::vector<std::byte> into(bytes.size());
  std::string ways;
  for (const bool keeps : {false, true, true, false, false}) {
    OpenReceive receive(receiver);
    receive->keeps = keeps;
    receive->into = into;
    ways += exchange(sender, bytes, receiver, receive);
    if (!keeps) {
      EXPECT_EQ(into, bytes);
    }
    EXPECT_EQ(receive->stored.first_block >= 0, keeps && ways.back() == 'b');
    receiver.release(receive->stored);
    std::ranges::fill(into, kNew);
  }
  EXPECT_EQ(ways, "ddbbd") << "each message goes as the one before was taken";
}

// Which way messages go, one after the other.
std::string ways_of(std::size_t size, Way chosen) {
  World world(plan_memory(2, 0), 2);
  for (const int rank : {0, 1}) world.enter(rank);
  Endpoint sender(world, 0), receiver(world, 1);
  const std::vector<std::byte> bytes(size, kOld);
  std::vector<std::byte> into(size);
  std::string ways;
  for (int i = 0; i < 4; ++i) {
    choose_way(world, chosen);
    OpenReceive receive(receiver);
    receive->into = into;
    ways += exchange(sender, bytes, receiver, receive);
    EXPECT_EQ(into, bytes);
  }
  return ways;
}

TEST(Endpoint, SendsLargeMessagesTheWayThatTheReceiverHasChosen) {
  for (const std::size_t size : {16 * 1024, 64 * 1024, 256 * 1024}) {
    EXPECT_EQ(ways_of(size, Way::blocks), "bbbb") << size;
    EXPECT_EQ(ways_of(size, Way::direct), "dddd") << size;
    EXPECT_EQ(ways_of(size, Way::undecided), "bdbd") << size;
  }
  EXPECT_EQ(ways_of(kDirectBytes, Way::direct), "bbbb");
  EXPECT_EQ(ways_of(kMostTriedBytes + 1, Way::blocks), "dddd");
}

// A send that was abandoned before it could begin is announced later, with bytes of the endpoint's.
TEST(Endpoint, TakesAbandonedMessagesBackAtItsEnd) {
  World world(plan_memory(2, 0), 2);
  for (const int rank : {0, 1}) world.enter(rank);
  choose_way(world, Way::direct);
  Endpoint receiver(world, 1);
  std::vector<std::byte> into(100'000);
  OpenReceive receive(receiver);
  {
    Endpoint sender(world, 0);
    const std::array<std::byte, 8> small{};
    const ChannelLayout channel(world.channel(0, 1));
    for (std::uint32_t i = 0; i < channel.line_count; ++i) {
      sender.send(1, {.tag = 2, .bytes = small.size()}, small.data());
    }
    const std::vector<std::byte> bytes(into.size(), kOld);
    auto send = std::make_unique<Send>();
    Send& one = *send;
    send->to = 1;
    send->envelope = {.tag = 1, .bytes = bytes.size()};
    send->bytes = bytes.data();
    sender.start(*send);
    sender.abandon(std::move(send));
    receiver.progress(false);
    sender.progress(false);
    ASSERT_GE(one.record, 0);
  }
  receive->tag = 1;
  receive->into = into;
  receive.start();
  receiver.progress(false);
  EXPECT_FALSE(receive->complete);
}

}  // namespace
}  // namespace tabane::comm::shm
