// What must not be written by a gather in which the root's memory is written by others.
#include <algorithm>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

class GatherWritten : public OnRanks {};

constexpr std::size_t kPart = 100'000;
constexpr int kRootTag = 1, kLateTag = 2;

template <class T>
void give(Comm& comm, const std::vector<T>& part, std::span<T> all = {}) {
  gather(comm, part, all, 0, Layout::block, {.algorithm = "written"});
}

// The memory of the root goes on behind the parts that it expects.
TEST_P(GatherWritten, RefusesAPartOfAnotherSizeAndAnswersBothSides) {
  for (const std::size_t size : {kPart + 4096, kPart - 1, 3 * kPart}) {
    run(2, [size](Comm& comm) {
      comm.group().compare_calls(false);
      if (comm.rank() != 0) {
        const std::string error =
            error_of<MessageError>([&] { give(comm, std::vector<char>(size, 'x')); });
        require_contains(error, std::to_string(kPart) + " bytes");
        require_contains(error, std::to_string(size) + " bytes");
        return comm.send(0, 1);
      }
      std::vector<char> all(2 * kPart + 8192, 'a');
      error_of<MessageError>(
          [&] { give(comm, std::vector<char>(kPart, 'r'), std::span(all).first(2 * kPart)); });
      comm.recv<int>(1);
      const auto others = std::span(all).subspan(kPart);
      require_equal(std::ranges::count(others, 'a'), std::ssize(others));
    });
  }
}

TEST_P(GatherWritten, RefusesAPartOfAnotherType) {
  run(2, [](Comm& comm) {
    comm.group().compare_calls(false);
    if (comm.rank() == 0) {
      std::vector<char> all(2 * kPart);
      error_of<MessageError>([&] { give(comm, std::vector<char>(kPart), std::span(all)); });
    } else {
      error_of<MessageError>([&] { give(comm, std::vector<short>(kPart / 2)); });
    }
  });
}

// The root has left because of rank 1, and uses its memory for something else. Then rank 2 comes.
TEST_P(GatherWritten, LeavesTheMemoryOfARootAloneThatHasLeft) {
  run(3, [](Comm& comm) {
    comm.group().compare_calls(false);
    std::vector<char> all(3 * kPart, 'a');
    const std::vector<char> part(kPart, 'x');
    if (comm.rank() == 1) {
      error_of<MessageError>([&] { give(comm, std::vector<char>(kPart + 1, 'x')); });
    } else if (comm.rank() == 2) {
      comm.recv<int>(0, kRootTag);
      // It has not waited, but the reason can be seen: what rank 1 calls.
      require_contains(error_of<MessageError>([&] { give(comm, part); }),
                       std::to_string(kPart + 1) + " bytes");
      comm.send(0, 1, kLateTag);
    } else {
      error_of<MessageError>([&] { give(comm, part, std::span(all)); });
      std::ranges::fill(all, 'b');
      comm.send(2, 1, kRootTag);
      comm.recv<int>(2, kLateTag);
      require_equal(std::ranges::count(all, 'b'), std::ssize(all));
    }
    give(comm, part, comm.rank() == 0 ? std::span(all) : std::span<char>());  // it works again
    if (comm.rank() == 0) require_equal(std::ranges::count(all, 'x'), std::ssize(all));
  });
}

INSTANTIATE_TEST_SUITE_P(All, GatherWritten, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
