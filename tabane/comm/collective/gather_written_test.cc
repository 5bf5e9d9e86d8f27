// What must not be written by a gather in which the root's memory is written by others.
#include <algorithm>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

class GatherWritten : public OnRanks {};

constexpr std::size_t kWritten = 100'000;
constexpr int kRootTag = 1, kLateOrderTag = 2;

template <class T>
void give(Comm& comm, const std::vector<T>& part, std::span<T> all = {}) {
  gather(comm, part, all, 0, Layout::block, {.algorithm = "written"});
}

// The memory of the root goes on behind the parts that it expects.
TEST_P(GatherWritten, RefusesAPartOfAnotherSizeAndAnswersBothSides) {
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

TEST_P(GatherWritten, RefusesAPartOfAnotherType) {
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
TEST_P(GatherWritten, LeavesTheMemoryOfARootAloneThatHasLeft) {
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

INSTANTIATE_TEST_SUITE_P(All, GatherWritten, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
