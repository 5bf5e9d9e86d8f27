#include "tabane/comm/transport/mpi/library.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "tabane/core/error.h"

namespace tabane::comm::mpi {
namespace {

// What each rank tells the others.
struct Process {
  long pid = getpid(), names = 0;
  std::size_t kernel = 0, host = 0;
  cpu_set_t pus{};
};

// Of one kernel: containers share its PUs, and MPI takes them for hosts.
struct Ranks {
  int count = 0;
  cpu_set_t pus{};  // which they may use
};

Process this_process(const std::string& host) {
  Process own;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  own.kernel = std::hash<std::string>{}(boot);
  struct stat names {};
  if (stat("/proc/self/ns/pid", &names) == 0) own.names = static_cast<long>(names.st_ino);
  own.host = std::hash<std::string>{}(host);
  sched_getaffinity(0, sizeof own.pus, &own.pus);
  return own;
}

bool some_kernel_is_crowded(const std::vector<Process>& all) {
  std::map<std::size_t, Ranks> kernels;
  for (const Process& one : all) {
    Ranks& ranks = kernels[one.kernel];
    ++ranks.count;
    CPU_OR(&ranks.pus, &ranks.pus, &one.pus);
  }
  return std::ranges::any_of(kernels, [](const auto& kernel) {
    return kernel.second.count > CPU_COUNT(&kernel.second.pus);
  });
}

std::string host_of_this_rank(bool plays_host, int rank) {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  const std::string host(name.data(), static_cast<std::size_t>(length));
  return plays_host ? host + "." + std::to_string(rank) : host;
}

}  // namespace

Library& Library::get() {
  static Library one;
  return one;
}

Library::Library() {
  int initialized = 0, provided = 0, size = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
      throw core::Error("MPI_Init_thread failed");
    }
    started_here_ = true;
    // That the process at the other end has died is an error, which names its rank. Programs that
    // this one starts inherit it.
    struct sigaction own {};
    sigaction(SIGPIPE, nullptr, &own);
    if (own.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
  }
  // Open MPI's collectives that do not block report there what goes wrong on any communicator.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *tag_bound = nullptr, found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&tag_bound), &found);
  if (found) most_tag_ = *tag_bound;
  plays_hosts_ = std::getenv("TABANE_MPI_EACH_RANK_A_HOST") != nullptr;
  host_ = host_of_this_rank(plays_hosts_, rank_);
  meet(size);
}

// At once: each collective costs the start of a job its latency again.
void Library::meet(int size) {
  const Process own = this_process(host_);
  std::vector<Process> all(static_cast<std::size_t>(size));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  crowded_ = some_kernel_is_crowded(all);
  spans_hosts_ = std::ranges::any_of(all, [&](const Process& one) { return one.host != own.host; });
  for (int rank = 0; rank < size; ++rank) {
    const Process& one = all[static_cast<std::size_t>(rank)];
    pids_.push_back(one.pid);
    // All live now. Cloned machines have the same kernel and names, but not this process.
    const bool is_seen = one.kernel == own.kernel && one.names == own.names && own.names != 0 &&
                         (::kill(static_cast<pid_t>(one.pid), 0) == 0 || errno == EPERM);
    if (rank != rank_ && is_seen) neighbours_.push_back(rank);
  }
}

void Library::require_permitted() const {
  if (!forbids_worlds_) return;
  throw core::Error(
      "no other launch is possible in this process: an earlier one has failed while MPI still had "
      "memory or groups of it, which it may mistake for those of another");
}

// MPI's own way to wait for the others keeps the PU from them.
MPI_Comm Library::duplicate(MPI_Comm of) const {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Comm_idup(of, &comm, &request);
  for (int done = 0; code == MPI_SUCCESS && !done;) {
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done && crowded_) sched_yield();
  }
  if (code != MPI_SUCCESS) throw core::Error("MPI_Comm_idup failed");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

// Where the last world was not closed, the others could wait for ever: the launcher sees who ends
// without MPI_Finalize, and ends them.
Library::~Library() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (started_here_ && ends_together_ && !finalized) MPI_Finalize();
}

}  // namespace tabane::comm::mpi
