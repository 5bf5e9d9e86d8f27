#include "tabane/cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tabane/cli/options.h"
#include "tabane/core/error.h"
#include "tabane/lab/commands/line.h"

namespace tabane::cli {

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value) return std::nullopt;
  return value;
}

void add_run_options(CLI::App& verb, RunRequest& request) {
  verb.add_option("-c,--cpus", request.cpus, "Use these CPUs, for example 0-3,8 or 0-15:2 or all")
      ->type_name("LIST");
  auto* bind =
      verb.add_option("-m,--membind", request.membind, "Take memory of these NUMA nodes only");
  auto* interleave = verb.add_option("-i,--interleave", request.interleave,
                                     "Take pages in turn from these NUMA nodes");
  auto* local =
      verb.add_flag("-l,--localalloc", request.localalloc,
                    "Take memory of the node of the thread that first writes it; at most one of "
                    "-m, -i and -l can be given");
  bind->type_name("NODES")->excludes(interleave)->excludes(local);
  interleave->type_name("NODES")->excludes(local);
  verb.add_option("--placement", request.placement,
                  "Place threads by POLICY: compact (neighbours first, the default), scatter (far "
                  "apart), numa, or none (threads are not bound one by one)")
      ->type_name("POLICY")
      ->check(one_of({"compact", "scatter", "numa", "none"}));
  verb.add_option("-t,--threads", request.threads,
                  "Start N threads; default: OMP_NUM_THREADS if it is set, else one per chosen CPU")
      ->type_name("N");
  verb.add_flag("--huge-pages", request.huge_pages, "Let the allocator ask for huge pages");
  verb.add_option("--malloc", request.allocator,
                  "Use this allocator: glibc, jemalloc, mimalloc or tcmalloc")
      ->type_name("NAME")
      ->check(one_of({"glibc", "jemalloc", "mimalloc", "tcmalloc"}));
}

RunRequest run_request_of(const std::string& options) {
  RunRequest request;
  CLI::App app;
  app.set_help_flag();
  add_run_options(app, request);
  std::vector<std::string> words = lab::words_of_line(options);
  std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    throw core::UsageError(
        fmt::format("'{}' are not options of 'tabane run': {}", options, error.what()));
  }
  return request;
}

void apply(const RunPlan& plan, lab::ChildCommand& command) {
  command.cpus = plan.cpus;
  command.memory = plan.memory;
  for (const Assignment& variable : plan.environment) {
    if (!variable.kept) command.environment.emplace_back(variable.name, variable.value);
  }
}

}  // namespace tabane::cli
