// tabane explain: whether it finds the cause of commands whose cause is known.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "bench/command.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/topology.h"

namespace tabane::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCauses = "commands whose cause is known";
constexpr double kLeastRight = 0.95;
constexpr double kMostAway = 1.15;  // of what is predicted, what is measured
constexpr double kLeastLost = 0.05;

struct Known {
  const char* cause;   // of the program
  const char* expect;  // the part of the result's name
};
constexpr Known kKnown[] = {{"bandwidth", "memory_bandwidth"},
                            {"latency", "memory_latency"},
                            {"cache", "shared_cache"},
                            {"computing", "computing"},
                            {"locks", "locks"},
                            {"uneven", "unequal_threads"},
                            {"serial", "one_thread"},
                            {"faults", "page_faults"},
                            {"disk", "disks"},
                            {"pipe", "a_pipe"}};

// The cause with the largest share; empty if none is known.
std::pair<std::string, double> greatest_share(const lab::Json& record) {
  static const std::string kShare = "explain.share.";
  std::pair<std::string, double> greatest;
  for (const lab::Json& result : record.at("results")) {
    const auto name = result.at("name").get<std::string>();
    if (!name.starts_with(kShare) || !result.at("value").is_number()) continue;
    const double share = result.at("value").get<double>();
    if (share > greatest.second) greatest = {name.substr(kShare.size()), share};
  }
  return greatest;
}

double value_of(const lab::Json& record, const std::string& name) {
  for (const lab::Json& result : record.at("results"))
    if (result.at("name") == "explain." + name && result.at("value").is_number())
      return result.at("value").get<double>();
  return 0;
}

// How many times as fast a program that starts two threads is as with one: predicted from what they
// wait for, and measured. Null where the program has one thread, or where there was no time for
// another number.
std::optional<std::pair<double, double>> gain_of_threads(const lab::Json& record) {
  double lost = 0;
  for (const char* const share : {"one_thread", "unequal_threads", "locks"})
    lost += value_of(record, std::string("share.") + share);
  const double measured = value_of(record, "slowdown.threads.1");
  if (lost < kLeastLost || measured <= 0) return std::nullopt;
  return std::pair(2 * (1 - lost), measured);
}

void ask_explain(Panel& panel) {
  if (!panel.wants(kCauses)) return;
  if (panel.settings().program.empty()) throw core::Error("there is no tabane to start");
  const core::ScratchFolder folder("tabane-bench-explain");
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = here / "tabane_bench_causes", file = folder / "explained.json";
  lab::Rows rows{{"cause", "found", "share of its time", "first sentence"}, {}};
  lab::Rows gains{{"cause", "two threads, predicted", "measured"}, {}};
  int right = 0;
  double away = 1;
  for (const Known& known : kKnown) {
    const std::string mib = std::string(known.cause) == "cache" ? "8" : "256";
    run_command({panel.settings().program, "explain", "-q", "--time",
                 panel.settings().quick ? "15s" : "40s", "--json=" + file, "--", program,
                 known.cause, mib});
    const lab::Json record = lab::Json::parse(core::read_file(file));
    const auto [found, share] = greatest_share(record);
    right += found == known.expect;
    rows.rows.push_back({known.expect, found, lab::Entry(share, "share"),
                         record.at("sentences").at(0).get<std::string>()});
    if (const auto gain = gain_of_threads(record)) {
      gains.rows.push_back({known.expect, {gain->first, "ratio"}, {gain->second, "ratio"}});
      away = std::max({away, gain->first / gain->second, gain->second / gain->first});
    }
  }
  panel.show({.name = "explain.causes", .title = "What was found", .content = std::move(rows)});
  if (!gains.rows.empty()) {
    panel.show({.name = "explain.gains",
                .title = "How many times as fast two threads are as one",
                .content = std::move(gains)});
    panel.tell({.question = kCauses,
                .unit = "ratio",
                .figure = "predicted over measured gain of a second thread, the worst",
                .value = away,
                .limit = kMostAway});
  }
  panel.tell({.question = kCauses,
              .unit = "share",
              .figure = fmt::format("main cause right, of {} commands", std::size(kKnown)),
              .value = right / double(std::size(kKnown)),
              .limit = kLeastRight,
              .at_least = true});
}

const RegisteredTopic kTopic({"explain", "causes of commands, found by taking away", ask_explain});

}  // namespace
}  // namespace tabane::bench
