// Runs the conformance suite on one transport.
// usage: tabane_conformance [--transport plain|shm|mpi] [--ranks N] [--only NAME] [--seed S]
//                           [--quick] [--list] [--abort CODE]
//
// Under an MPI launcher with --transport mpi it is one rank of that job. Exits 0 if all holds, 1 if
// something does not, 2 on wrong usage, 3 if a rank was lost; with --abort with that code.
#include "conformance.h"

#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/comm/transport/plain_transport_test.h"
#include "tabane/program/args.h"
#ifdef TABANE_RANKS_ARE_THREADS
#include "tabane/comm/transport/shm/threaded_ranks_test.h"
#endif

namespace tabane::conformance {
namespace {

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto checks :
       {message_checks(), request_checks(), view_checks(), group_checks(), collective_checks(),
        algorithm_checks(), traffic_checks(), mistake_checks()}) {
    all.insert(all.end(), checks.begin(), checks.end());
  }
  return all;
}

// Returns when all ranks have called it; of messages, so that it tests no collective.
void meet(Comm& comm) {
  const char token = 0;
  for (int distance = 1; distance < comm.size(); distance *= 2) {
    const int to = (comm.rank() + distance) % comm.size();
    const int from = (comm.rank() + comm.size() - distance) % comm.size();
    std::array<char, 1> in{};
    comm.exchange(to, std::span(&token, 1), from, in, 0);
  }
}

void run(Comm& world, std::span<const Check> checks, const Settings& settings, bool verbose) {
  Comm between = *world.split(0);  // so that checks may take any message of the world
  for (const Check& check : checks) {
    const auto start = std::chrono::steady_clock::now();
    const std::string name(check.name);
    try {
      check.run(world, settings);
      meet(between);
      require(!world.probe(comm::any_source, comm::any_tag),
              "a message is left that nobody has sent");
      meet(between);
    } catch (const core::LostError&) {
      throw;
    } catch (const std::exception& error) {
      throw core::Error(fmt::format("check {}, rank {} of {}, seed {}: {}", name, world.rank(),
                                    world.size(), settings.seed, error.what()));
    }
    if (!verbose || world.rank() != 0) continue;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%-45s %7.3f s\n", name.c_str(), took.count());
    std::fflush(stdout);
  }
  if (world.rank() == 0) {
    std::printf("%zu checks hold on %s with %d ranks\n", checks.size(),
                std::string(world.transport().name()).c_str(), world.size());
  }
}

struct Options {
  std::string transport = "plain", only;
  int ranks = 0;
  Settings settings;
  bool list = false, verbose = false;
  std::optional<int> abort_code;
};

// The last rank ends the job, while one waits for ever and one computes.
void abort_on_last(Comm& world, int code) {
  comm::barrier(world);
  if (world.rank() == world.size() - 1) world.abort(code);
  if (world.rank() == 0) world.recv<int>(comm::any_source);
  for (volatile bool for_ever = true; for_ever;) continue;
}

int start(const Options& options) {
  std::vector<Check> checks = all_checks();
  if (!options.only.empty()) {
    std::erase_if(checks, [&](const Check& check) {
      return check.name.find(options.only) == std::string_view::npos;
    });
  }
  if (options.list) {
    for (const Check& check : checks) std::printf("%s\n", std::string(check.name).c_str());
    return 0;
  }
  if (checks.empty()) {
    std::fprintf(stderr, "no check is called %s\n", options.only.c_str());
    return 2;
  }
  const auto body = [&](Comm& world) {
    if (options.abort_code) abort_on_last(world, *options.abort_code);
    run(world, checks, options.settings, options.verbose);
  };
  if (options.transport == "plain") {
    comm::run_plain(options.ranks > 0 ? options.ranks : 2, body);
#ifdef TABANE_RANKS_ARE_THREADS
  } else if (options.transport == "shm") {
    comm::shm::launch_on_threads(options.ranks > 0 ? options.ranks : 2, 0, body);
#endif
  } else {
    const bool mpi = options.transport == "mpi";
    comm::launch({.ranks = options.ranks,
                  .transport = mpi ? comm::TransportKind::mpi : comm::TransportKind::shm},
                 body);
  }
  return 0;
}

program::Definition define() {
  const auto options = std::make_shared<Options>();
  return {{{"--transport NAME",
            &options->transport,
            "The transport to check (default plain)",
            {.choices = {"plain", "shm", "mpi"}}},
           {"--ranks N", &options->ranks, "0: as many as the transport takes by itself"},
           {"--only TEXT", &options->only, "Only checks whose name contains this"},
           {"--seed N", &options->settings.seed, "Draw other random numbers (default 1)"},
           {"--quick", &options->settings.quick, "Send smaller and fewer messages"},
           {"--abort CODE", &options->abort_code, "A rank aborts the job with this code instead"},
           {"--list", &options->list, "Print the names of the checks"},
           {"-v,--verbose", &options->verbose, "Print how long each check took"}},
          [options](const program::Given&) { return start(*options); }};
}

}  // namespace
}  // namespace tabane::conformance

int main(int argc, char** argv) {
  using namespace tabane;
  constexpr program::Verb kProgram{.name = "tabane_conformance",
                                   .what = "Checks that a transport keeps its contract",
                                   .define = conformance::define};
  try {
    const program::Call call = program::understand(kProgram, {argv + 1, argv + argc});
    if (!call.answer) return call.run();
    std::fputs(call.answer->c_str(), stdout);
    return 0;
  } catch (const comm::AbortError& error) {
    std::fprintf(stderr, "aborted: %s\n", error.what());
    return error.code();
  } catch (const core::LostError& error) {
    std::fprintf(stderr, "lost: %s\n", error.what());
    return 3;
  } catch (const core::UsageError& error) {
    std::fprintf(stderr, "usage: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
}
