// tabane_bench: compares tabane with its peers on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace {

bool any_part_of(const std::vector<std::string>& parts, const std::string& text) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
           return text.find(part) != std::string::npos;
         });
}

std::vector<tabane::bench::Topic> all_topics() {
  using namespace tabane::bench;
  return {{"simd", "vector kernels", ask_simd, 6},
          {"aes", "encrypting files", ask_aes},
          {"aes_ranks", "encrypting files on several ranks", ask_aes_ranks},
          {"epub", "protecting e-books", ask_epub},
          {"device", "coprocessors", ask_device},
          {"team", "teams of processes and threads", ask_team},
          {"comm", "messages and collectives", ask_comm},
          {"netpipe", "ping-pongs over TCP", ask_netpipe},
          {"solvers", "dense and sparse systems of equations", ask_solvers},
          {"matmul", "products of multiple-precision matrices", ask_matmul},
          {"fhe", "homomorphic encryption under support counting", ask_fhe},
          {"time", "commands compared in turn, beside hyperfine", ask_time},
          {"truth", "surveys beside each other and beside independent programs", ask_truth},
          {"tune", "tuning of commands", ask_tune}};
}

// build/bench/tabane_bench stands below build/tabane.
std::string program_beside_this() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path().parent_path() / "tabane";
  return !error && std::filesystem::exists(program, error) ? program.string() : "";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tabane;
  std::vector<std::string> only, questions;
  std::string output, directory = "/dev/shm", program = program_beside_this();
  bool list = false, quick = false, strict = false, complete = true;
  CLI::App app("Compares tabane with its peers on this machine", "tabane_bench");
  app.add_option("--only", only, "Only these topics");
  app.add_option("--question", questions, "Only questions that contain one of these texts");
  app.add_option("-o,--output", output, "Write TOPIC.json files and pages into this directory");
  app.add_option("--dir", directory, "Questions about files work below it; a memory file system")
      ->capture_default_str();
  app.add_option("--program", program, "The tabane to compare (that of this build)");
  app.add_flag("--list", list, "List the questions");
  app.add_flag("--strict", strict, "Exit with 1 if a peer or a question was skipped");
  app.add_flag("--quick", quick, "A tenth of the time; wider intervals");
  CLI11_PARSE(app, argc, argv);
  try {
    bool found = false;
    for (const bench::Topic& topic : all_topics()) {
      if (!only.empty() && std::find(only.begin(), only.end(), topic.name) == only.end()) continue;
      found = true;
      bench::Settings settings;
      settings.command_line = fmt::format("{}", fmt::join(argv, argv + argc, " "));
      settings.list_only = list;
      settings.quick = quick;
      settings.directory = directory;
      settings.program = program;
      if (quick) settings.measure.budget_seconds /= 10;
      settings.wanted = [&](const std::string& name) { return any_part_of(questions, name); };
      bench::Panel panel(topic, settings);
      panel.run();
      complete = complete && !panel.failed() && !(strict && panel.skipped());
      if (output.empty() || list) continue;
      fmt::print("The page is {}\n", bench::write(panel.record(), output));
      std::fflush(stdout);
    }
    if (!found) {
      fmt::print(stderr, "tabane_bench: no such topic; there is:");
      for (const bench::Topic& topic : all_topics()) fmt::print(stderr, " {}", topic.name);
      fmt::print(stderr, "\n");
      return 2;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "tabane_bench: {}\n", error.what());
    return 1;
  }
  return complete ? 0 : 1;
}
