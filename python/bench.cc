// Python: tabane.Team beside multiprocessing.Pool and joblib, on items of 100 us and 1 GiB of data.
#include "bench/bench.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "bench/command.h"
#include "bench/remote.h"
#include "tabane/core/error.h"
#include "tabane/core/topology.h"

namespace tabane::bench {
namespace {

// bench_map.py, once as each contender; `loop` is one process.
class Maps {
 public:
  explicit Maps(Panel& panel) : panel_(panel) {
    if (panel.settings().list_only) return;
    const auto script =
        std::filesystem::path(panel.settings().program).parent_path() / "python/bench_map.py";
    for (const std::string who : {"loop", "team", "pool", "joblib"}) {
      try {
        remotes_[who] = std::make_unique<Remote>(
            who, Command{"python3", script, who, who == "loop" ? "1" : processes_});
      } catch (const core::Error& error) {
        remotes_.erase(who);
        missing_[who] = error.what();
      }
    }
    if (!remotes_.contains("loop")) return;
    const std::uint64_t bytes = remotes_["loop"]->ask("calibrate");
    for (const auto& [who, remote] : remotes_) remote->ask("size", bytes);
  }

  void ask(std::uint64_t items, int epochs) {
    const std::string question = fmt::format("{} items of 100 us", items);
    if (!wants(question)) return;
    const std::string verb = std::to_string(items);
    const std::uint64_t expected = remotes_["loop"]->ask(verb);
    Question asked{question,
                   "items/s",
                   contender("team", "tabane.Team", verb, expected),
                   {contender("pool", "multiprocessing.Pool", verb, expected),
                    contender("joblib", "joblib.Parallel", verb, expected)}};
    asked.measure = long_runs(panel_.settings(), epochs, 20);
    panel_.ask(asked);
  }

  // Memory that processes share is counted once.
  void tell_memory() {
    const std::string question = "memory in the middle of a map";
    if (!wants(question)) return;
    for (const auto& [who, remote] : remotes_) {
      panel_.tell({.question = question,
                   .unit = "B",
                   .figure = who == "loop" ? "one process" : "all processes of " + who,
                   .value = static_cast<double>(remote->ask("pss"))});
    }
  }

 private:
  bool wants(const std::string& question) {
    if (!panel_.wants(question)) return false;
    if (remotes_.contains("loop") && remotes_.contains("team")) return true;
    panel_.skip(question, missing_.at(missing_.contains("team") ? "team" : "loop"));
    return false;
  }

  Contender contender(const std::string& who, const std::string& name, const std::string& verb,
                      std::uint64_t expected) {
    Contender one{.name = name, .amount = std::stod(verb), .target = 1.5};
    if (!remotes_.contains(who)) {
      one.missing = missing_[who];
      return one;
    }
    if (remotes_[who]->ask(verb) != expected) {
      throw core::Error(name + " has other results than a loop");
    }
    one.work = remotes_[who]->work(verb);
    one.how = fmt::format("bench_map.py {} {}; {}", who, processes_,
                          version_said_by("python3 --version"));
    return one;
  }

  Panel& panel_;
  std::string processes_ = std::to_string(core::Topology::detect().pus().size());
  std::map<std::string, std::unique_ptr<Remote>> remotes_;
  std::map<std::string, std::string> missing_;
};

const RegisteredTopic topic({"python", "Python: a function mapped over items by processes",
                             [](Panel& panel) {
                               Maps maps(panel);
                               maps.ask(1'000, 11);
                               maps.ask(100'000, 3);
                               maps.tell_memory();
                             }});

}  // namespace
}  // namespace tabane::bench
