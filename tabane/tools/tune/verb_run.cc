#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/lab/commands/run_plan.h"
#include "tabane/program/args.h"
#include "tabane/program/command.h"
#include "tabane/program/output.h"
#include "tabane/program/run_options.h"
#include "tabane/tools/tune/tune_plan.h"
#include "tabane/tools/tune/tune_record.h"

namespace tabane::program {
namespace {

struct RunOptions {
  RunRequest request;
  bool quiet = false, verbose = false;
  bool dry_run = false;
  std::string part, tuned;
  std::string launcher;           // of --tuned
  std::vector<std::string> vary;  // of --tuned
  std::vector<std::string> command;
};

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
  std::fprintf(stderr, "tabane run: %s: %s\n", command.front().c_str(), std::strerror(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

// What a tuning found.
struct Tuned {
  CommandSetting setting;
  std::string launcher;
  bool shards = false;
};

// A tuning is for its command, perhaps with other arguments.
void require_command(const std::vector<std::string>& tuned, const std::string& command) {
  const auto name = [](const std::string& path) { return std::filesystem::path(path).filename(); };
  if (tuned.empty() || name(tuned.front()) == name(command)) return;
  throw core::UsageError(
      "it is the tuning of '{}', not of '{}'; give its command, or tune this one",
      shell_line(tuned), command);
}

// throws: core::UsageError naming the file, and why it cannot be applied here.
Tuned read_tuned(const std::string& file, const std::string& command,
                 const core::Topology& topology) {
  const lab::Record record = read_record(file);
  try {
    const lab::Json& kept = lab::tune::kept_of(record);
    if (const auto why = lab::tune::machine_differs(record, topology); !why.empty())
      throw core::UsageError("it was tuned on another machine: " + why +
                             "; tune it here, or give its options yourself");
    try {
      require_command(kept.at("command").get<std::vector<std::string>>(), command);
      return {setting_from_json(kept.at("setting")), kept.at("launcher").get<std::string>(),
              kept.at("shards").get<bool>()};
    } catch (const lab::Json::exception&) {
      throw core::UsageError("it holds no tuning of a command");
    }
  } catch (const core::UsageError& error) {
    throw core::UsageError("--tuned {}: {}", file, error.what());
  }
}

// What is started is the user's, and what becomes part of the command: a file may be anybody's.
// throws: core::UsageError for a launcher or a value of the tuning that was not given, too.
void require_given(const RunOptions& options, const Tuned& tuned) {
  const auto refuse = [&](const std::string& why) {
    throw core::UsageError(
        "--tuned {}: {}: a file starts no programs of its own; give the same option as "
        "to 'tabane tune'",
        options.tuned, why);
  };
  if (options.launcher != tuned.launcher)
    refuse(tuned.launcher.empty() ? "it was tuned without --launcher"
                                  : "it was tuned with --launcher " + shell_word(tuned.launcher));
  for (const auto& [name, value] : tuned.setting.values) {
    const bool given = std::ranges::any_of(options.vary, [&](const std::string& text) {
      const auto [own, values] = parse_vary(text);
      return own == name && std::ranges::find(values, value) != values.end();
    });
    if (!given) refuse(fmt::format("it was tuned with --vary {} and puts {} there", name, value));
  }
}

// Starts the command as it was found to be best. Returns only if it cannot be started.
int run_tuned(const RunOptions& options, const std::vector<std::string>& command) {
  const core::Topology topology = core::Topology::detect();
  const Tuned tuned = read_tuned(options.tuned, command.front(), topology);
  require_given(options, tuned);
  std::vector<std::string> words =
      start_words(tuned.setting, command, tuned.launcher, tuned.shards,
                  std::filesystem::read_symlink("/proc/self/exe").string());
  if (options.dry_run) {
    fmt::print("{}\n", shell_line(start_words(tuned.setting, command, tuned.launcher, tuned.shards,
                                              "tabane")));
    return kOk;
  }
  if (!options.quiet) fmt::print(stderr, "tabane run: {}\n", shell_line(words));
  std::fflush(nullptr);
  return replace_process(words);
}

int run(const RunOptions& options) {
  std::vector<std::string> command = options.command;
  if (!options.tuned.empty()) return run_tuned(options, command);
  const auto topology = core::Topology::detect();
  const bool here = topology.is_this_machine();
  RunRequest request = options.request;
  if (!options.part.empty()) parse_part(options.part, own_variable, request);
  const RunPlan plan =
      plan_run(request, topology, own_variable, !here || core::huge_pages_possible());
  if (options.dry_run) {
    std::fputs(describe(plan, topology).c_str(), stdout);
    return kOk;
  }
  if (!here) {
    throw core::UsageError(
        "HWLOC_SYNTHETIC or HWLOC_XMLFILE describes another machine, on which nothing can run: "
        "use --dry-run, or unset it");
  }
  if (!options.quiet) {
    const std::string text = options.verbose ? describe(plan, topology) : summary(plan, topology);
    std::fputs(text.c_str(), stderr);
  }
  std::fflush(nullptr);
  apply(plan);
  return replace_process(command);
}

std::string hardware() {
  const auto topology = core::Topology::detect();
  const char* const root = std::getenv("HWLOC_FSROOT");
  // A machine that is only described has no files.
  return hardware_text(topology, core::SystemFiles(root != nullptr              ? root
                                                   : topology.is_this_machine() ? ""
                                                                                : "/nonexistent"));
}

Definition define() {
  const auto options = std::make_shared<RunOptions>();
  return {
      table(run_rows(options->request),
            std::vector<Option>{
                {"--part I/N", &options->part,
                 "Be process I of N, which share the chosen CPUs; 'launcher': as Open MPI, MPICH "
                 "or Slurm, which started this process, says"},
                {"--own-threads",
                 &options->request.own_threads,
                 "Leave the number of threads to the command",
                 {.excludes = {"--threads"}}},
                {"--force-env", &options->request.force_environment,
                 "Replace also variables that are set already"},
                {"--tuned FILE",
                 &options->tuned,
                 "Start the command as 'tabane tune' found it to be best, from its FILE",
                 {.excludes = {"--membind", "--interleave", "--preferred", "--localalloc", "--part",
                               "--own-threads", "--cpus", "--placement", "--threads",
                               "--huge-pages", "--malloc"}}},
                {"--launcher LINE",
                 &options->launcher,
                 "With --tuned: start it by LINE, the one that was given to 'tabane tune'",
                 {.needs = {"--tuned"}}},
                {"--vary NAME=VALUES",
                 &options->vary,
                 "With --tuned: the values that were given to 'tabane tune'; FILE chooses",
                 {.needs = {"--tuned"}}},
                {"--dry-run", &options->dry_run, "Only show on stdout what would be done"},
                {"--hardware",
                 {},
                 "Print the NUMA nodes with their CPUs, memory and distances, and exit",
                 {.answer = hardware}},
                {"-q,--quiet", &options->quiet, "Show no binding and no warnings"},
                {"-v,--verbose",
                 &options->verbose,
                 "Show where each thread runs, and all variables",
                 {.excludes = {"--quiet"}}},
                {"COMMAND",
                 &options->command,
                 "The command with its arguments, after --",
                 {.required = true, .is_command = true}}}),
      [options](const Given&) { return run(*options); }};
}

}  // namespace

extern constinit const Verb run_verb{
    .name = "run",
    .what = "Run a command in chosen places, on chosen memory",
    .group = "Tune",
    .examples =
        "  tabane run -- ./solver               one bound thread per usable PU, neighbours first\n"
        "  tabane run -c 0-7 -m 0 -- ./solver   on CPUs 0 to 7 with memory of NUMA node 0 only\n"
        "  tabane run --placement scatter -t 8 -i all -- ./solver\n"
        "                                       8 threads far apart, memory over all NUMA nodes\n"
        "  tabane run --malloc jemalloc --huge-pages -- ./server\n"
        "                                       with another allocator that asks for huge pages\n"
        "  tabane run -t 4 --dry-run -- ./solver\n"
        "                                       only shows the binding map\n"
        "  tabane run --hardware                the NUMA nodes, their memory and distances\n"
        "  tabane run --tuned tuned.json -- ./solver\n"
        "                                       as 'tabane tune -- ./solver' found it to be best",
    .define = define};

}  // namespace tabane::program
