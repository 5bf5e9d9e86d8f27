// tabane explain: whether it finds the cause of commands whose cause is known.
#include "bench/bench.h"

#include <fmt/format.h>

#include <filesystem>

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

void ask_explain(Panel& panel) {
  if (!panel.wants(kCauses)) return;
  if (panel.settings().program.empty()) throw core::Error("there is no tabane to start");
  const core::ScratchFolder folder("tabane-bench-explain");
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = here / "tabane_bench_causes", file = folder / "explained.json";
  lab::Rows rows{{"cause", "found", "share of its time", "first sentence"}, {}};
  int right = 0;
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
  }
  panel.show({.name = "explain.causes", .title = "What was found", .content = std::move(rows)});
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
