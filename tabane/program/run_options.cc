#include "tabane/program/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/team/places.h"

namespace tabane::program {

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value) return std::nullopt;
  return value;
}

std::vector<Option> run_rows(RunRequest& request) {
  return {{"-c,--cpus LIST", &request.cpus, "Use these CPUs, for example 0-3,8 or 0-15:2 or all"},
          {"-m,--membind NODES",
           &request.membind,
           "Take memory of these NUMA nodes only",
           {.excludes = {"--interleave", "--preferred", "--localalloc"}}},
          {"-i,--interleave NODES",
           &request.interleave,
           "Take pages in turn from these NUMA nodes",
           {.excludes = {"--preferred", "--localalloc"}}},
          {"--preferred NODES",
           &request.preferred,
           "Take memory of these NUMA nodes while there is room, then of others",
           {.excludes = {"--localalloc"}}},
          {"-l,--localalloc", &request.localalloc,
           "Take memory of the node of the thread that first writes it; at most one of -m, -i, "
           "--preferred and -l can be given"},
          {"--placement POLICY",
           &request.placement,
           "Place threads by POLICY: compact (neighbours first, the default), scatter (far apart), "
           "numa, or none (threads are not bound one by one)",
           {.choices = {"compact", "scatter", "numa", "none"}}},
          {"-t,--threads N",
           &request.threads,
           "Start N threads; default: OMP_NUM_THREADS if it is set, else one per chosen CPU",
           {.range = {1, 1 << 20}}},
          {"--huge-pages", &request.huge_pages, "Let the allocator ask for huge pages"},
          {"--malloc NAME",
           &request.allocator,
           "Use this allocator: glibc, jemalloc, mimalloc or tcmalloc",
           {.choices = {"glibc", "jemalloc", "mimalloc", "tcmalloc"}}}};
}

RunRequest run_request_of(const std::string& options) {
  RunRequest request;
  try {
    fill(run_rows(request), lab::words_of_line(options));
  } catch (const core::UsageError& error) {
    throw core::UsageError("in '{}', which are to be options of 'tabane run': {}",
                           fmt::join(lab::words_of_line(options), " "), error.what());
  }
  return request;
}

void require_readable_input(const std::string& file) {
  if (access(file.c_str(), R_OK) != 0)
    throw core::UsageError("--input {}: cannot be read: {}", file, std::strerror(errno));
}

void apply(const RunPlan& plan, lab::ChildCommand& command) {
  command.cpus = plan.cpus;
  command.memory = plan.memory;
  for (const Assignment& variable : plan.environment) {
    if (!variable.kept) command.environment.emplace_back(variable.name, variable.value);
  }
}

comm::TransportKind transport_named(const std::string& name) {
  return name == "shm"   ? comm::TransportKind::shm
         : name == "mpi" ? comm::TransportKind::mpi
                         : comm::TransportKind::automatic;
}

void warn_of_turns(const core::Placement& placement) {
  if (!placement.oversubscribed) return;
  const std::size_t pus = team::known_topology().pus().size();
  fmt::print(stderr, "tabane: {} ranks share {} {}: they take turns and wait long for each other\n",
             placement.processes, pus, pus == 1 ? "PU" : "PUs");
}

// --transport and -n/--processes of a verb; they fill `options`.
std::vector<Option> rank_rows(lab::RankOptions& options) {
  return {{"--transport NAME",
           [&options](const Words& names) { options.transport = transport_named(names.back()); },
           "Send messages by shm, mpi or auto: mpi under its launcher (default auto)",
           {.choices = {"auto", "shm", "mpi"}}},
          {"-n,--processes N",
           &options.most_ranks,
           "Use at most N ranks (default: 4 times the PUs; over MPI all that it has)",
           {.range = {2, lab::kMostRanksForked}}}};
}

int on_ranks(const std::function<int(comm::Comm* ranks, bool& lost)>& rank_0,
             const std::function<void(comm::Comm& ranks)>& other) {
  bool lost = false;
  if (!comm::is_one_of_several()) {
    comm::require_connected_tasks();
    return rank_0(nullptr, lost);
  }
  std::optional<int> code;
  std::exception_ptr problem;  // of rank 0: to launch() it would be the loss of a rank
  bool helped = false;
  try {
    comm::launch({.transport = comm::TransportKind::mpi}, [&](comm::Comm& world) {
      helped = world.rank() > 0;
      if (helped) return other(world);
      try {
        code = rank_0(world.size() > 1 ? &world : nullptr, lost);
      } catch (...) {
        problem = std::current_exception();
      }
      // Nobody waits for the others then.
      if (lost) throw core::LostError(0, ::getpid(), "a rank was lost");
    });
  } catch (const core::LostError&) {
    if (!code && !problem && !helped) throw;
  }
  if (problem) std::rethrow_exception(problem);
  return code.value_or(0);
}

}  // namespace tabane::program
