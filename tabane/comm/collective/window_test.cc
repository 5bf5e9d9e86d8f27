// Parts that ranks read from each other's memory: what they must not take for a part.
#include <algorithm>
#include <vector>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

class Windows : public OnRanks {};

constexpr std::size_t kPart = 100'000;
constexpr int kLeftTag = 1, kLateTag = 2;
constexpr CollectiveOptions kRead{.algorithm = "read"};

using Bytes = std::vector<char>;

void take(Comm& comm, const Bytes& all, Bytes& part) {
  scatter(comm, all, part, 0, Layout::block, kRead);
}

TEST_P(Windows, RefuseAPartOfAnotherSizeAndAnswerBothSides) {
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
TEST_P(Windows, AreNotReadWhenTheRootHasLeft) {
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
TEST_P(Windows, OfAllGatherSeeSizesThatDiffer) {
  run(2, [](Comm& comm) {
    comm.group().compare_calls(false);
    Bytes part(comm.rank() == 0 ? 6400 : 12800), all(2 * part.size());
    const std::string error =
        error_of<MessageError>([&] { all_gather(comm, part, all, Layout::block, kRead); });
    require_contains(error, "6400 bytes");
    require_contains(error, "12800 bytes");
  });
}

INSTANTIATE_TEST_SUITE_P(All, Windows, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
