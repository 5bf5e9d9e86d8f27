// The ring between two threads: no process is needed, so ThreadSanitizer sees both ends.
#include "tabane/comm/transport/shm/channel.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace tabane::comm::shm {
namespace {

struct alignas(4096) Page {
  std::byte bytes[4096] = {};
};

struct Memory {
  explicit Memory(std::size_t size) : pages(std::make_unique<Page[]>(size / sizeof(Page))) {
    layout = std::make_unique<ChannelLayout>(std::span(pages[0].bytes, size));
  }
  std::unique_ptr<Page[]> pages;
  std::unique_ptr<ChannelLayout> layout;
};

std::vector<std::byte> content(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((seed = seed * 1664525 + 1013) >> 24);
  return bytes;
}

TEST(ChannelLayout, PutsAllPartsIntoTheMemoryOneBehindTheOther) {
  for (const std::size_t size : {8192, 12288, 16384, 65536, 524288, 1048576}) {
    const Memory memory(size);
    const ChannelLayout& layout = *memory.layout;
    EXPECT_GE(layout.line_count, 32u);
    EXPECT_TRUE(std::has_single_bit(layout.line_count));
    EXPECT_GE(layout.block_count, 16u);
    EXPECT_LE(layout.block_count, 64u);
    auto* const end_of_records = reinterpret_cast<std::byte*>(layout.records + kRecords);
    EXPECT_LE(end_of_records, layout.blocks);
    EXPECT_EQ(layout.blocks + layout.block_count * layout.block_bytes,
              memory.pages[0].bytes + size);
  }
}

TEST(Channel, KeepsTheSenderFromOverwritingLines) {
  const Memory memory(8192);
  Sender sender(*memory.layout);
  Receiver receiver(*memory.layout);
  EXPECT_EQ(receiver.next(), nullptr);
  std::uint32_t sent = 0;
  while (sender.put_inline({.tag = static_cast<int>(sent), .bytes = 4},
                           reinterpret_cast<const std::byte*>(&sent))) {
    ++sent;
  }
  EXPECT_EQ(sent, memory.layout->line_count);
  for (std::uint32_t i = 0; i < sent; ++i) {
    ASSERT_NE(receiver.next(), nullptr);
    EXPECT_EQ(receiver.next()->tag, static_cast<int>(i));
    receiver.consume(1);
  }
  EXPECT_EQ(receiver.next(), nullptr);
  EXPECT_TRUE(sender.has_lines(memory.layout->line_count));
}

TEST(Channel, GivesNeighbouringBlocksAndTakesThemBackInAnyOrder) {
  const Memory memory(8192);
  Sender sender(*memory.layout);
  Receiver receiver(*memory.layout);
  const std::uint32_t count = sender.block_count();
  EXPECT_EQ(sender.take_blocks(count + 1 > 64 ? 64 : count + 1), -1);
  EXPECT_EQ(sender.take_blocks(count), 0);
  EXPECT_EQ(sender.take_blocks(1), -1);
  receiver.release_blocks(7, 2);
  receiver.release_blocks(3, 1);
  EXPECT_EQ(sender.free_blocks(), 3u);
  EXPECT_EQ(sender.take_blocks(3), -1);
  EXPECT_EQ(sender.take_blocks(2), 7);
  std::uint32_t blocks = 0;
  EXPECT_EQ(sender.take_some_blocks(5, blocks), 3);
  EXPECT_EQ(blocks, 1u);
  EXPECT_EQ(sender.take_some_blocks(5, blocks), -1);
}

TEST(Channel, TakesBlocksInTurnWithinItsWindow) {
  const Memory memory(8192);
  Sender sender(*memory.layout, 8 * memory.layout->block_bytes);
  Receiver receiver(*memory.layout);
  for (const int first : {0, 3, 6}) {  // of three blocks each
    EXPECT_EQ(sender.take_blocks(3), first);
    receiver.release_blocks(first, 3);
  }
  EXPECT_EQ(sender.take_blocks(2), 0) << "9 is beyond the window";
  EXPECT_EQ(sender.take_blocks(4), 2);
  EXPECT_EQ(sender.take_blocks(4), 6) << "begins in it";
  EXPECT_EQ(sender.take_blocks(1), 10) << "all in the window are taken";
}

TEST(Channel, CopiesAllSizesToTheOtherSide) {
  std::vector<std::byte> to(5000);
  for (const std::size_t size : {0, 1, 63, 64, 65, 1023, 1024, 1025, 4096, 4900}) {
    const std::vector<std::byte> from = content(size, 3);
    std::ranges::fill(to, std::byte{9});
    copy_to_other(to.data() + 1, from.data(), size);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << size;
    EXPECT_EQ(to[size + 1], std::byte{9}) << size;
  }
}

TEST(Channel, FreesARecordThatIsReleasedOnceTheSenderHasSeenIt) {
  const Memory memory(8192);
  Sender sender(*memory.layout);
  Receiver receiver(*memory.layout);
  for (std::uint32_t i = 0; i < kRecords; ++i) EXPECT_GE(sender.take_record(), 0);
  EXPECT_EQ(sender.take_record(), -1);
  EXPECT_FALSE(sender.is_called(5));
  receiver.call_sender(5);
  EXPECT_TRUE(sender.is_called(5));
  EXPECT_FALSE(sender.is_released(5));
  receiver.release_record(5);
  EXPECT_TRUE(sender.is_released(5));
  EXPECT_EQ(sender.take_record(), -1);
  sender.leave_record(5);
  EXPECT_FALSE(sender.is_called(5));
  EXPECT_EQ(sender.take_record(), 5);
  EXPECT_FALSE(sender.is_released(5));
}

// Sizes of all kinds, through lines and blocks, some of which the receiver keeps for a while.
void stream(std::size_t memory_size, int messages) {
  const Memory memory(memory_size);
  std::vector<std::uint32_t> sizes;
  std::mt19937 random(7);
  for (int i = 0; i < messages; ++i) {
    const std::uint32_t most = std::array{9u, 41u, 521u, 1500u}[random() % 4];
    sizes.push_back(random() % most);
  }
  std::thread sending([&] {
    Sender sender(*memory.layout);
    for (int i = 0; i < messages; ++i) {
      const auto seed = static_cast<std::uint32_t>(i);
      const std::vector<std::byte> bytes = content(sizes[seed], seed);
      const Envelope envelope{.tag = i, .bytes = bytes.size()};
      if (bytes.size() <= kInlineBytes) {
        while (!sender.put_inline(envelope, bytes.data())) std::this_thread::yield();
        continue;
      }
      const std::uint32_t blocks = sender.blocks_for(bytes.size());
      int block = -1;
      while ((block = sender.take_blocks(blocks)) < 0) std::this_thread::yield();
      std::ranges::copy(bytes, sender.block(block));
      while (!sender.has_lines(1)) std::this_thread::yield();
      sender.put(envelope, LineKind::run, block, static_cast<std::uint32_t>(bytes.size()));
    }
  });
  Receiver receiver(*memory.layout);
  struct Held {
    int block, message;
  };
  std::deque<Held> held;
  const auto check_block = [&](const Held& one) {
    const auto seed = static_cast<std::uint32_t>(one.message);
    const std::vector<std::byte> bytes = content(sizes[seed], seed);
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), receiver.block(one.block))) << one.message;
    receiver.release_blocks(one.block, receiver.blocks_for(bytes.size()));
  };
  for (int i = 0; i < messages; ++i) {
    const Line* line = nullptr;
    while ((line = receiver.next()) == nullptr) std::this_thread::yield();
    ASSERT_EQ(line->tag, i);
    const auto seed = static_cast<std::uint32_t>(i);
    ASSERT_EQ(line->bytes(), sizes[seed]);
    std::uint32_t lines = 1;
    if (line->kind == LineKind::inline_bytes) {
      std::vector<std::byte> bytes(line->bytes());
      receiver.copy_inline(*line, bytes.data());
      ASSERT_EQ(bytes, content(sizes[seed], seed)) << i;
      lines = lines_for(line->bytes());
    } else {
      held.push_back({line->block, i});
    }
    receiver.consume(lines);
    if (held.size() <= 1) continue;  // a message has at most 6 of at least 16 blocks
    const auto which = held.begin() + i % 2;
    check_block(*which);
    held.erase(which);
  }
  for (const Held& one : held) check_block(one);
  sending.join();
}

