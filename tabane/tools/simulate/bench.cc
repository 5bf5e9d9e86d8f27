// Simulated machines: how long a message of theirs takes this computer, and how well a survey
// predicts what solvers take here; how well the AP1000 predicts what was published of it.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/command.h"
#include "bench/remote.h"
#include "bench/solvers.h"
#include "tabane/comm/grid.h"
#include "tabane/comm/launch.h"
#include "tabane/comm/simulated_run.h"
#include "tabane/core/clock.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/lab/record/published.h"
#include "tabane/program/args.h"
#include "tabane/tools/simulate/bench_patterns.h"
#include "tabane/tools/simulate/halo.h"

namespace tabane::bench {
namespace {

double times_apart(double a, double b) { return std::max(a / b, b / a); }

void tell_messages(Panel& panel) {
  constexpr const char* kQuestion = "halo exchange, 1024 ranks";
  if (!panel.wants(kQuestion)) return;
  panel.part(kQuestion, [&] {
    constexpr int kSide = 32;
    const simulate::Halo halo{.side = 320, .steps = panel.settings().quick ? 50 : 1000, .sums = 0};
    const double messages = 4.0 * kSide * (kSide - 1) * halo.steps;
    const double begin = core::tick_clock().now();
    simulate::simulate_halo("ap1000:32x32", "", halo);
    const double seconds = core::tick_clock().now() - begin;
    if (!panel.settings().quick) panel.tell(kQuestion, "s", "1000 steps", {seconds}, {60});
    panel.tell(kQuestion, "s", "a message", {seconds / messages}, {15e-6});
  });
}

class Rank : public simulate::Endpoint {
 public:
  Rank(comm::Comm& comm, std::size_t bytes) : comm_(comm), message_(bytes) {}
  void send(int to, std::size_t) override { comm_.send(to, message_); }
  void recv(int from, std::size_t) override { comm_.recv(from, message_); }

