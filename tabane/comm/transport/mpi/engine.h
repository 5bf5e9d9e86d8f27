// What all groups of one world share: how a rank waits, and what is under way.
//
// All waits poll: a receive under way must ask for its elements while its rank waits for something
// else. A rank that waits spins at first, as MPI itself does; where ranks exceed the PUs it yields.
//
// MPI ends the whole job when a process dies. What it reports instead (MPI_ERRORS_RETURN), and
// notices of ranks that failed or returned, become core::LostError.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/comm/transport/mpi/heartbeat.h"
#include "tabane/comm/transport/mpi/library.h"
#include "tabane/comm/transport/mpi/notices.h"
#include "tabane/comm/transport/mpi/outbox.h"
#include "tabane/comm/transport/transport.h"
#include "tabane/core/error.h"

namespace tabane::comm::mpi {

class PostedReceive;

// Ranks are those of the world.
class Engine {
 public:
  // All ranks that MPI knows open a world together.
  // silence_limit_s: of other hosts, see heartbeat.h; 0: for ever.
  Engine(Library& library, double silence_limit_s);
  // Closes the world if it is neither closed nor broken.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const { return library_.rank(); }
  int size() const { return library_.size(); }
  long pid(int rank) const { return library_.pids()[static_cast<std::size_t>(rank)]; }
  int most_tag() const { return library_.most_tag(); }
  bool crowded() const { return library_.crowded(); }
  MPI_Comm bulk() const { return bulk_; }
  MPI_Op user_operation() const { return user_operation_; }
  // A rank was lost, so nothing is waited for and nothing is freed any more.
  bool broken() const { return broken_; }
  const Library& library() const { return library_; }
  Outbox& outbox() { return outbox_; }
  void set_phase(const char* text) { phase_ = text; }
  std::atomic<const char*>& call() { return call_; }

  // Waits until all ranks have returned. comms: the world's, in which nothing is left then.
  // throws: core::LostError if one fails instead.
  void close(std::span<const MPI_Comm> comms);
  // Takes the messages that nobody wants.
  void drain(MPI_Comm comm);
  // Tells the other ranks that this one has failed, or which one it has lost, unless all know of a
  // failure; waits for that up to a second.
  void fail(const char* how);
  void fail(const core::LostError& loss);  // that it has thrown: the others throw the same
  [[noreturn]] void lose(int rank, std::string_view phase, std::string_view how);
  // As lose(), of a failure that the failed rank itself has reported to all.
  [[noreturn]] void lose_as_told(int rank, const std::string& text);
  // A rank has returned that this one waits for. The world is whole for the others.
  [[noreturn]] void throw_in_vain(int returned);
  // What the rank's next call throws, if it is the first.
  void break_off(const core::LostError& loss);
  // For whoever communicates. throws: core::LostError, again, if the world has ended for this rank.
  void require_whole() {
    if (loss_) throw_again();
  }
  // The same before a message; what was waited for in vain is no reason for what becomes of it,
  // even if somebody keeps that exception.
  void begin_message() {
    require_whole();
    if (std::uncaught_exceptions() == 0) in_vain_.reset();
  }

  // throws: core::LostError if MPI has failed. peer: or any_source.
  void check(int code, const char* call, int peer) {
    if (code != MPI_SUCCESS) throw_failed(code, call, peer);
  }
  bool test(MPI_Request& request, int peer, MPI_Status* status = MPI_STATUS_IGNORE) {
    int done = 0;
    check(MPI_Test(&request, &done, status), "MPI_Test", peer);
    return done != 0;
  }

  // Returns once ready() is true; makes progress meanwhile.
  template <class Ready>
  void wait(const WaitTarget& awaited, Ready&& ready) {
    require_whole();
    for (Clock::time_point start{};; rest(awaited, start)) {
      for (int i = 0; i < polls_; ++i) {
        if (ready()) return;
        progress();
      }
    }
  }
  void complete(MPI_Request& request, const WaitTarget& awaited) {
    wait(awaited, [&] { return test(request, awaited.peer); });
  }
  void progress();

