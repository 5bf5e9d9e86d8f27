// What a start costs: CPU time of --version, and of a small file's encryption.
#include "bench/bench.h"

#include "bench/command.h"
#include "bench/remote.h"
#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::bench {
namespace {

Contender start_of(const std::string& name, const Command& command, double target) {
  Contender contender{.name = name,
                      .amount = 1,
                      .target = target,
                      .how = started_as(command, ""),
                      .timed = [command](std::uint64_t starts) {
                        double seconds = 0;
                        for (std::uint64_t i = 0; i < starts; ++i)
                          seconds += run_command(command).cpu_seconds;
                        return seconds;
                      }};
  if (!command[0].starts_with('/') && !in_path(command[0]))
    contender.missing = command[0] + " is not installed";
  return contender;
}

void ask_start(Panel& panel) {
  const std::string& tabane = panel.settings().program;
  if (!panel.settings().list_only && tabane.empty())
    throw core::Error("there is no tabane to start");
  core::MeasureOptions measure = panel.settings().measure;
  measure.min_epochs = panel.settings().quick ? 50 : 300;
  measure.max_epochs = 2 * measure.min_epochs;
  measure.single_iteration = true;
  panel.ask({.name = "--version, CPU time",
             .unit = "starts/s",
             .ours = start_of("tabane", {tabane, "--version"}, 1),
             .peers = {start_of("age", {"age", "--version"}, 0.5),
                       start_of("hyperfine", {"hyperfine", "--version"}, 0),
                       start_of("an empty program in C++",
                                {beside_this_program("tabane_bench_nothing")}, 0)},
             .measure = measure});

  const core::ScratchFolder folder("tabane-bench-start");
  const std::string in = folder / "in", out = folder / "out", key = folder / "key";
  const std::string identity = folder / "identity";
  const std::string name = "encrypt 6 bytes, CPU time";
  if (panel.wants(name)) {
    core::write_output(in, "small\n");
    run_command({tabane, "keygen", key});
    if (in_path("age-keygen")) run_command({"age-keygen", "-o", identity});
  }
  panel.ask(
      {.name = name,
       .unit = "starts/s",
       .ours =
           start_of("tabane", {tabane, "encrypt", "--force", "-q", "--key-file", key, in, out}, 1),
       .peers = {start_of("age", {"age", "-e", "-i", identity, "-o", folder / "age.out", in}, 0)},
       .measure = measure});
}

const RegisteredTopic kTopic({"start", "what a start costs, beside other programs", ask_start});

}  // namespace
}  // namespace tabane::bench
