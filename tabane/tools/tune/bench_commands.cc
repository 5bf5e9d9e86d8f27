// Commands that people run, tuned and beside that searched exhaustively.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/bench.h"
#include "bench/command.h"
#include "bench/scratch.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/statistics.h"
#include "tabane/core/temporary_file.h"
#include "tabane/program/args.h"

namespace tabane::bench {
namespace {

constexpr const char* kQuestion = "real commands beside exhaustive search";
constexpr int kTuneRuns = 24;
constexpr int kFewestRounds = 12;    // of the exhaustive search
constexpr int kHeadToHead = 20;      // rounds
constexpr double kCostShare = 0.25;  // of the exhaustive search, at most
constexpr double kMostRegret = 0.05;
constexpr std::size_t kRules = 8;  // of the generated project

using Parameters = std::map<std::string, std::string>;

struct RealCommand {
  std::string name, needs;  // a program in PATH, or a file
  std::vector<std::string> words;
  std::string workers = "threads";     // what counts them: {threads} or {processes}
  std::vector<std::string> vary = {};  // "block=1MiB,4MiB"
};

// Files for the commands to work on.
void make_inputs(const fs::path& folder) {
  std::string lines;
  std::uint64_t seed = 1;
  for (int i = 0; i < 150'000; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    lines += fmt::format("{:x} {}\n", seed >> 20, seed % 1000);
  }
  core::write_file(folder / "lines", lines);
  core::write_file(folder / "text", lines.substr(0, 1 << 20));
  write_random_tree(folder / "files", 0, 12, 1 << 20);
  make_empty(folder / "project");
  std::string objects, sources = "int main(void) { return 0; }\n";
  for (int i = 0; i < 150; ++i)
    sources += fmt::format("int f{0}(int x) {{ return x * {0} + {0}; }}\n", i);
  core::write_file(folder / "project/part.c", sources);
  for (std::size_t i = 0; i < kRules; ++i) objects += fmt::format(" {}.o", i);
  core::write_file(folder / "project/Makefile",
                   fmt::format("all:{0}\n{0}:\n\tcc -O1 -c part.c -o $@\n", objects));
}

std::vector<RealCommand> commands(const fs::path& folder, const std::string& program) {
  const std::string at = folder.string();
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string dgesv = here / "tabane_bench_dgesv";  // needs OpenBLAS
  const std::string allocations = here / "tabane_bench_allocations";
  return {
      {"xz -T",
       "xz",
       {"xz", "-T{threads}", "-1", "--block-size={block}", "-kc", at + "/text"},
       "threads",
       {"block=2MiB,64KiB,256KiB"}},
      {"sort --parallel",
       "sort",
       {"env", "LC_ALL=C", "sort", "--parallel={threads}", "-S{buffer}", at + "/lines"},
       "threads",
       {"buffer=1M,64M"}},
      {"openssl enc, by xargs -P",
       "openssl",
       {"/bin/sh", "-c",
        "ls " + at +
            "/files/* | xargs -P{threads} -n{files} sh -c 'for f; do openssl enc "
            "-aes-256-ctr -pbkdf2 -iter 20000 -k x -in $f -out /dev/null; done' -"},
       "threads",
       {"files=1,4"}},
      {"OpenBLAS, dgesv",
       dgesv,
       {"env", "OPENBLAS_NUM_THREADS={threads}", dgesv, "900", "/dev/null"}},
      {"make -j", "make", {"make", "-s", "-B", "-j{threads}", "-C", at + "/project"}},
      {"malloc in threads",
       allocations,
       {"env", "MALLOC_ARENA_MAX={pools}", allocations, "{threads}"},
       "threads",
       {"pools=1,2,8"}},
      {"mpirun, linpack",
       "mpirun.openmpi",
       {"env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun.openmpi",
        "-n", "{processes}", program, "linpack", "-q", "-n", "700", "--block", "{block}"},
       "processes",
       {"block=64,16"}},
  };
}

bool is_here(const RealCommand& command) {
  return command.needs.front() == '/' ? fs::exists(command.needs) : in_path(command.needs);
}

lab::Json json_in(const fs::path& file) { return lab::Json::parse(core::read_file(file)); }

std::string text_of(const lab::Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Parameters read_parameters(const lab::Json& json) {
  Parameters parameters;
  for (const auto& [name, value] : json.items()) parameters[name] = text_of(value);
  return parameters;
}

struct Tuned {
  double seconds = 0;
  lab::Json dimensions, setting;
  std::string line;  // that was printed
  bool named = false;
};

class Tuner {
 public:
  Tuner(const Settings& settings, fs::path folder)
      : settings_(settings), folder_(std::move(folder)) {}

  Tuned tune(const RealCommand& command) const {
    Command words = {settings_.program,
                     "tune",
                     "-q",
                     "-r",
                     std::to_string(kTuneRuns),
                     "--save",
                     "",
                     "--ignore-output",
                     "--json=" + (folder_ / "tuned.json").string(),
                     "--only",
                     command.workers};
    for (const std::string& one : command.vary) words.insert(words.end(), {"--vary", one});
    words.emplace_back("--");
    words.insert(words.end(), command.words.begin(), command.words.end());
    Tuned tuned{.seconds = run_command(words).wall_seconds};
    const lab::Json view = json_in(folder_ / "tuned.json").at("views").at(0);
    const lab::Json detail = view.at("details").at("tuning");
    tuned.dimensions = detail.at("dimensions");
    tuned.setting = detail.at("kept").at("setting");
    tuned.named = !tuned.setting.at("as_started").get<bool>();
    for (const lab::Json& row : view.at("rows"))
      if (row.at(0) == "to use") tuned.line = row.at(1).get<std::string>();
    return tuned;
  }

  // Medians of all combinations, measured in turn, by their parameters.
  struct Exhaustive {
    double seconds = 0;
    std::map<Parameters, double> medians;

    double best() const {
      return std::ranges::min_element(
                 medians, [](const auto& a, const auto& b) { return a.second < b.second; })
          ->second;
    }
    double of(const Parameters& parameters) const { return medians.at(parameters); }
  };

  Exhaustive search(const RealCommand& command, const Tuned& tuned) const {
    std::size_t combinations = 1;
    Command words = {settings_.program,
                     "time",
                     "-q",
                     "-N",
                     "-w",
                     "1",
                     "--export-json",
                     (folder_ / "all.json").string()};
    for (const lab::Json& dimension : tuned.dimensions) {
      const auto levels = dimension.at("levels").get<std::vector<std::string>>();
      combinations *= levels.size();
      words.insert(words.end(), {"-L", dimension.at("name").get<std::string>(),
                                 fmt::format("{}", fmt::join(levels, ","))});
    }
    const double rounds = std::ceil((kTuneRuns + 2) / kCostShare / double(combinations));
    words.insert(words.end(), {"-r", std::to_string(std::max(kFewestRounds, int(rounds))),
                               program::shell_line(command.words)});
    Exhaustive all{.seconds = run_command(words).wall_seconds};
    const lab::Json found = json_in(folder_ / "all.json");
    for (const lab::Json& one : found.at("results"))
      all.medians[read_parameters(one.at("parameters"))] = one.at("median").get<double>();
    return all;
  }

  // How many times faster the printed line is than the command as started.
  core::Ratio head_to_head(const std::string& as_started, std::string line) const {
    if (line.starts_with("tabane ")) line = settings_.program + line.substr(6);
    run_command({settings_.program, "time", "-q", "-w", "1", "-r", std::to_string(kHeadToHead),
                 "--export-json", (folder_ / "two.json").string(), as_started, line});
    const lab::Json results = json_in(folder_ / "two.json").at("results");
    const auto times = [&](std::size_t i) {
      return results.at(i).at("times").get<std::vector<double>>();
    };
    return core::interleaved_ratio(times(0), times(1));
  }

 private:
  const Settings& settings_;
  fs::path folder_;
};

// The levels that a setting, or without one the command as started, has.
Parameters parameters_of(const Tuned& tuned, bool as_started) {
  Parameters parameters;
  for (const lab::Json& dimension : tuned.dimensions) {
    const auto name = dimension.at("name").get<std::string>();
    const lab::Json& own =
        tuned.setting.contains(name) ? tuned.setting : tuned.setting.at("values");
    parameters[name] = text_of(as_started ? dimension.at("levels").at(0) : own.at(name));
  }
  return parameters;
}

std::string filled(std::string line, const Parameters& parameters) {
  for (const auto& [name, value] : parameters) {
    const std::string mark = "{" + name + "}";
    for (std::size_t at = 0; (at = line.find(mark)) != std::string::npos;)
      line.replace(at, mark.size(), value);
  }
  return line;
}

std::string text_of(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += (text.empty() ? "" : ", ") + name + " " + value;
  return text;
}

lab::Comparison figure(const std::string& text, double value, double limit, const char* unit) {
  return {.question = kQuestion, .unit = unit, .figure = text, .value = value, .limit = limit};
}

void ask_tune_commands(Panel& panel) {
  if (!panel.wants(kQuestion)) return;
  const core::ScratchFolder folder("tabane-bench-tune");
  make_inputs(folder / "");
  const Tuner tuner(panel.settings(), folder / "");
  lab::Rows table{{"command", "combinations", "as started", "best of all", "chosen", "setting",
                   "tuning's cost", "head to head"},
                  {}};
  double costliest = 0;
  int winners = 0, wrong = 0;
  for (const RealCommand& command : commands(folder / "", panel.settings().program)) {
    if (!is_here(command)) {
      panel.skip(kQuestion, command.needs + " is missing", command.name);
      continue;
    }
    const Tuned tuned = tuner.tune(command);
    const auto all = tuner.search(command, tuned);
    const Parameters first = parameters_of(tuned, true);
    const Parameters chosen = parameters_of(tuned, !tuned.named);
    lab::Entry beside;
    if (tuned.named) {
      const core::Ratio ratio =
          tuner.head_to_head(filled(program::shell_line(command.words), first), tuned.line);
      beside = lab::Entry(ratio.value, "ratio", ratio.interval);
      ++winners;
      wrong += ratio.undecided();
    }
    const double cost = tuned.seconds / all.seconds;
    costliest = std::max(costliest, cost);
    table.rows.push_back({command.name, lab::Entry(double(all.medians.size()), "1"),
                          lab::Entry(all.of(first), "s"), lab::Entry(all.best(), "s"),
                          lab::Entry(all.of(chosen), "s"), text_of(chosen),
                          lab::Entry(cost, "share"), beside});
    panel.tell(
        figure("regret: " + command.name, all.of(chosen) / all.best() - 1, kMostRegret, "share"));
  }
  panel.tell(figure("dearest tuning, of the exhaustive search", costliest, kCostShare, "share"));
  panel.tell(figure(fmt::format("of {} named winners, those not confirmed head to head", winners),
                    wrong, 0, "1"));
  panel.show({.name = "tune.commands",
              .title = "Real commands beside exhaustive search",
              .note = fmt::format("All combinations in turn, a round each, at least {} rounds, and "
                                  "a tuning of {} runs; medians. Head to head: as started over the "
                                  "line that was printed, {} pairs measured afresh.",
                                  kFewestRounds, kTuneRuns, kHeadToHead),
              .content = table});
}

const RegisteredTopic kTopic({"tune", "tuning of commands", [](Panel& panel) {
                                panel.part("real commands", [&] { ask_tune_commands(panel); });
                              }});

}  // namespace
}  // namespace tabane::bench
