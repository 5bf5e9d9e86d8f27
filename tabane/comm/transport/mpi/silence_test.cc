// Under an MPI launcher, each rank playing a host (TABANE_MPI_EACH_RANK_A_HOST): a host that falls
// silent is lost, one that computes is not.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

constexpr double kLimit = 2;
const LaunchOptions kOptions{.transport = TransportKind::mpi, .silence_limit_s = kLimit};

TEST(MpiSilence, OfWhoComputesIsNoLoss) {
  launch(kOptions, [](Comm& comm) {
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::duration<double>(2 * kLimit));
    barrier(comm);
  });
}

// Rank 1 stops as a whole, with all its threads, until rank 0 has missed it.
TEST(MpiSilence, OfAWholeHostIsALoss) {
  bool alone = false;
  int own = 0;
  std::string loss;
  try {
    launch(kOptions, [&](Comm& comm) {
      alone = comm.size() == 1;
      own = comm.rank();
      if (alone) return;
      if (own == 1) {
        comm.send(0, static_cast<long>(getpid()), 1);
        std::this_thread::sleep_for(std::chrono::duration<double>(kLimit / 2));
        kill(getpid(), SIGSTOP);
      }
      if (own != 0) comm.recv<int>(0);
      const long pid = comm.recv<long>(1, 1);
      try {
        comm.recv<int>(1);
      } catch (const core::LostError&) {
        kill(static_cast<pid_t>(pid), SIGCONT);
        throw;
      }
    });
  } catch (const core::LostError& error) {
    loss = error.what();
  }
  if (alone) return;
  EXPECT_TRUE(loss.starts_with("process 1 ")) << loss;
  EXPECT_TRUE(own == 1 || loss.find(".1 has been silent for 2 s") != loss.npos) << loss;
}

// Messages round the ring until a host is lost: for hosts_test.py, which cuts a link.
TEST(MpiSilence, DISABLED_EndsAnEndlessRing) {
  launch(kOptions, [](Comm& comm) {
    const std::vector<double> out(100'000);
    std::vector<double> in(out.size());
    const int ranks = comm.size(), next = (comm.rank() + 1) % ranks;
    for (;;) {
      comm.exchange(next, out, (comm.rank() + ranks - 1) % ranks, in);
      barrier(comm);
    }
  });
}

}  // namespace
}  // namespace tabane::comm
