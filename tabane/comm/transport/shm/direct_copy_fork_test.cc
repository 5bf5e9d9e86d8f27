#include "tabane/comm/transport/shm/direct_copy.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "tabane/team/fork.h"

namespace tabane::comm::shm {
namespace {

constexpr pid_t kNoSuchProcess = 0x7fffffff;

std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 2654435761u >> 13); }

std::vector<std::byte> message(std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = pattern(i);
  return values;
}

bool holds_message(const std::vector<std::byte>& values, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (values[i] != pattern(i)) return false;
  }
  return values[bytes] == std::byte{};  // one more was there: not written
}

struct Shared {
  team::SharedBlock block{4096, "test"};
  DirectCopy& copy = *new (block.data()) DirectCopy;
  std::atomic<int>& ended = *new (block.data() + 2048) std::atomic<int>(0);
};

void wait_for(const std::atomic<int>& flag) {
  while (flag == 0) sched_yield();
}

// The parent receives, a child sends.
struct Ends {
  bool receiver = true, sender = true;
};
void transfer(std::size_t bytes, Ends work) {
  Shared shared;
  DirectCopy& copy = shared.copy;
  const std::vector<std::byte> out = message(bytes);
  std::vector<std::byte> in(bytes + 1);
  copy.receiver = getpid();
  copy.bytes = bytes;
  copy.from = out.data();
  copy.to = in.data();
  const pid_t child = team::fork_child([&] {
    // Its own memory, not what the parent sees as well.
    std::vector<std::byte> own = message(bytes);
    copy.from = own.data();
    copy.sender = getpid();
    begin(copy);
    const bool good = !work.sender || work_as_sender(copy);
    if (good) wait_for(shared.ended);
    return good ? 0 : 1;
  });
  while (copy.open.load() == 0) sched_yield();
  EXPECT_TRUE(!work.receiver || work_as_receiver(copy));
  while (!is_done(copy)) sched_yield();
  EXPECT_FALSE(has_failed(copy));
  EXPECT_TRUE(holds_message(in, bytes)) << bytes;
  shared.ended = 1;
  EXPECT_EQ(team::wait_for_child(child), 0);
}

TEST(DirectCopy, CopiesAllSizesFromBothSides) {
  const std::size_t piece = kLeastPieceBytes, large = 16 * kMostPieceBytes;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1, 2 * piece - 1, 2 * piece,
        3 * piece + 5, 16 * piece - 1, 16 * piece, 17 * piece, 20 * piece + 4097, large - 1,
        large + 1, (std::size_t{64} << 20) + 1}) {
    transfer(bytes, {});
  }
}

TEST(DirectCopy, PiecesCoverTheMessage) {
  DirectCopy copy;
  for (copy.bytes = 0; copy.bytes < 8'000'000; copy.bytes += 4093) {
    const std::size_t piece = piece_bytes_of(copy), pieces = pieces_of(copy);
    ASSERT_EQ(piece % 4096, 0u);
    ASSERT_GE(pieces * piece, copy.bytes);
    ASSERT_TRUE(pieces == 0 || (pieces - 1) * piece < copy.bytes) << copy.bytes;
  }
}

TEST(DirectCopy, OneSideIsEnough) {
  const std::size_t bytes = 5 * kLeastPieceBytes + 3;
  transfer(bytes, {.sender = false});
  transfer(bytes, {.receiver = false});
}

TEST(DirectCopy, TheSameRecordServesManyMessages) {
  Shared shared;
  DirectCopy& copy = shared.copy;
  copy.sender = copy.receiver = getpid();
  for (const std::size_t bytes : {kLeastPieceBytes + 7, std::size_t{0}, 3 * kLeastPieceBytes}) {
    const std::vector<std::byte> out = message(bytes);
    std::vector<std::byte> in(bytes + 1);
    copy.from = out.data();
    copy.to = in.data();
    copy.bytes = bytes;
    begin(copy);
    EXPECT_EQ(is_done(copy), bytes == 0);
    EXPECT_TRUE(work_as_receiver(copy));
    EXPECT_TRUE(work_as_sender(copy));
    EXPECT_TRUE(is_done(copy));
    EXPECT_TRUE(holds_message(in, bytes));
  }
}

