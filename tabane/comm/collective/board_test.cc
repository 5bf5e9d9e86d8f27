#include "tabane/comm/collective/board.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace tabane::comm {
namespace {

constexpr int kRanks = 3, kRounds = 200;

struct alignas(4096) Page {
  std::byte bytes[4096];
};

// Ranks that are threads and know nothing of each other but what is on the board.
class BoardOfThreads : public GroupMemory {
 public:
  explicit BoardOfThreads(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes() override { return bytes_; }
  void wait(int, const std::function<bool()>& ready) override {
    while (!ready()) std::this_thread::yield();
  }
  void check(int, const std::function<bool()>&) override {}
  void notify(int) override {}
  void notify_all() override {}

 private:
  std::span<std::byte> bytes_;
};

// Calls f(board, rank, errors) on a thread for each rank. Returns how many errors they counted.
template <class F>
int on_boards(const F& f, int ranks = kRanks) {
  const std::size_t bytes = board_bytes(ranks);
  const auto pages = std::make_unique<Page[]>(bytes / sizeof(Page));
  std::vector<int> errors(16 * static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      BoardOfThreads memory({pages[0].bytes, bytes});
      SharedBoard board(rank, ranks, memory);
      f(board, rank, errors[16 * static_cast<std::size_t>(rank)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(errors.begin(), errors.end(), 0);
}

Call call_of(int round, int root = 0) {
  return {.kind = Kind::all_reduce,
          .root = root,
          .bytes = sizeof(int),
          .number = static_cast<std::uint32_t>(round)};
}
int value_of(int round, int rank) { return 10 * round + rank; }
std::span<const std::byte> bytes_of(const int& value) {
  return std::as_bytes(std::span(&value, 1));
}
int read_int(const std::byte* bytes) {
  int value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Of all these, ThreadSanitizer sees whether the plain memory of lines, chunks and slots is written
// before it is read, and read before it is written again.
TEST(BoardOnThreads, LinesComeWhole) {
  const int errors = on_boards([](SharedBoard& board, int rank, int& wrong) {
    Lines& lines = board.lines;
    for (int round = 1; round <= kRounds; ++round) {
      const Word word = lines.begin(call_of(round));
      lines.write(word, bytes_of(value_of(round, rank)));
      for (int other = 0; other < kRanks; ++other) {
        wrong += read_int(lines.read(other, word)) != value_of(round, other);
      }
    }
  });
  EXPECT_EQ(errors, 0);
}

TEST(BoardOnThreads, LinesOfLeadersComeWhole) {
  const int errors = on_boards([](SharedBoard& board, int rank, int& wrong) {
    Lines& lines = board.lines;
    for (int round = 1; round <= kRounds; ++round) {
      const Word word = lines.begin(call_of(round));
      lines.write(word, bytes_of(value_of(round, rank)));
      if (lines.is_leader()) {
        int sum = 0;
        for (int own = rank; own < lines.end_of_my_ranks(); ++own) {
          sum += read_int(lines.read(own, word));
        }
        lines.write_as_leader(word, bytes_of(sum));
      }
      int sum = 0;
      for (int i = 0; i < lines.leaders(); ++i) sum += read_int(lines.read_leader(i, word));
      wrong += sum != 3 * value_of(round, 0) + 3;
    }
  });
  EXPECT_EQ(errors, 0);
}

TEST(BoardOnThreads, TheLastToComeSeesWhatAllHaveDone) {
  std::array<int, kRanks> done{};
  const int errors = on_boards([&](SharedBoard& board, int rank, int& wrong) {
    Lines& lines = board.lines;
    for (int round = 1; round <= kRounds; ++round) {
      const Word word = lines.begin(call_of(round));
      done[static_cast<std::size_t>(rank)] = value_of(round, rank);
      if (lines.is_last()) {
        lines.write_release(word, bytes_of(done[0] + done[1] + done[2]));
      } else {
        wrong += read_int(lines.read_release(word)) != 3 * value_of(round, 0) + 3;
      }
    }
  });
  EXPECT_EQ(errors, 0);
}

TEST(BoardOnThreads, LinesForARootComeWhole) {
  const int errors = on_boards([](SharedBoard& board, int rank, int& wrong) {
    RootLines& lines = board.root_lines;
    for (int round = 1; round <= kRounds; ++round) {
      const int root = round / 5 % kRanks;
      const Word word = lines.begin(call_of(round, root));
      if (rank != root) {
        lines.write(word, root, bytes_of(value_of(round, rank)));
        continue;
      }
      for (int other = 0; other < kRanks; ++other) {
        if (other == root) continue;
        wrong += read_int(lines.read(other, word)) != value_of(round, other);
      }
      lines.end(word);
    }
  });
  EXPECT_EQ(errors, 0);
}

// The ranks take turns to end eight uses without a look, as after an exception.
TEST(BoardOnThreads, LinesOfOpenUsesComeWhole) {
  const int errors = on_boards([](SharedBoard& board, int rank, int& wrong) {
    OpenLines& lines = board.open_lines;
    std::array<Word, 3> words{};  // of the last uses, up to two of them open
    for (int round = 1; round <= kRounds + 1; ++round) {
      int value = value_of(round, rank);
      Call call = call_of(round);
      call.values = std::as_writable_bytes(std::span(&value, 1));
      if (round <= kRounds) words[static_cast<std::size_t>(round % 3)] = lines.begin(call);
      if (round == 1) continue;
      const Word word = words[static_cast<std::size_t>((round - 1) % 3)];
      const bool looks = round / 8 % kRanks != rank;
      for (int other = 0; looks && other < kRanks; ++other) {
        const std::byte* there = nullptr;
        while ((there = lines.look(other, word, static_cast<std::uint32_t>(round - 1))) ==
               nullptr) {
          lines.flush();
          std::this_thread::yield();
        }
        wrong += read_int(there) != value_of(round - 1, other);
      }
      lines.end(word);
    }
    while (!lines.is_written(words[kRounds % 3])) {
      lines.flush();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(errors, 0);
}

TEST(BoardOnThreads, ChunksComeWhole) {
  const int errors = on_boards([](SharedBoard& board, int rank, int& wrong) {
    ChunkRing& ring = board.ring;
    for (int round = 1; round <= kRounds; ++round) {
      const int root = round / 7 % kRanks;
      const Signature signature = signature_of(call_of(round));
      if (rank == root) {
        const int value = value_of(round, root);
        std::memcpy(ring.begin().data(), &value, sizeof value);
        ring.publish(signature);
      } else {
        wrong += read_int(ring.read(signature, root).data()) != value_of(round, root);
        ring.consume(root, round % 7 == 6);
      }
    }
  });
  EXPECT_EQ(errors, 0);
}

TEST(BoardOnThreads, SlotsComeWhole) {
  const int errors = on_boards([](SharedBoard& board, int rank, int& wrong) {
    Slots& slots = board.slots;
    const int before = (rank + kRanks - 1) % kRanks, behind = (rank + 1) % kRanks;
    for (int round = 1; round <= kRounds; ++round) {
      const bool for_all = round % 3 == 0;
      const int value = value_of(round, rank);
      const Signature signature = signature_of(call_of(round));
      std::memcpy(slots.begin(for_all ? any_source : behind).data(), &value, sizeof value);
      slots.publish(signature);
      for (int other = 0; other < kRanks; ++other) {
        if (other == rank || (!for_all && other != before)) continue;
        wrong += read_int(slots.read(other, signature).data()) != value_of(round, other);
      }
      slots.end();
    }
  });
  EXPECT_EQ(errors, 0);
}

// Whoever sees that a rank has begun a call sees what that did before, and a rank finds room for a
// call only when what it replaces has been read. With more ranks than recorded calls no other way
// leads round the ring in time.
TEST(BoardOnThreads, CallsAreRecordedAndReplacedInOrder) {
  constexpr int kMany = kRecordedCalls + 2;
  std::array<std::array<int, kRecordedCalls>, kMany> done{};
  const auto in_ring = [&](SharedBoard& board, int rank, int& wrong) {
    CallRecords& calls = board.calls;
    const int before = (rank + kMany - 1) % kMany;
    for (int round = 1; round <= kRounds / 2; ++round) {
      const auto number = static_cast<std::uint32_t>(round);
      calls.make_room(number);
      done[static_cast<std::size_t>(rank)][number % kRecordedCalls] = value_of(round, rank);
      calls.write({.signature = signature_of(call_of(round)), .parts = number});
      if (round % 2 == 0) {
        calls.compare_with_neighbour(number);
      } else {
        std::optional<CallRecord> record;
        while (!(record = calls.read(before, number))) std::this_thread::yield();
        wrong += record->parts != number;
      }
      const int seen = done[static_cast<std::size_t>(before)][number % kRecordedCalls];
      wrong += seen != value_of(round, before);
    }
  };
  EXPECT_EQ(on_boards(in_ring, kMany), 0);
}

TEST(BoardSize, IsSmallAndInPages) {
  EXPECT_EQ(board_bytes(1), 0u);
  for (const int ranks : {2, 3, 8, 16}) EXPECT_LE(board_bytes(ranks), 150u * 1024) << ranks;
  for (int ranks = 2; ranks <= 512; ++ranks) {
    EXPECT_EQ(board_bytes(ranks) % 4096, 0u);
    EXPECT_LE(board_bytes(ranks), 1024u * 1024);
    EXPECT_LE(least_board_bytes(ranks), board_bytes(ranks));
  }
}

TEST(BoardLayout, FitsIntoWhatThereIs) {
  for (int ranks = 2; ranks <= 512; ranks = ranks * 3 / 2) {
    for (std::size_t bytes = least_board_bytes(ranks); bytes <= 2 * board_bytes(ranks);
         bytes = bytes * 9 / 8) {
      const BoardLayout layout(ranks, bytes);
      EXPECT_LE(layout.end, bytes);
      EXPECT_GE(layout.chunk_bytes, 512u);
      EXPECT_GE(layout.slot_bytes, 256u);
    }
    EXPECT_EQ(BoardLayout(ranks, board_bytes(ranks)).chunk_bytes, 16u * 1024);
  }
}

// Every rank has a leader, and every leader a rank.
TEST(BoardLayout, LeadersCoverTheRanks) {
  for (int ranks = 2; ranks <= 512; ++ranks) {
    const BoardLayout layout(ranks, board_bytes(ranks));
    EXPECT_GE(layout.leaders * layout.width, ranks);
    EXPECT_LT((layout.leaders - 1) * layout.width, ranks);
  }
}

TEST(BoardLayout, PartsFollowEachOther) {
  const BoardLayout layout(5, board_bytes(5));
  EXPECT_EQ(layout.width, 3);
  EXPECT_EQ(layout.leaders, 2);
  EXPECT_EQ(layout.lines, 128u);
  EXPECT_EQ(layout.leader_lines, 128u + 640);
  EXPECT_EQ(layout.root_lines, 768u + 256);
  EXPECT_EQ(layout.consumed, 1024u + 640);
  EXPECT_EQ(layout.chunks, 1664u + 320);
}

}  // namespace
}  // namespace tabane::comm
