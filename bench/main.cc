// tabane_bench: compares tabane with its peers on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "tabane/program/args.h"

namespace {

bool any_part_of(const std::vector<std::string>& parts, const std::string& text) {
  return parts.empty() || std::ranges::any_of(parts, [&](const std::string& part) {
           return text.find(part) != std::string::npos;
         });
}

// For build/bench/tabane_bench that is build/tabane.
std::string program_beside_this() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path().parent_path() / "tabane";
  return !error && std::filesystem::exists(program, error) ? program.string() : "";
}

struct BenchOptions {
  std::vector<std::string> only, questions;
  std::string output, directory = "/dev/shm", program = program_beside_this();
  bool list = false, quick = false, strict = false;
};

int run(const BenchOptions& options, const std::string& command_line) {
  using namespace tabane;
  bool found = false, complete = true;
  for (const bench::Topic& topic : bench::registered_topics()) {
    if (!options.only.empty() && std::ranges::find(options.only, topic.name) == options.only.end())
      continue;
    found = true;
    bench::Settings settings;
    settings.command_line = command_line;
    settings.list_only = options.list;
    settings.quick = options.quick;
    settings.directory = options.directory;
    settings.program = options.program;
    if (options.quick) settings.measure.budget_seconds /= 10;
    settings.wanted = [&](const std::string& name) { return any_part_of(options.questions, name); };
    bench::Panel panel(topic, settings);
    panel.run();
    complete = complete && !panel.failed() && !(options.strict && panel.skipped());
    if (options.output.empty() || options.list) continue;
    fmt::print("The page is {}\n", bench::write(panel.record(), options.output));
    std::fflush(stdout);
  }
  if (!found) {
    fmt::print(stderr, "tabane_bench: no such topic; there is:");
    for (const bench::Topic& topic : bench::registered_topics())
      fmt::print(stderr, " {}", topic.name);
    fmt::print(stderr, "\n");
    return 2;
  }
  return complete ? 0 : 1;
}

tabane::program::Definition define() {
  const auto options = std::make_shared<BenchOptions>();
  return {{{"--only TOPIC,...", &options->only, "Only these topics", {.commas = true}},
           {"--question TEXT", &options->questions,
            "Only questions that contain one of these texts; the option may be repeated"},
           {"-o,--output DIR", &options->output, "Write TOPIC.json files and pages into DIR"},
           {"--dir DIR", &options->directory,
            "Questions about files work below it; a memory file system (default /dev/shm)"},
           {"--program FILE", &options->program, "The tabane to compare (that of this build)"},
           {"--list", &options->list, "List the questions"},
           {"--strict", &options->strict, "Exit with 1 if a peer or a question was skipped"},
           {"--quick", &options->quick, "A tenth of the time; wider intervals"}},
          [options](const tabane::program::Given& given) { return run(*options, given.line()); }};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tabane;
  constexpr program::Verb kProgram{.name = "tabane_bench",
                                   .what = "Compares tabane with its peers on this machine",
                                   .define = define};
  try {
    const program::Call call = program::understand(kProgram, {argv + 1, argv + argc});
    if (!call.answer) return call.run();
    fmt::print("{}", *call.answer);
    return 0;
  } catch (const program::WrongArguments& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tabane_bench: {}\n", error.what());
    return 1;
  }
}
