// tabane explain: whether it finds the cause of commands whose cause is known.
#include "bench/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <ranges>
#include <vector>

#include "bench/command.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"
#include "tabane/lab/survey/disturbances.h"

namespace tabane::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCauses = "commands whose cause is known";
constexpr double kLeastRight = 0.95, kMostFalse = 0.05;
constexpr double kMostOff = 0.1, kMostFactor = 2;  // of a share, of a working set
constexpr double kMostOthers = 0.1;                // of the PUs, that other programs have meanwhile

enum class Bytes { none, in_memory, in_cache };
struct Known {
  const char* cause;   // of the program
  const char* expect;  // the part of the result's name
  Bytes bytes = Bytes::none;
  bool quick = false;
  unsigned pus = 1;  // with fewer, something else looks the same
  // What must have been taken away; empty: nothing.
  std::string slowdown = {};
  double (*share)(double threads) = nullptr;  // as its program has it; null: not known
};
constexpr const char* kBandwidth = "slowdown.memory_bandwidth.1";
constexpr const char* kCache = "slowdown.shared_cache.1";
double all(double) { return 1; }
double of_locks(double threads) { return 270 * (1 - 1 / threads) / (270 + 30 / threads); }
double of_serial(double threads) { return 200 * (1 - 1 / threads) / (200 + 150 / threads); }

const Known kKnown[] = {{"bandwidth", "memory_bandwidth", Bytes::in_memory, true, 1, kBandwidth},
                        {"latency", "memory_latency", Bytes::in_memory, false, 1, kBandwidth},
                        {"cache", "shared_cache", Bytes::in_cache, true, 1, kCache},
                        {"computing", "computing", Bytes::none, true, 1, "", all},
                        {"locks", "locks", Bytes::none, true, 2, "", of_locks},
                        {"uneven", "unequal_threads", Bytes::none, false, 4},
                        {"serial", "one_thread", Bytes::none, true, 2, "", of_serial},
                        {"faults", "page_faults", Bytes::none, true},
                        {"disk", "disks"},
                        {"pipe", "computing", Bytes::none, false, 1, "", all}};  // of who writes

double bytes_of(Bytes bytes, const core::Topology& topology) {
  const auto caches = topology.caches();
  const double cache = caches.empty() ? 32 * core::kMiB : double(caches.back().bytes);
  return bytes == Bytes::in_cache ? cache / 4 : 4 * cache;
}

struct Named {
  std::string cause;
  double share = 0;
};

// The causes that it names, in the order of its sentences.
std::vector<Named> causes_of(const lab::Json& record) {
  static const std::string kShare = "explain.share.";
  std::map<int, Named> causes;
  for (const lab::Json& result : record.at("results"))
    if (const int place = result.at("details").value("cause", 0); place > 0)
      causes[place] = {result.at("name").get<std::string>().substr(kShare.size()),
                       result.at("value").get<double>()};
  const auto named = causes | std::views::values;
  return {named.begin(), named.end()};
}

double value_of(const lab::Json& record, const std::string& name) {
  for (const lab::Json& result : record.at("results"))
    if (result.at("name") == "explain." + name && result.at("value").is_number())
      return result.at("value").get<double>();
  return 0;
}

struct Answers {
  int asked = 0, judged = 0, right = 0;
  int wrong = 0;                   // with a cause that is none
  int shares = 0, near = 0;        // that are known; within kMostOff
  std::optional<double> set = {};  // the working set that it found over the real one
  lab::Rows rows{{"cause", "named first", "share of its time", "also named", "first sentence"}, {}};
};

void judge(const Known& known, const lab::Json& record, const core::Topology& topology,
           Answers& answers) {
  std::vector<Named> causes = causes_of(record);
  if (causes.empty()) causes.push_back({"nothing"});
  std::vector<std::string> also;
  for (std::size_t i = 1; i < causes.size(); ++i) also.push_back(causes[i].cause);
  ++answers.judged;
  answers.right += causes[0].cause == known.expect;
  answers.wrong += std::ranges::any_of(causes, [&](const Named& named) {
    return named.cause != known.expect && named.cause != "computing";
  });
  if (known.share != nullptr) {
    const double share = value_of(record, std::string("share.") + known.expect);
    ++answers.shares;
    answers.near += std::abs(share - known.share(double(topology.pus().size()))) <= kMostOff;
  }
  if (known.bytes == Bytes::in_cache)
    answers.set = value_of(record, "working_set") / bytes_of(known.bytes, topology);
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
                 program, known.cause,
                 fmt::format("{:.0f}", bytes_of(known.bytes, topology) / core::kMiB)});
    const double others = load.busy_pus().value_or(0);
    const lab::Json record = lab::Json::parse(core::read_file(file));
    if (!known.slowdown.empty() && value_of(record, known.slowdown) == 0)
      return "other PUs took nothing of it, or there was no time";
    if (others > kMostOthers * pus)
      return fmt::format("other programs kept {:.1f} of {} PUs busy", others, pus);
    judge(known, record, topology, answers);
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
  if (answers.shares > 0)
    tell(fmt::format("shares within {} of {} known ones", kMostOff, answers.shares), "share",
         answers.near / double(answers.shares), kLeastRight, true);
  if (answers.set)
    tell("working set, the smaller of the found and the real one over the larger", "ratio",
         std::min(*answers.set, *answers.set > 0 ? 1 / *answers.set : 0), 1 / kMostFactor, true);
}

const RegisteredTopic kTopic({"explain", "causes of commands, found by taking away", ask_explain});

}  // namespace
}  // namespace tabane::bench