  // For destructors, where memory ends that MPI may still use. Waits for a moment, once if in vain;
  // returns whether the request is complete.
  bool settle(MPI_Request& request);
  // A send that is not complete is given up: its receiver gets a notice. Ends the world for this
  // rank, so that MPI, which moves nothing without calls, touches the memory no more.
  void withdraw(int peer);
  // The same for a receive into the user's memory. No other world may open then.
  void leave_receive(int peer);
  // A collective that a loss has ended is left. If it is not complete after a moment and MPI may
  // still write the user's memory, no other world may open.
  void leave_collective(const core::LostError& loss, MPI_Request& request, bool on_users_memory);
  // A group is made. If this world fails, no other may open: its groups are not given up together,
  // and Open MPI mistakes their messages for those of later ones.
  void note_group() { has_groups_ = true; }
  // throws: core::LostError if a rank has failed or has withdrawn a message to this one.
  void check_not_withdrawn(int rank);

  // For a rank that has not waited for a while. throws: core::LostError if another has failed.
  void look_if_late() {
    if (Clock::now() - last_look_ > std::chrono::milliseconds(10)) check_alive({rank()});
  }
  // throws: core::LostError if a rank has failed, or whoever is awaited has returned.
  void check_alive(const WaitTarget& awaited);

  // Receives that ask for their elements when their packet has come, whoever waits for what.
  void enlist(PostedReceive& receive) { receives_.push_back(&receive); }
  void strike(PostedReceive& receive) { std::erase(receives_, &receive); }

  Backgrounds& backgrounds() { return backgrounds_; }

  std::uint32_t next_bulk_tag();
  // Counts the collectives of all ranks of the world: one begins now.
  std::uint64_t next_collective() { return ++collectives_; }

 private:
  [[noreturn]] void lose(const core::LostError& loss);
  [[noreturn]] void throw_failed(int code, const char* call, int peer);
  [[noreturn]] void throw_again();
  void start_heartbeat(double silence_limit_s);
  void check_silence();
  void check_neighbours();
  // Why a message is left: what this rank has waited for in vain, or an exception of the user's.
  core::LostError left_behind(const std::string& what) const;
  const char* phase() const {
    if (phase_ != nullptr && *phase_ != '\0') return phase_;
    const char* const call = call_.load();
    return call != nullptr ? call : "";
  }
  // start: of the resting; none before the first call.
  void rest(const WaitTarget& awaited, Clock::time_point& start);

  Library& library_;
  MPI_Comm bulk_;
  MPI_Op user_operation_ = MPI_OP_NULL;
  int polls_;  // without a rest
  std::uint32_t bulk_tag_ = 0;
  std::uint64_t collectives_ = 0;
  bool broken_ = false, closed_ = false;
  bool all_know_ = false;  // of a failure
  bool settled_in_vain_ = false;
  bool has_groups_ = false;
  std::optional<core::LostError> loss_;           // the first
  std::optional<Lost> lost_;                      // the same, if it is of another rank
  std::weak_ptr<const core::LostError> in_vain_;  // as long as the exception of such a wait lives
  const char* phase_ = nullptr;
  std::atomic<const char*> call_{nullptr};
  Clock::time_point last_look_ = Clock::now();        // for notices
  Clock::time_point last_neighbours_ = Clock::now();  // the same for processes
  std::vector<PostedReceive*> receives_;
  std::size_t cursor_ = 0;
  Backgrounds backgrounds_;
  Outbox outbox_;
  Notices notices_;
  std::optional<Heartbeat> heartbeat_;
};

// --- MPI's own collectives: collectives.cc ---

// Applies the operation of the reduction under way: the user's function of an MPI_Op.
void apply_current(void* in, void* inout, int* length, MPI_Datatype* type);

// MPI's own collectives. world_ranks: of the group, and must outlive this.
std::unique_ptr<NativeCollectives> make_collectives(Engine& engine, MPI_Comm comm, int rank,
                                                    std::span<const int> world_ranks);

}  // namespace tabane::comm::mpi
