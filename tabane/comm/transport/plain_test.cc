#include <atomic>
#include <string>

#include "tabane/comm/runners_test.h"
#include "tabane/comm/transport/plain_transport_test.h"

namespace tabane::comm {
namespace {

std::atomic<int>& word(Comm& comm, int index) {
  return reinterpret_cast<std::atomic<int>*>(comm.transport().memory()->bytes().data())[index];
}

TEST(Plain, GivesAGroupMemoryOfZeros) {
  run_plain(3, [](Comm& comm) {
    const std::span<std::byte> bytes = comm.transport().memory()->bytes();
    require(reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096 == 0);
    require(bytes.size() >= 4096);
    for (const std::byte byte : bytes) require(byte == std::byte{});
  });
}

// A value goes round the ranks, through memory alone.
TEST(Plain, WakesWhoWaitsForMemory) {
  run_plain(4, [](Comm& comm) {
    constexpr int kRounds = 50;
    GroupMemory& memory = *comm.transport().memory();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    for (int round = 0; round < kRounds; ++round) {
      const int turn = round * comm.size() + comm.rank();
      memory.wait(previous, [&] { return word(comm, 0).load() == turn; });
      word(comm, 0).store(turn + 1);
      memory.notify((comm.rank() + 1) % comm.size());
    }
  });
}

TEST(Plain, GivesEachGroupItsOwnMemory) {
  run_plain(4, [](Comm& comm) {
    Comm half = comm.split(comm.rank() / 2).value();
    word(half, half.rank()).store(10 + comm.rank());
    half.transport().memory()->notify_all();
    const int peer = 1 - half.rank();
    half.transport().memory()->wait(peer, [&] { return word(half, peer).load() != 0; });
    require_equal(word(half, peer).load(), 10 + (comm.rank() ^ 1));
    require_equal(word(comm, 0).load(), 0);
  });
}

TEST(Plain, EndsAWaitForMemoryInVain) {
  const std::string returned = error_of<core::Error>([] {
    run_plain(2, [](Comm& comm) {
      if (comm.rank() == 0) comm.transport().memory()->wait(1, [] { return false; });
    });
  });
  EXPECT_NE(returned.find("rank 1 has returned"), std::string::npos) << returned;
  const std::string threw = error_of<core::Error>([] {
    run_plain(2, [](Comm& comm) {
      if (comm.rank() == 1) throw core::Error("out of paper");
      error_of<core::LostError>(
          [&] { comm.transport().memory()->wait(any_source, [] { return false; }); });
    });
  });
  EXPECT_EQ(threw, "rank 1: out of paper");
}

// What a rank wrote before it returned is seen, not its end.
TEST(Plain, SeesWhatARankDidBeforeItReturned) {
  for (int i = 0; i < 100; ++i) {
    run_plain(2, [](Comm& comm) {
      if (comm.rank() == 1) return word(comm, 0).store(1);
      comm.transport().memory()->wait(1, [&] { return word(comm, 0).load() == 1; });
    });
  }
}

TEST(Plain, ReportsWhatIsNoException) {
  EXPECT_EQ(error_of<core::Error>([] { run_plain(1, [](Comm&) { throw 5; }); }),
            "rank 0: an exception that is not a std::exception");
}

// Messages under tags of collectives are not for any_tag, and the other way round.
TEST(Plain, KeepsCollectivesMessagesFromAnyTag) {
  run_plain(1, [](Comm& comm) {
    const std::byte byte{7};
    comm.transport().send(0, {kSplitTag, {}}, {&byte, 1});
    require(!comm.probe(any_source, any_tag).has_value());
    std::byte got{};
    comm.transport().recv(any_source, {kSplitTag, {}}, {&got, 1});
    require(got == byte);
  });
}

}  // namespace
}  // namespace tabane::comm
