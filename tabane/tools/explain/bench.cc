// tabane explain: whether it finds the cause of commands whose cause is known.
#include "bench/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "bench/command.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/topology.h"
#include "tabane/lab/survey/disturbances.h"

namespace tabane::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCauses = "commands whose cause is known";
constexpr double kLeastRight = 0.95, kMostFalse = 0.05;
constexpr double kWorthAWord = 0.1;
constexpr double kMostOthers = 0.1;  // of the PUs, that other programs have meanwhile

enum class Bytes { none, in_memory, in_cache };
struct Known {
  const char* cause;   // of the program
  const char* expect;  // the part of the result's name
  Bytes bytes = Bytes::none;
  bool quick = false;
  unsigned pus = 1;  // with fewer, something else looks the same
  // What must have been taken away; empty: nothing.
  std::string slowdown = {};
};
constexpr const char* kBandwidth = "slowdown.memory_bandwidth.1";
constexpr const char* kCache = "slowdown.shared_cache.1";
const Known kKnown[] = {{"bandwidth", "memory_bandwidth", Bytes::in_memory, true, 1, kBandwidth},
                        {"latency", "memory_latency", Bytes::in_memory, false, 1, kBandwidth},
                        {"cache", "shared_cache", Bytes::in_cache, true, 1, kCache},
                        {"computing", "computing", Bytes::none, true},
                        {"locks", "locks", Bytes::none, true, 2},
                        {"uneven", "unequal_threads", Bytes::none, false, 4},
                        {"serial", "one_thread", Bytes::none, true, 2},
                        {"faults", "page_faults", Bytes::none, true},
                        {"disk", "disks"},
                        {"pipe", "computing"}};  // of the end that writes

std::string mib_of(Bytes bytes, const core::Topology& topology) {
  const auto caches = topology.caches();
  const std::uint64_t cache = (caches.empty() ? 32 << 20 : caches.back().bytes) >> 20;
  return std::to_string(bytes == Bytes::in_cache ? cache / 4 : 4 * cache);
}

struct Named {
  std::string cause;
  double share = 0;
};

// The causes that it names, in the order of its sentences.
std::vector<Named> causes_of(const lab::Json& record) {
  static const std::string kShare = "explain.share.";
  std::vector<Named> causes;
  for (const lab::Json& result : record.at("results")) {
    const auto name = result.at("name").get<std::string>();
    if (!name.starts_with(kShare) || !result.at("value").is_number()) continue;
    const Named named{name.substr(kShare.size()), result.at("value").get<double>()};
    const lab::Json& interval = result.at("interval");
    const bool certain = named.cause == "computing" || interval.is_null() || interval.at(0) > 0;
    if (named.share >= kWorthAWord && certain) causes.push_back(named);
  }
  return causes;
}

double value_of(const lab::Json& record, const std::string& name) {
  for (const lab::Json& result : record.at("results"))
    if (result.at("name") == "explain." + name && result.at("value").is_number())
      return result.at("value").get<double>();
  return 0;
}

struct Answers {
  int asked = 0, judged = 0, right = 0;
  int wrong = 0;  // with a cause that is none
  lab::Rows rows{{"cause", "named first", "share of its time", "also named", "first sentence"}, {}};
};

void judge(const Known& known, const lab::Json& record, Answers& answers) {
  std::vector<Named> causes = causes_of(record);
  if (causes.empty()) causes.push_back({"nothing"});
  std::vector<std::string> also;
  for (std::size_t i = 1; i < causes.size(); ++i) also.push_back(causes[i].cause);
  ++answers.judged;
  answers.right += causes[0].cause == known.expect;
  answers.wrong += std::ranges::any_of(causes, [&](const Named& named) {
    return named.cause != known.expect && named.cause != "computing";
  });
  answers.rows.rows.push_back({known.expect, causes[0].cause, lab::Entry(causes[0].share, "share"),
                               fmt::format("{}", fmt::join(also, ", ")),
                               record.at("sentences").at(0).get<std::string>()});
}

void ask_explain(Panel& panel) {
  if (!panel.wants(kCauses)) return;
  if (panel.settings().program.empty()) throw core::Error("there is no tabane to start");
  const core::ScratchFolder folder("tabane-bench-explain");
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = here / "tabane_bench_causes", file = folder / "explained.json";
  const core::Topology topology = core::Topology::detect();
  const auto pus = static_cast<unsigned>(topology.pus().size());
  Answers answers;
  const auto ask = [&](const Known& known) -> std::string {  // why it was not; empty: it was
    if (panel.settings().quick && !known.quick) return "not asked with --quick";
    if (pus < known.pus) return fmt::format("{} PUs tell it from other causes", known.pus);
    ++answers.asked;
    const lab::OthersLoad load;
    run_command({panel.settings().program, "explain", "-q", "--time", "40s", "--json=" + file, "--",
                 program, known.cause, mib_of(known.bytes, topology)});
    const double others = load.busy_pus().value_or(0);
    const lab::Json record = lab::Json::parse(core::read_file(file));
    if (!known.slowdown.empty() && value_of(record, known.slowdown) == 0)
      return "other PUs took nothing of it, or there was no time";
    if (others > kMostOthers * pus)
      return fmt::format("other programs kept {:.1f} of {} PUs busy", others, pus);
    judge(known, record, answers);
    return "";
  };
  for (const Known& known : kKnown)
    panel.part(std::string(kCauses) + ": " + known.expect, [&] {
      if (const std::string reason = ask(known); !reason.empty())
        panel.skip(kCauses, reason, known.expect);
    });
  if (answers.judged == 0) return;
  panel.show(
      {.name = "explain.causes", .title = "What was found", .content = std::move(answers.rows)});
  const auto tell = [&](const std::string& figure, const char* unit, double value, double limit,
                        bool at_least) {
    panel.tell({.question = kCauses,
                .unit = unit,
                .figure = figure,
                .value = value,
                .limit = limit,
                .at_least = at_least});
  };
  const std::string of =
      fmt::format("{} commands judged of {} asked", answers.judged, answers.asked);
  tell("main cause named first, " + of, "share", answers.right / double(answers.judged),
       kLeastRight, true);
  tell("with a cause that is none, " + of, "share", answers.wrong / double(answers.judged),
       kMostFalse, false);
}

const RegisteredTopic kTopic({"explain", "causes of commands, found by taking away", ask_explain});

}  // namespace
}  // namespace tabane::bench
