// Parts that ranks write to the root's memory in a gather, or read from each other's: what they
// must not write, and not take for a part.
#include <algorithm>
#include <vector>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/group.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

constexpr std::size_t kWritten = 100'000;
constexpr int kRootTag = 1, kLateOrderTag = 2;

template <class T>
void give(Comm& comm, const std::vector<T>& part, std::span<T> all = {}) {
  gather(comm, part, all, 0, Layout::block, {.algorithm = "written"});
}

// The memory of the root goes on behind the parts that it expects.
TEST(GatherWritten, RefusesAPartOfAnotherSizeAndAnswersBothSides) {
  for (const std::size_t size : {kWritten + 4096, kWritten - 1, 3 * kWritten}) {
    run(2, [size](Comm& comm) {
      comm.group().compare_calls(false);
      if (comm.rank() != 0) {
        const std::string error =
            error_of<MessageError>([&] { give(comm, std::vector<char>(size, 'x')); });
        require_contains(error, std::to_string(kWritten) + " bytes");
        require_contains(error, std::to_string(size) + " bytes");
        return comm.send(0, 1);
      }
      std::vector<char> all(2 * kWritten + 8192, 'a');
      error_of<MessageError>([&] {
        give(comm, std::vector<char>(kWritten, 'r'), std::span(all).first(2 * kWritten));
      });
      comm.recv<int>(1);
      const auto others = std::span(all).subspan(kWritten);
      require_equal(std::ranges::count(others, 'a'), std::ssize(others));
    });
  }
}

TEST(GatherWritten, RefusesAPartOfAnotherType) {
  run(2, [](Comm& comm) {
    comm.group().compare_calls(false);
    if (comm.rank() == 0) {
      std::vector<char> all(2 * kWritten);
      error_of<MessageError>([&] { give(comm, std::vector<char>(kWritten), std::span(all)); });
    } else {
      error_of<MessageError>([&] { give(comm, std::vector<short>(kWritten / 2)); });
    }
  });
}

// The root has left because of rank 1, and uses its memory for something else. Then rank 2 comes.
TEST(GatherWritten, LeavesTheMemoryOfARootAloneThatHasLeft) {
  run(3, [](Comm& comm) {
    comm.group().compare_calls(false);
    std::vector<char> all(3 * kWritten, 'a');
    const std::vector<char> part(kWritten, 'x');
    if (comm.rank() == 1) {
      error_of<MessageError>([&] { give(comm, std::vector<char>(kWritten + 1, 'x')); });
    } else if (comm.rank() == 2) {
      comm.recv<int>(0, kRootTag);
      // It has not waited, but the reason can be seen: what rank 1 calls.
      require_contains(error_of<MessageError>([&] { give(comm, part); }),
                       std::to_string(kWritten + 1) + " bytes");
      comm.send(0, 1, kLateOrderTag);
    } else {
      error_of<MessageError>([&] { give(comm, part, std::span(all)); });
      std::ranges::fill(all, 'b');
      comm.send(2, 1, kRootTag);
      comm.recv<int>(2, kLateOrderTag);
      require_equal(std::ranges::count(all, 'b'), std::ssize(all));
    }
    give(comm, part, comm.rank() == 0 ? std::span(all) : std::span<char>());  // it works again
    if (comm.rank() == 0) require_equal(std::ranges::count(all, 'x'), std::ssize(all));
  });
}

constexpr std::size_t kPart = 100'000;
constexpr int kLeftTag = 1, kLateTag = 2;
constexpr CollectiveOptions kRead{.algorithm = "read"};

using Bytes = std::vector<char>;

void take(Comm& comm, const Bytes& all, Bytes& part) {
  scatter(comm, all, part, 0, Layout::block, kRead);
}

TEST(Windows, RefuseAPartOfAnotherSizeAndAnswerBothSides) {
  for (const std::size_t size : {kPart + 4096, kPart - 1}) {
    run(2, [size](Comm& comm) {
      comm.group().compare_calls(false);
      const Bytes all(2 * kPart, 'x');
      Bytes part(comm.rank() == 0 ? kPart : size, 'a');
      const std::string error = error_of<MessageError>([&] { take(comm, all, part); });
      require_contains(error, std::to_string(kPart) + " bytes");
      require_contains(error, std::to_string(size) + " bytes");
      if (comm.rank() == 1) require_equal(std::ranges::count(part, 'a'), std::ssize(part));
    });
  }
}

// The root has left because of rank 1, and uses its memory for something else. Then rank 2 comes.
TEST(Windows, AreNotReadWhenTheRootHasLeft) {
  run(3, [](Comm& comm) {
    comm.group().compare_calls(false);
    Bytes all(3 * kPart, 'x'), part(kPart, 'a');
    if (comm.rank() == 1) {
      Bytes longer(kPart + 1);
      error_of<MessageError>([&] { take(comm, all, longer); });
    } else if (comm.rank() == 2) {
      comm.recv<int>(0, kLeftTag);
      // It has not waited, but the reason can be seen: what rank 1 calls.
      require_contains(error_of<MessageError>([&] { take(comm, all, part); }),
                       std::to_string(kPart + 1) + " bytes");
      require_equal(std::ranges::count(part, 'a'), std::ssize(part));
      comm.send(0, 1, kLateTag);
    } else {
      error_of<MessageError>([&] { take(comm, all, part); });
      std::ranges::fill(all, 'b');
      comm.send(2, 1, kLeftTag);
      comm.recv<int>(2, kLateTag);
    }
    take(comm, all, part);  // it works again
    require_equal(std::ranges::count(part, 'b'), std::ssize(part));
  });
}

// Their lines carry six bits of the size only.
TEST(Windows, OfAllGatherSeeSizesThatDiffer) {
  run(2, [](Comm& comm) {
    comm.group().compare_calls(false);
    Bytes part(comm.rank() == 0 ? 6400 : 12800), all(2 * part.size());
    const std::string error =
        error_of<MessageError>([&] { all_gather(comm, part, all, Layout::block, kRead); });
    require_contains(error, "6400 bytes");
    require_contains(error, "12800 bytes");
  });
}

}  // namespace

}  // namespace tabane::comm