// A copy within this process whose other side the kernel refuses, as it would another user's.
struct Refused {
  Refused() {
    copy.sender = copy.receiver = kNoSuchProcess;
    copy.from = out.data();
    copy.to = in.data();
    copy.bytes = out.size();
  }
  std::vector<std::byte> out = message(3 * kLeastPieceBytes), in = out;
  DirectCopy copy;
};

TEST(DirectCopy, StopsWhereTheProcessIsGone) {
  Refused refused;
  for (const auto work : {work_as_receiver, work_as_sender}) {
    begin(refused.copy);
    EXPECT_FALSE(has_failed(refused.copy));
    EXPECT_FALSE(work(refused.copy));
    EXPECT_EQ(refused.copy.error.load(), static_cast<unsigned>(ESRCH));
    EXPECT_TRUE(has_failed(refused.copy));
    EXPECT_FALSE(is_done(refused.copy));
  }
}

TEST(DirectCopy, TheOtherSideStopsToo) {
  Refused refused;
  refused.copy.sender = getpid();
  begin(refused.copy);
  EXPECT_FALSE(work_as_sender(refused.copy));
  const std::uint64_t taken = refused.copy.taken;
  EXPECT_FALSE(work_as_receiver(refused.copy));
  EXPECT_EQ(refused.copy.taken, taken);
}

TEST(DirectCopy, IsNotOverWhileASideStillCopies) {
  Refused refused;
  begin(refused.copy);
  refused.copy.taken += 1;  // as the receiver does first
  EXPECT_FALSE(work_as_sender(refused.copy));
  EXPECT_FALSE(has_failed(refused.copy));
  refused.copy.ended += 1;
  EXPECT_TRUE(has_failed(refused.copy));
}

TEST(DirectCopy, CopiesNothingAfterItWasWithdrawn) {
  for (const auto work : {work_as_receiver, work_as_sender, copy_alone}) {
    Refused withdrawn;
    withdrawn.copy.sender = withdrawn.copy.receiver = getpid();
    std::ranges::fill(withdrawn.in, std::byte{});
    begin(withdrawn.copy);
    withdraw(withdrawn.copy);
    EXPECT_TRUE(has_failed(withdrawn.copy));
    EXPECT_FALSE(work(withdrawn.copy));
    EXPECT_TRUE(has_failed(withdrawn.copy));
    EXPECT_EQ(std::ranges::count(withdrawn.in, std::byte{}), std::ssize(withdrawn.in));
  }
}

TEST(DirectCopy, StopsAtMemoryThatIsNotThere) {
  const std::size_t page = 4096, bytes = 2 * kLeastPieceBytes;
  void* const place =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  auto* const start = static_cast<std::byte*>(place);
  ASSERT_EQ(munmap(start + page, bytes - page), 0);
  std::vector<std::byte> in(bytes);
  DirectCopy copy;
  copy.sender = copy.receiver = getpid();
  copy.from = start;
  copy.to = in.data();
  copy.bytes = bytes;
  begin(copy);
  EXPECT_FALSE(work_as_receiver(copy));
  EXPECT_EQ(copy.error.load(), static_cast<unsigned>(EFAULT));
  munmap(start, page);
}

TEST(DirectCopy, TellsWhetherItMay) {
  const std::uint64_t here = 0;
  EXPECT_TRUE(can_copy_directly(getpid(), &here));
  EXPECT_FALSE(can_copy_directly(kNoSuchProcess, &here));
  EXPECT_FALSE(can_copy_directly(getpid(), nullptr));
}

}  // namespace
}  // namespace tabane::comm::shm
