// tabane time against hyperfine: differences claimed between a command and itself while the machine
// is loaded in bursts, and what a run costs besides the command.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "bench/command.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/measurement.h"
#include "tabane/core/temporary_file.h"

namespace tabane::bench {
namespace {

constexpr const char* kFalse = "differences of a command from itself under load in bursts";
constexpr const char* kOverhead = "a run of a command that does nothing";
constexpr int kComparisons = 100, kComparisonsOfQuick = 20, kRounds = 30;
constexpr double kMostFalse = 0.05;
// About ten milliseconds.
constexpr const char* kWork = "/bin/sh -c 'i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done'";

// Keeps all PUs busy in bursts of random lengths, with pauses as long.
class BurstLoad {
 public:
  explicit BurstLoad(std::uint32_t seed) {
    const unsigned pus = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < pus; ++i) threads_.emplace_back([this] { work(); });
    threads_.emplace_back([this, seed] { switch_on_and_off(seed); });
  }
  ~BurstLoad() { over_ = true; }

 private:
  void work() const {
    double sum = 1;
    while (!over_) {
      if (!on_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        continue;
      }
      for (int i = 0; i < 10000; ++i) sum += 1 / sum;
      core::keep(sum);
    }
  }
  void switch_on_and_off(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> seconds(0.05, 0.6);
    while (!over_) {
      on_ = !on_;
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds(random)));
    }
  }

  std::atomic<bool> over_ = false, on_ = false;
  std::vector<std::jthread> threads_;
};

lab::Json results_in(const std::filesystem::path& file) {
  return lab::Json::parse(core::read_file(file)).at("results");
}

bool tabane_claims(const std::string& program, const std::filesystem::path& file) {
  run_command({program, "time", "-q", "-N", "-w", "0", "-M", std::to_string(kRounds), "--min-time",
               "0", "--export-json", file.string(), kWork, kWork});
  const lab::Json interval = results_in(file).at(1).at("ratio_interval");
  if (interval[0].is_null() || interval[1].is_null()) return false;
  return interval[0].get<double>() > 1 || interval[1].get<double>() < 1;
}

// Welch's t of hyperfine's times beyond 5 %, as its own script welch_ttest.py judges them.
bool hyperfine_claims(const std::filesystem::path& file) {
  run_command({"hyperfine", "-N", "--style", "none", "-r", std::to_string(kRounds), "--export-json",
               file.string(), kWork, kWork});
  const lab::Json results = results_in(file);
  const auto times = [&](std::size_t i) {
    return results.at(i).at("times").get<std::vector<double>>();
  };
  const std::vector<double> a = times(0), b = times(1);
  const auto squared_error = [](const std::vector<double>& samples) {
    return std::pow(core::standard_deviation(samples), 2) / static_cast<double>(samples.size());
  };
  constexpr double kOf95Percent = 2.0;  // of Student's t with about 58 degrees of freedom
  return std::fabs(core::mean(a) - core::mean(b)) >
         kOf95Percent * std::sqrt(squared_error(a) + squared_error(b));
}

void ask_false_differences(Panel& panel) {
  const core::ScratchFolder folder("tabane-bench-time");
  const bool peer = in_path("hyperfine");
  const int comparisons = panel.settings().quick ? kComparisonsOfQuick : kComparisons;
  int ours = 0, theirs = 0;
  {
    const BurstLoad load(2018);
    for (int i = 0; i < comparisons; ++i) {
      ours += tabane_claims(panel.settings().program, folder / "ours.json");
      if (peer) theirs += hyperfine_claims(folder / "theirs.json");
    }
  }
  const auto share = [&](int claimed) { return static_cast<double>(claimed) / comparisons; };
  panel.tell({.question = kFalse,
              .unit = "share",
              .figure = fmt::format("tabane time: {} comparisons, up to {} rounds each",
                                    comparisons, kRounds),
              .value = share(ours),
              .limit = kMostFalse});
  if (peer)
    panel.tell({.question = kFalse,
                .unit = "share",
                .figure = fmt::format("hyperfine, one after the other, {} runs each, Welch's t; {}",
                                      kRounds, version_said_by("hyperfine --version")),
                .value = share(theirs)});
}

// Seconds that `more` further runs take; starting the program itself counts for nothing.
double seconds_of_runs(Command command, int more) {
  constexpr int kBefore = 20;
  const auto seconds = [&](int runs) {
    Command with = command;
    with.insert(with.end(), {"-r", std::to_string(runs), "true"});
    return run_command(with).wall_seconds;
  };
  const double before = seconds(kBefore);
  return std::max(1e-9, seconds(kBefore + more) - before);
}

void ask_overhead(Panel& panel) {
  constexpr int kRuns = 300;
  const auto contender = [](const std::string& name, const Command& command) {
    return Contender{.name = name,
                     .amount = kRuns,
                     .how = started_as(command, ""),
                     .timed = [command](std::uint64_t iterations) {
                       return seconds_of_runs(command, kRuns * static_cast<int>(iterations));
                     }};
  };
  Contender peer = contender("hyperfine -N", {"hyperfine", "-N", "--style", "none"});
  if (!in_path("hyperfine")) peer.missing = "hyperfine is not installed";
  core::MeasureOptions measure = panel.settings().measure;
  measure.single_iteration = true;
  measure.warmup_epochs = 0;
  measure.min_epochs = panel.settings().quick ? 6 : 21;
  measure.max_epochs = 2 * measure.min_epochs;
  panel.ask({.name = kOverhead,
             .unit = "runs/s",
             .ours = contender("tabane time -N",
                               {panel.settings().program, "time", "-q", "-N", "-w", "0"}),
             .peers = {peer},
             .measure = measure});
}

void ask_time(Panel& panel) {
  if (!panel.settings().list_only && panel.settings().program.empty())
    throw core::Error("there is no tabane to start");
  ask_overhead(panel);
  if (panel.wants(kFalse)) ask_false_differences(panel);
}

const RegisteredTopic kTopic({"time", "commands compared in turn, beside hyperfine", ask_time});
// Tuning rests on it.
const RegisteredTopic kTune({"tune", "tuning of commands", [](Panel& panel) {
                               panel.part("tabane time", [&] { ask_time(panel); });
                             }});

}  // namespace
}  // namespace tabane::bench