 private:
  comm::Comm& comm_;
  std::vector<std::byte> message_;
};

double simulated_seconds(const std::string& machine, const std::string& pattern,
                         std::size_t bytes) {
  comm::SimulatedRun run;
  comm::launch({.machine = machine}, [&](comm::Comm& comm) {
    if (comm.rank() == 0) comm::record_run(comm.transport(), run);
    Rank self(comm, bytes);
    simulate::run_pattern(pattern, self, comm.rank(), comm.size(), bytes);
  });
  return run.seconds;
}

// The same traffic in SimGrid, on a network where messages do not disturb each other.
void tell_like_simgrid(Panel& panel) {
  constexpr int kRanks = 16;
  constexpr std::size_t kBytes = 1000;
  const std::string program = beside_this_program("tabane_bench_simgrid");
  const core::ScratchFolder folder("simgrid");
  const std::string machine = folder / "machine.txt", file = folder / "seconds";
  const auto law = [](const simulate::Linear& time) {
    return fmt::format("{} + {} x", 1e6 * time.setup, 1e6 * time.byte);
  };
  std::ofstream(machine) << fmt::format(
      "shape = 1x{}\nsend.latency = {}\nsend.occupancy = {}\nrecv.copy = {}\n", kRanks,
      law(simulate::kWire), law(simulate::kSend), law(simulate::kReceive));
  for (const std::string pattern : {"ring", "transpose", "broadcast"}) {
    const std::string question = pattern + " of 16 ranks";
    if (!panel.wants(question)) continue;
    if (!std::filesystem::exists(program)) {
      panel.skip(question, "libsimgrid-dev was not there when bench was built", "SimGrid");
      continue;
    }
    panel.part(question, [&] {
      run_command({program, pattern, fmt::format("{}", kRanks), fmt::format("{}", kBytes), file});
      panel.tell(question, "ratio", "simulated time to SimGrid's, or the inverse",
                 {times_apart(simulated_seconds(machine, pattern, kBytes),
                              std::strtod(core::read_file(file).c_str(), nullptr))},
                 {1.05});
    });
  }
}

// Two ranks here, and on the machine that a survey makes of this one.
void tell_predictions(Panel& panel) {
  constexpr const char* kSurvey =
      "clock,core_to_core.latency,comm,peak,memory.bandwidth,simd.dot.l1";
  const std::string& program = panel.settings().program;
  const core::ScratchFolder folder("simulate");
  const std::string machine = folder / "this.txt";
  // Each on the grid that it takes for two ranks.
  using Asked = std::pair<std::string, std::string>;
  for (const Asked& asked :
       {Asked{"scg -n 400", "2x1"}, Asked{"scg -n 1000", "2x1"}, Asked{"linpack -n 4000", "1x2"},
        Asked{"slalom --patches 1000", "2x1"}, Asked{"slalom --patches 2000", "2x1"}}) {
    const std::string &solver = asked.first, &grid = asked.second;
    const std::string question = solver + ", predicted from a survey";
    if (!panel.wants(question)) continue;
    if (program.empty()) return panel.skip(question, "tabane was not found");
    panel.part(question, [&] {
      const int runs = panel.settings().quick ? 1 : 5;
      std::vector<double> errors;
      for (int i = 0; i < runs; ++i) {
        run_command(
            shell(fmt::format("{0} survey -q --quick --force --only {1} -o {2} && {0} simulate "
                              "--from {2}/survey.json "
                              "> {3}",
                              program, kSurvey, (folder / "survey").string(), machine)));
        const auto seconds = [&](const std::string& where) {
          return solver_run(panel.settings(), folder / "run.json", "", solver + where, 1).timed(1);
        };
        errors.push_back(times_apart(seconds(fmt::format(" --machine {}:{}", machine, grid)),
                                     seconds(fmt::format(" --ranks 2 --grid {}", grid))));
      }
      panel.tell(question, "ratio", "predicted to measured time, or the inverse", errors, {1.15});
    });
  }
}

// Runs of applications that were published of the AP1000, on the simulated one.
void tell_published(Panel& panel) {
  const core::ScratchFolder folder("simulate");
  const std::map<std::string, std::string> verbs{
      {"linpack", "linpack --pattern 1992 -n"}, {"scg", "scg -n"}, {"slalom", "slalom --patches"}};
  for (const lab::Result& row : lab::published("ap1000-applications").results) {
    // ap1000.applications.scg.n100.ranks256
    const program::Words words = program::split_words(row.name, '.');
    const int ranks = static_cast<int>(*row.number_detail("ranks"));
    const comm::GridShape shape = comm::fit_grid(ranks);
    const std::string run = fmt::format("{} {} --machine ap1000:{}x{}", verbs.at(words.at(2)),
                                        words.at(3).substr(1), shape.rows, shape.columns);
    const std::string question = run + ", as published";
    if (!panel.wants(question)) continue;
    if (panel.settings().program.empty()) return panel.skip(question, "tabane was not found");
    panel.part(question, [&] {
      const double seconds = solver_run(panel.settings(), folder / "run.json", "", run, 1).timed(1);
      panel.tell(question, "ratio", "simulated to published time, or the inverse",
                 {times_apart(seconds, *row.value)}, {words.at(2) == "scg" ? 1.12 : 1.05});
    });
  }
}

// What a simulated run takes this computer.
void tell_cost(Panel& panel) {
  constexpr const char* kQuestion = "scg -n 400 --machine ap1000:16x32, on this computer";
  if (!panel.wants(kQuestion)) return;
  const std::string& program = panel.settings().program;
  if (program.empty()) return panel.skip(kQuestion, "tabane was not found");
  panel.part(kQuestion, [&] {
    const Usage used =
        run_command({program, "scg", "-n", "400", "--machine", "ap1000:16x32", "-q"});
    panel.tell(kQuestion, "s", "time", {used.wall_seconds}, {120});
    panel.tell(kQuestion, "B", "peak memory", {static_cast<double>(used.peak_resident_bytes)},
               {0x1p32});
  });
}

const RegisteredTopic kTopic({"simulate", "simulated machines", [](Panel& panel) {
                                tell_messages(panel);
                                tell_like_simgrid(panel);
                                tell_predictions(panel);
                                tell_published(panel);
                                tell_cost(panel);
                              }});

}  // namespace
}  // namespace tabane::bench
