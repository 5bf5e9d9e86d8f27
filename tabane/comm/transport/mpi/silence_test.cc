// Under an MPI launcher, each rank playing a host (TABANE_MPI_EACH_RANK_A_HOST): a host that falls
// silent is lost, one that computes is not. Exits with 1, and says why, if it is otherwise. With
// --endless: messages round the ring until a host is lost.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"

namespace tabane::comm {
namespace {

constexpr double kLimit = 2;
const LaunchOptions kOptions{.transport = TransportKind::mpi, .silence_limit_s = kLimit};

void require(bool holds, const std::string& what) {
  if (!holds) throw core::Error(what);
}

void who_computes_is_not_lost() {
  launch(kOptions, [](Comm& comm) {
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::duration<double>(2 * kLimit));
    barrier(comm);
  });
}

// Rank 1 stops as a whole, with all its threads, until rank 0 has missed it.
void who_is_silent_is_lost() {
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
  require(!loss.empty(), fmt::format("rank {} misses nobody", own));
  require(loss.find("process 1 ") == 0 &&
              (own == 1 || loss.find(".1 has been silent for 2 s") != std::string::npos),
          fmt::format("rank {} says: {}", own, loss));
}

void send_for_ever(Comm& comm) {
  const std::vector<double> out(100'000);
  std::vector<double> in(out.size());
  const int ranks = comm.size(), next = (comm.rank() + 1) % ranks;
  for (;;) {
    comm.exchange(next, out, (comm.rank() + ranks - 1) % ranks, in);
    barrier(comm);
  }
}

int run_all(bool endless) {
  try {
    if (endless) launch(kOptions, send_for_ever);
    who_computes_is_not_lost();
    who_is_silent_is_lost();
    launch(kOptions, [](Comm&) {});  // so that MPI ends well
  } catch (const std::exception& error) {
    fmt::print(stderr, "silence_test: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tabane::comm

int main(int argc, char** argv) {
  return tabane::comm::run_all(std::string(argv[argc - 1]) == "--endless");
}
