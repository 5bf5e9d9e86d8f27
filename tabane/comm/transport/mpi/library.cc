#include "tabane/comm/transport/mpi/library.h"

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "tabane/core/error.h"

namespace tabane::comm::mpi {
namespace {

// By the running kernel: containers share their PUs, and MPI takes them for hosts.
int color_of_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return static_cast<int>(std::hash<std::string>{}(boot)&INT_MAX);
}

// All ranks call it and get the same.
bool some_host_is_crowded() {
  cpu_set_t pus;
  CPU_ZERO(&pus);
  sched_getaffinity(0, sizeof pus, &pus);
  MPI_Comm host;
  MPI_Comm_split(MPI_COMM_WORLD, color_of_host(), 0, &host);
  int ranks = 1;
  MPI_Comm_size(host, &ranks);
  MPI_Allreduce(MPI_IN_PLACE, &pus, sizeof pus, MPI_BYTE, MPI_BOR, host);
  MPI_Comm_free(&host);
  int crowded = ranks > CPU_COUNT(&pus) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return crowded != 0;
}

std::string host_of_this_rank(bool plays_host, int rank) {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  const std::string host(name.data(), static_cast<std::size_t>(length));
  return plays_host ? host + "." + std::to_string(rank) : host;
}

// All ranks call it and get the same.
bool differs_between_ranks(const std::string& text) {
  const auto own = static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1);
  std::array<std::int64_t, 2> most{own, -own};
  MPI_Allreduce(MPI_IN_PLACE, most.data(), 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return most[0] != -most[1];
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
  }
  // Open MPI's collectives that do not block report there what goes wrong on any communicator.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *tag_bound = nullptr, found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&tag_bound), &found);
  if (found) most_tag_ = *tag_bound;
  meet(size);
  crowded_ = some_host_is_crowded();
  plays_hosts_ = std::getenv("TABANE_MPI_EACH_RANK_A_HOST") != nullptr;
  host_ = host_of_this_rank(plays_hosts_, rank_);
  spans_hosts_ = differs_between_ranks(host_);
}

void Library::meet(int size) {
  struct Process {
    long pid = getpid(), kernel = color_of_host(), names = 0;
  };
  Process own;
  struct stat names {};
  if (stat("/proc/self/ns/pid", &names) == 0) own.names = static_cast<long>(names.st_ino);
  std::vector<Process> all(static_cast<std::size_t>(size));
  MPI_Allgather(&own, 3, MPI_LONG, all.data(), 3, MPI_LONG, MPI_COMM_WORLD);
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
