// Under an MPI launcher: launch can be called again and again, whatever a rank did in the one
// before.
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/runners_test.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

// What launch throws on this rank; empty if nothing.
std::string loss_of(const RankFunction& f) {
  return core::text_of_error<core::LostError>([&] { run_all_of_mpi(f); });
}

TEST(Worlds, MayBeMany) {
  for (int i = 0; i < 40; ++i) {
    run_all_of_mpi([&](Comm& comm) {
      if (comm.rank() == i % comm.size()) return;  // early
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
}

// Longer than a rank that has returned is waited for, and after it.
TEST(Worlds, BringWhatWasSentAfterTheReturn) {
  run_all_of_mpi([](Comm& comm) {
    if (comm.size() == 1 || comm.rank() > 1) return;
    constexpr int kMessages = 500;
    if (comm.rank() == 0) {
      for (int i = 0; i < kMessages; ++i) comm.send(1, i);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    for (int i = 0; i < kMessages; ++i) require_equal(comm.recv<int>(0), i);
  });
}

TEST(Worlds, BringNothingOfTheOneBefore) {
  run_all_of_mpi([](Comm& comm) {
    const std::vector<double> large(5'000, 1);
    const int next = (comm.rank() + 1) % comm.size();
    for (int i = 0; i < 200; ++i) comm.send(next, i);
    if (next == comm.rank()) comm.send(next, large);
  });
  run_all_of_mpi([](Comm& comm) {
    barrier(comm);
    require(!comm.probe(any_source, any_tag));
    barrier(comm);
  });
}

TEST(Worlds, NoticeWhoReturnedEarly) {
  const std::array<RankFunction, 3> waits{[](Comm& comm) { comm.recv<int>(0); },
                                          [](Comm& comm) {
                                            while (!comm.probe(0, any_tag)) {
                                            }
                                          },
                                          [](Comm& comm) { barrier(comm); }};
  for (const auto& wait : waits) {
    bool alone = false;
    const std::string loss = loss_of([&](Comm& comm) {
      alone = comm.size() == 1;
      if (comm.rank() != 0) wait(comm);
    });
    ASSERT_EQ(loss.empty(), alone);
    if (alone) continue;
    EXPECT_NE(loss.find("has returned from its function while rank"), loss.npos) << loss;
    EXPECT_EQ(loss.find("threw"), loss.npos) << loss;  // also if another has told it
  }
}

// The message is sent when the receiver has left the group.
TEST(Worlds, KeepAReceiveThatOutlivesItsGroup) {
  run_all_of_mpi([](Comm& comm) {
    std::optional<Comm> part = comm.split(0);
    std::vector<int> large(20'000, comm.rank());
    if (comm.rank() == 0 && comm.size() > 1) {
      Request received = part->irecv(1, large);
      part.reset();
      comm.send(1, 1);
      received.wait();
      require(large == std::vector<int>(20'000, 1));
    } else if (comm.rank() == 1) {
      comm.recv<int>(0);
      part->send(0, large);
    }
  });
}

// On the rank that finds it, and on all others as that rank's loss. The largest are left out: no
// other launch is possible while a large collective of MPI's own is under way.
TEST(Worlds, TellMismatchedCollectives) {
  int ranks = 1;
  run_all_of_mpi([&](Comm& comm) { ranks = comm.size(); });
  if (ranks == 1) return;
  std::vector<Mismatch> all = all_mismatches();
  std::erase_if(all,
                [](const Mismatch& one) { return one.name.find("of 3000") != std::string::npos; });
  for (const Mismatch& one : all) {
    const std::string text =
        core::text_of_error([&] { run_all_of_mpi([&](Comm& comm) { mismatch(comm, one); }); });
    ASSERT_EQ(missing_in(text, one), "");
  }
}

}  // namespace
}  // namespace tabane::comm
