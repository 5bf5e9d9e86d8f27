#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "tabane/cli/command_studies.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/studies/pc_cluster.h"

namespace tabane::cli {
namespace {

using lab::pc_cluster::LinkRequest;
using lab::pc_cluster::LinkSamples;

struct Options : StudyOptions {
  lab::PcClusterOptions study;
  std::string seconds, launcher = "mpirun";  // as typed
  // A rank for a study instead.
  LinkRequest link;
};

// What the launcher calls the hosts of its ranks.
const char* hosts_option(const std::string& launcher) {
  if (std::filesystem::path(launcher).filename().string().starts_with("srun")) return "--nodelist";
  core::HelperProcess version(
      {.name = launcher,
       .command = {"sh", "-c", "\"$0\" --version 2>&1 | tr '\\n' ' '; echo", launcher}});
  const std::string text = version.read_line();
  return text.find("HYDRA") != std::string::npos ? "-hosts" : "--host";
}

// Open MPI does not start programs of root unless these say that it is meant: the ranks may do no
// more than the study that starts them.
std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  if (geteuid() == 0) {
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  }
  return variables;
}

std::vector<std::string> words_of(const std::string& launcher) {
  std::istringstream in(launcher);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty()) throw core::UsageError("--launcher: names no program");
  return words;
}

// Two ranks of this program, started by the launcher.
core::HelperProgram link_program(const std::string& launcher, const std::vector<std::string>& hosts,
                                 const LinkRequest& request) {
  std::vector<std::string> command = words_of(launcher);
  const std::string list = fmt::format("{}", fmt::join(hosts, ","));
  if (!hosts.empty()) command.insert(command.end(), {hosts_option(command[0]), list});
  command.insert(command.end(),
                 {"-n", "2", std::filesystem::read_symlink("/proc/self/exe"), "study", "pc-cluster",
                  "--link", fmt::format("{}", request.seconds)});
  if (request.watches) command.emplace_back("--watch-link");
  if (!hosts.empty()) command.insert(command.end(), {"--hosts", list});
  return {.name = command[0], .command = std::move(command), .variables = environment()};
}

void print_line(const LinkSamples& samples) {
  fmt::print("{}\n", lab::pc_cluster::to_json(samples).dump());
  std::fflush(stdout);
}

// Measures with the other rank for the study that has started both.
void serve_link(const Options& options) {
  bool is_first = true;
  try {
    comm::launch({.transport = comm::TransportKind::mpi}, [&](comm::Comm& world) {
      is_first = world.rank() == 0;
      lab::pc_cluster::measure_link(world, options.study.hosts, options.link,
                                    [](const LinkSamples& samples) {
                                      print_line(samples);
                                      return std::ferror(stdout) == 0;
                                    });
    });
  } catch (const core::Error& error) {
    if (!is_first) throw;
    print_line({.reason = error.what()});
  }
  if (!is_first) return;
  fmt::print("\n");
  std::fflush(stdout);
}

void add_options(CLI::App& command, Options& options) {
  options.add_to(command, "Take about 25 s instead of 2 minutes: fewer runs and sizes");
  command
      .add_option("--hosts", options.study.hosts,
                  "Measure between these two hosts, too: their names or addresses on the network "
                  "that is meant; the MPI launcher starts a rank on each")
      ->delimiter(',')
      ->type_name("A,B");
  command
      .add_option("--seconds", options.seconds,
                  "Watch the rate between the hosts for this time (default 10 s, quick 2 s)")
      ->type_name("TIME")
      ->needs("--hosts");
  command
      .add_option("--launcher", options.launcher,
                  "Start the ranks of MPI by this program with these options (default mpirun)")
      ->type_name("WORDS");
  command
      .add_option("--ranks", options.study.most_ranks,
                  "Use at most N ranks for matrix products (default: the PUs)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command.add_option("--link", options.link.seconds)->group("");  // not for people
  command.add_flag("--watch-link", options.link.watches)->group("");
}

}  // namespace

void add_pc_cluster_study(CLI::App& verb) {
  auto options = std::make_shared<Options>();
  CLI::App* command = verb.add_subcommand(
      "pc-cluster",
      "Compare machines: double and multiple precision, copying, messages in and between nodes");
  show_examples_first(
      *command,
      "  tabane study pc-cluster --quick -o pages\n"
      "  tabane study pc-cluster --json=here.json && tabane compare here.json pc-cluster -o pages\n"
      "  tabane study pc-cluster --hosts node1,node2 --launcher \"mpirun --mca btl tcp,self\"");
  add_options(*command, *options);
  command->callback([options] {
    if (options->link.seconds > 0) return serve_link(*options);
    words_of(options->launcher);
    options->study.quick = options->quick;
    if (!options->seconds.empty()) {
      options->study.watch_seconds = core::parse_seconds(options->seconds);
      // 0 stands for the default there.
      if (options->study.watch_seconds < 1)
        throw core::UsageError(
            fmt::format("--seconds {}: from 1 to 3600 seconds", options->seconds));
    }
    options->study.link_program = [options](const std::vector<std::string>& hosts,
                                            const LinkRequest& request) {
      return link_program(options->launcher, hosts, request);
    };
    run_study(*options, [&](const lab::Hooks& hooks) {
      return lab::run_pc_cluster(core::Topology::detect(), options->study, hooks);
    });
  });
}

}  // namespace tabane::cli
