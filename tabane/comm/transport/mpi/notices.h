// What ranks of a world tell each other when they return or fail, so that nobody waits in vain.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tabane::comm::mpi {

class Engine;

using Clock = std::chrono::steady_clock;

// The rank, or ranks, that a wait depends on. Ranks are those of the world.
struct WaitTarget {
  int peer = 0;                     // or any_source
  std::span<const int> group = {};  // which ranks any_source means
  // If not 0: all of the world must have begun that many collectives.
  std::uint64_t collectives = 0;
};

// A rank that has failed, this one or another.
struct Lost {
  int rank = 0;
  std::string text;  // of the error that all throw
};

class Notices {
 public:
  // comm: owned then.
  Notices(Engine& engine, MPI_Comm comm);
  // Frees what MPI needs no longer; all of it if the world was closed.
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Report to the others, once: this rank has returned after that many collectives, or failed.
  void tell_return(std::uint64_t collectives);
  void tell_failure(const Lost& lost);
  // Tells one rank that a message to it is not to be trusted, and why.
  void tell_withdrawal(int rank, const Lost& why);
  // Returns whether all notices have left.
  bool are_sent();

  // throws: core::LostError if a rank has failed.
  void read();
  // Why a rank has withdrawn a message to this one; null if it has not.
  const Lost* withdrawal_of(int rank) const {
    return of(rank).withdrew != Clock::time_point::max() ? &of(rank).why : nullptr;
  }
  // Whether all ranks, this one too, have returned.
  bool all_returned() const { return returned_count_ == static_cast<int>(ranks_.size()); }

  // throws: core::LostError if the rank, or all ranks, that could end the wait have returned; or if
  // one has withdrawn a message some time ago and not reported its failure yet.
  void check_in_vain(const WaitTarget& awaited);

 private:
  enum class Event : std::uint8_t { returned, failed, withdrew };
  struct Notice {
    Event event = Event::returned;
    int lost = 0;  // who has failed or returned
    std::uint64_t collectives = 0;
    std::array<char, 511> text{};
  };
  struct RankNews {
    Clock::time_point returned = Clock::time_point::max();  // max(): it has not
    Clock::time_point withdrew = Clock::time_point::max();
    std::uint64_t collectives = 0;
    Lost why{};  // it withdrew
  };
  void tell(const Notice& notice, int rank);
  void tell_all();
  const RankNews& of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  bool is_gone(int rank) const;
  int who_never_joins(std::uint64_t collectives) const;
  int who_of_all_is_gone(std::span<const int> group) const;

  Engine& engine_;
  MPI_Comm comm_;
  std::vector<RankNews> ranks_;
  int returned_count_ = 0;
  std::unique_ptr<Notice> told_ = std::make_unique<Notice>();
  std::vector<int> withdrawn_;                        // ranks
  std::vector<std::unique_ptr<Notice>> withdrawals_;  // of this rank
  std::vector<MPI_Request> requests_;
};

}  // namespace tabane::comm::mpi
