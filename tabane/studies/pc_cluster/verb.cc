#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/lab/campaign/ranks.h"
#include "tabane/program/command.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/pc_cluster/pc_cluster.h"

namespace tabane::program {
namespace {

using lab::LinkRequest;
using lab::LinkSamples;

// What a launcher says of itself, in one line; empty: nothing within two seconds.
std::string version_of(const std::string& launcher) {
  core::HelperProcess version(
      {.name = launcher,
       .command = {"sh", "-c", "timeout -k 1 2 \"$0\" --version 2>/dev/null | tr '\\n' ' '; echo",
                   launcher}});
  return version.read_line();
}

// What the launcher calls the hosts of its ranks.
const char* hosts_option(const std::string& launcher) {
  if (std::filesystem::path(launcher).filename().string().starts_with("srun")) return "--nodelist";
  return version_of(launcher).find("HYDRA") != std::string::npos ? "-hosts" : "--host";
}

// Open MPI does not start programs of root unless these say that it is meant: the ranks may do no
// more than the study that starts them.
core::Variables variables() {
  if (geteuid() != 0) return {};
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
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
  command.insert(command.end(), {"--link-task", std::to_string(static_cast<int>(request.task))});
  if (!hosts.empty()) command.insert(command.end(), {"--hosts", list});
  return {.name = command[0], .command = std::move(command), .variables = variables()};
}

void print_line(const LinkSamples& samples) {
  fmt::print("{}\n", lab::to_json(samples).dump());
  std::fflush(stdout);
}

// Measures with the other rank for the study that has started both.
void serve_link(const std::vector<std::string>& hosts, const LinkRequest& request) {
  bool is_first = true;
  try {
    comm::launch({.transport = comm::TransportKind::mpi}, [&](comm::Comm& world) {
      is_first = world.rank() == 0;
      lab::serve_link(world, hosts, request, [](const LinkSamples& samples) {
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

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::PcClusterOptions>();
  const auto launcher = std::make_shared<std::string>("mpirun");  // as typed
  const auto link = std::make_shared<LinkRequest>();              // a rank for a study instead
  const auto task = std::make_shared<int>(0);                     // LinkTask
  own->link_program = [launcher](const std::vector<std::string>& hosts,
                                 const LinkRequest& request) {
    return link_program(*launcher, hosts, request);
  };
  own->mpi = [launcher] {
    const std::string version = version_of(words_of(*launcher)[0]);
    return version.substr(0, version.find("  "));
  };
  return study(
      options,
      table(
          options->rows(own->quick,
                        "Take fewer runs and sizes; the study first says how long it takes"),
          std::vector<Option>{
              {"--hosts A,B",
               &own->hosts,
               "Measure between these two hosts, too: their names or addresses on the network "
               "that is meant; the MPI launcher starts a rank on each",
               {.commas = true}},
              time_row("--seconds TIME", own->watch_seconds,
                       "Measure the rate between the hosts for this time (default 10 s, quick 2 s)",
                       {"--hosts"}),
              {"--launcher WORDS", launcher.get(),
               "Start the ranks of MPI by this program with these options (default mpirun)"},
              {"--ranks N",
               &own->most_ranks,
               "Use at most N ranks for matrix products (default: the PUs)",
               {.range = {1, lab::kMostRanksForked}}},
              {"--link SECONDS", &link->seconds, "", {.hidden = true}},
              {"--link-task N",
               task.get(),
               "",
               {.range = {0, static_cast<int>(lab::LinkTask::answer)}, .hidden = true}}}),
      [own, launcher](const core::Topology& topology, const lab::Hooks& hooks) {
        words_of(*launcher);  // refuses an empty launcher before anything is measured
        return lab::run_pc_cluster(topology, *own, hooks);
      },
      [own, link, task] {
        link->task = static_cast<lab::LinkTask>(*task);
        if (link->seconds > 0) serve_link(own->hosts, *link);
        return link->seconds > 0;
      });
}

}  // namespace

extern constinit const Verb pc_cluster_study{
    .name = "pc-cluster",
    .what =
        "Compare machines: products in double and multiple precision, copying, messages in and "
        "between nodes",
    .examples =
        "  tabane study pc-cluster --quick -o pages\n"
        "  tabane study pc-cluster --json=here.json && tabane compare here.json pc-cluster -o "
        "pages\n"
        "  tabane study pc-cluster --hosts node1,node2 --launcher \"mpirun --mca btl tcp,self\"",
    .define = define};

}  // namespace tabane::program