TEST(Channel, DeliversAllSizesInOrderBetweenThreads) {
  stream(8192, 20000);
  stream(65536, 20000);
}

// Records of large messages, as endpoints use them: the receiver fills one in and calls the sender,
// who reads it and leaves; sometimes both fill in what the other reads, and sometimes the sender
// leaves without a look. All of that is plain memory, so ThreadSanitizer sees whether it is
// ordered.
TEST(Channel, OrdersWhatBothSidesWriteIntoARecord) {
  constexpr int kMessages = 500;
  const Memory memory(8192);
  int wrong = 0;
  std::thread sending([&] {
    Sender sender(*memory.layout);
    for (int i = 0; i < kMessages; ++i) {
      int index = -1;
      while ((index = sender.take_record()) < 0) std::this_thread::yield();
      DirectCopy& record = sender.record(index);
      record.sender = i;
      record.bytes = 0;
      while (!sender.has_lines(1)) std::this_thread::yield();
      sender.put({.tag = i}, LineKind::direct, index, 0);
      while (!sender.is_called(index)) std::this_thread::yield();
      wrong += record.receiver != i;
      if (i % 3 != 0) {
        while (!sender.is_released(index)) std::this_thread::yield();
        wrong += record.bytes != static_cast<std::size_t>(i);
      }
      sender.leave_record(index);
    }
  });
  Receiver receiver(*memory.layout);
  for (int i = 0; i < kMessages; ++i) {
    const Line* line = nullptr;
    while ((line = receiver.next()) == nullptr) std::this_thread::yield();
    const int index = line->block;
    receiver.consume(1);
    DirectCopy& record = receiver.record(index);
    ASSERT_EQ(record.sender, i);
    record.receiver = i;
    receiver.call_sender(index);
    record.bytes = static_cast<std::size_t>(i);
    receiver.release_record(index);
  }
  sending.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tabane::comm::shm
