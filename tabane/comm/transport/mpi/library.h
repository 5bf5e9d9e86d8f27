// MPI itself, which lives from the first world to the end of the process, and what it says of the
// job.
#pragma once

#include <mpi.h>

#include <span>
#include <string>
#include <vector>

namespace tabane::comm::mpi {

class Library {
 public:
  // The first call starts MPI: all ranks make it. throws: core::Error.
  static Library& get();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(pids_.size()); }
  std::span<const long> pids() const { return pids_; }
  // The other ranks whose processes this one sees: on the same kernel, with the same numbers.
  std::span<const int> neighbours() const { return neighbours_; }
  int most_tag() const { return most_tag_; }
  // What MPI calls this host. The environment's TABANE_MPI_EACH_RANK_A_HOST lets each rank play
  // one, for tests.
  const std::string& host() const { return host_; }
  bool plays_hosts() const { return plays_hosts_; }
  bool spans_hosts() const { return spans_hosts_; }
  // Whether some host has more ranks than PUs that they may use, so that they take turns.
  bool crowded() const { return crowded_; }

  // A communicator of the same ranks that returns its errors. All ranks of `of` call it.
  // throws: core::Error.
  MPI_Comm duplicate(MPI_Comm of) const;

  // Whether all ranks will end MPI: they do when the last world that they opened was closed. One
  // that has failed never is.
  void set_ends_together(bool together) { ends_together_ = together; }

  // MPI may still write to memory that was given up in a world that failed, at any call, or mistake
  // messages of its groups for others'.
  void forbid_worlds() { forbids_worlds_ = true; }
  // throws: core::Error if no world may open any more.
  void require_permitted() const;

 private:
  Library();
  void meet(int size);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool started_here_ = false, crowded_ = false, ends_together_ = true, plays_hosts_ = false,
       spans_hosts_ = false, forbids_worlds_ = false;
  int rank_ = 0, most_tag_ = 32767;
  std::string host_;
  std::vector<long> pids_;
  std::vector<int> neighbours_;
};

}  // namespace tabane::comm::mpi
