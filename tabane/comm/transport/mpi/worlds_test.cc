// Under an MPI launcher: launch can be called again and again, whatever a rank did in the one
// before. Exits with 1, and says why, if not.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/comm/nonblocking_checks_test.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw core::Error(what);
}

void run(const std::function<void(Comm&)>& f) { launch({.transport = TransportKind::mpi}, f); }

// What launch throws on this rank; empty if nothing.
std::string loss_of(const std::function<void(Comm&)>& f) {
  return core::text_of_error<core::LostError>([&] { run(f); });
}

void many_launches() {
  for (int i = 0; i < 40; ++i) {
    run([&](Comm& comm) {
      if (comm.rank() == i % comm.size()) return;  // early
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
}

// Longer than a rank that has returned is waited for, and after it.
void what_was_sent_arrives_after_the_return() {
  run([](Comm& comm) {
    if (comm.size() == 1 || comm.rank() > 1) return;
    constexpr int kMessages = 500;
    if (comm.rank() == 0) {
      for (int i = 0; i < kMessages; ++i) comm.send(1, i);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    for (int i = 0; i < kMessages; ++i) require(comm.recv<int>(0) == i, "a message is not there");
  });
}

void what_nobody_took_does_not_come_later() {
  run([](Comm& comm) {
    const std::vector<double> large(5'000, 1);
    const int next = (comm.rank() + 1) % comm.size();
    for (int i = 0; i < 200; ++i) comm.send(next, i);
    if (next == comm.rank()) comm.send(next, large);
  });
  run([](Comm& comm) {
    barrier(comm);
    require(!comm.probe(any_source, any_tag), "a message of the launch before has come");
    barrier(comm);
  });
}

void who_returned_early_is_noticed() {
  const std::array<std::function<void(Comm&)>, 3> waits{[](Comm& comm) { comm.recv<int>(0); },
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
    require(loss.empty() == alone, "the return of rank 0 was not noticed");
    require(alone || loss.find("has returned from its function while rank") != std::string::npos,
            loss.c_str());
    require(loss.find("threw") == std::string::npos, loss.c_str());  // also if another has told it
  }
}

// The message is sent when the receiver has left the group.
void a_receive_outlives_its_group() {
  run([](Comm& comm) {
    std::optional<Comm> part = comm.split(0);
    std::vector<int> large(20'000, comm.rank());
    if (comm.rank() == 0 && comm.size() > 1) {
      Request received = part->irecv(1, large);
      part.reset();
      comm.send(1, 1);
      received.wait();
      require(large == std::vector<int>(20'000, 1),
              "a message to a group that has ended is another");
    } else if (comm.rank() == 1) {
      comm.recv<int>(0);
      part->send(0, large);
    }
  });
}

// On the rank that finds it, and on all others as that rank's loss. The largest are left out: no
// other launch is possible while a large collective of MPI's own is under way.
void mismatched_collectives_are_told() {
  int ranks = 1;
  run([&](Comm& comm) { ranks = comm.size(); });
  if (ranks == 1) return;
  std::vector<Mismatch> all = all_mismatches();
  for (const Mismatch& one : checks::mismatches_of_non_blocking()) all.push_back(one);
  std::erase_if(all,
                [](const Mismatch& one) { return one.name.find("of 3000") != std::string::npos; });
  for (const Mismatch& one : all) {
    const std::string text =
        core::text_of_error([&] { run([&](Comm& comm) { mismatch(comm, one); }); });
    const std::string missing = missing_in(text, one);
    require(missing.empty(), missing.c_str());
  }
}

void collectives_that_do_not_block() {
  run([](Comm& comm) {
    checks::results_of_every_size_and_root(comm);
    checks::barrier_waits_for_all(comm);
    checks::several_end_in_any_order(comm);
    checks::other_waits_help(comm);
    checks::mixes_with_messages_and_groups(comm);
    checks::refuses_what_cannot_be(comm);
    checks::compared_ones_give_results(comm);
  });
}

int run_all() {
  try {
    collectives_that_do_not_block();
    a_receive_outlives_its_group();
    mismatched_collectives_are_told();
    many_launches();
    what_was_sent_arrives_after_the_return();
    what_nobody_took_does_not_come_later();
    who_returned_early_is_noticed();
    many_launches();
  } catch (const std::exception& error) {
    fmt::print(stderr, "worlds_test: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tabane::comm

int main() { return tabane::comm::run_all(); }
