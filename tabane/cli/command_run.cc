#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_options.h"
#include "tabane/cli/run_plan.h"
#include "tabane/core/binding.h"
#include "tabane/core/error.h"

namespace tabane::cli {
namespace {

constexpr const char* kExamples =
    "  tabane run -- ./solver               one bound thread per usable PU, neighbours first\n"
    "  tabane run -c 0-7 -m 0 -- ./solver   on CPUs 0 to 7 with memory of NUMA node 0 only\n"
    "  tabane run --placement scatter -t 8 -i all -- ./solver\n"
    "                                       8 threads far apart, memory over all NUMA nodes\n"
    "  tabane run --malloc jemalloc --huge-pages -- ./server\n"
    "                                       with another allocator that asks for huge pages\n"
    "  tabane run -t 4 --dry-run -- ./solver\n"
    "                                       only shows the binding map";

struct Options {
  RunRequest request;
  bool quiet = false;
  bool dry_run = false;
  std::string program;
};

// The command after "--". CLI11 keeps the mark, and also any option that it does not know.
std::vector<std::string> command_of(const Options& options, const CLI::App& verb) {
  std::vector<std::string> rest = verb.remaining();
  if (!rest.empty() && rest.front() == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() && rest.front().starts_with('-')) {
    throw core::UsageError("run: there is no option '" + rest.front() +
                           "'; see 'tabane run --help', and write -- before the command");
  }
  rest.insert(rest.begin(), options.program);
  return rest;
}

void apply(const RunPlan& plan) {
  core::bind_this_thread(plan.cpus);
  if (plan.memory) core::set_process_memory_policy(*plan.memory);
  for (const Assignment& variable : plan.environment) {
    if (!variable.kept && setenv(variable.name.c_str(), variable.value.c_str(), 1) != 0) {
      throw core::SystemError("setenv", variable.name, errno);
    }
  }
}

// Returns only if the command cannot be started.
int replace_process(std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const int error = errno;
  std::fprintf(stderr, "tabane: %s: %s\n", command.front().c_str(), std::strerror(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

int run(const Options& options, const CLI::App& verb) {
  std::vector<std::string> command = command_of(options, verb);
  const auto topology = core::Topology::detect();
  const bool here = topology.is_this_machine();
  const RunPlan plan =
      plan_run(options.request, topology, own_variable, !here || core::huge_pages_possible());
  if (options.dry_run) {
    std::fputs(describe(plan, topology).c_str(), stdout);
    return kOk;
  }
  if (!here) {
    throw core::UsageError(
        "HWLOC_SYNTHETIC or HWLOC_XMLFILE describes another machine, on which nothing can run: "
        "use --dry-run, or unset it");
  }
  if (!options.quiet) std::fputs(describe(plan, topology).c_str(), stderr);
  std::fflush(nullptr);
  apply(plan);
  return replace_process(command);
}

}  // namespace

std::vector<std::string> mark_command(const CLI::App& app, std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "run") return arguments;
  const CLI::App* verb = app.get_subcommand("run");
  std::size_t i = 1;
  while (i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "-") {
    const std::string& option = arguments[i];
    if (option == "--") return arguments;
    // "-c0-3" and "--cpus=0-3" hold their value themselves.
    const bool short_form = !option.starts_with("--");
    const bool alone = short_form ? option.size() == 2 : option.find('=') == std::string::npos;
    const CLI::Option* known = alone ? verb->get_option_no_throw(option) : nullptr;
    i += known != nullptr && known->get_items_expected_max() > 0 ? 2 : 1;
  }
  if (i < arguments.size()) {
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i), "--");
  }
  return arguments;
}

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  RunRequest& request = options->request;
  CLI::App* verb = app.add_subcommand("run", "Run a command in chosen places, on chosen memory");
  show_examples_first(*verb, kExamples);
  verb->prefix_command();
  add_run_options(*verb, request);
  verb->add_flag("--dry-run", options->dry_run, "Only show on stdout what would be done");
  verb->add_flag("-q,--quiet", options->quiet, "Show no binding map and no warnings");
  verb->add_option("COMMAND", options->program, "The command with its arguments, after --")
      ->required();
  verb->callback([options, verb, &exit_code] {
    try {
      exit_code = run(*options, *verb);
    } catch (const core::SystemError& error) {
      std::fprintf(stderr, "tabane: %s\n", error.what());
      exit_code = kRunFailed;
    }
  });
}

}  // namespace tabane::cli
