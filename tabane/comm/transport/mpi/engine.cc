#include "tabane/comm/transport/mpi/engine.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "tabane/comm/transport/mpi/requests.h"

namespace tabane::comm::mpi {
namespace {

// For the other side of a message to take it, or, where a rank was lost, to take what is on its
// way.
constexpr std::chrono::milliseconds kGrace{250}, kGraceAfterLoss{50};

// Of a wait for a rank that has returned.
class InVain : public core::LostError {
 public:
  explicit InVain(std::shared_ptr<const core::LostError> error)
      : LostError(*error), error_(std::move(error)) {}

 private:
  std::shared_ptr<const core::LostError> error_;
};

}  // namespace

Engine::Engine(Library& library, double silence_limit_s)
    : library_(library),
      bulk_(library.duplicate(MPI_COMM_WORLD)),
      polls_(library.crowded() ? 1 : 500),
      outbox_(*this),
      notices_(*this, library.duplicate(MPI_COMM_WORLD)) {
  MPI_Op_create(apply_current, 0, &user_operation_);
  library_.set_ends_together(false);
  if (library_.spans_hosts()) start_heartbeat(silence_limit_s);
}

void Engine::start_heartbeat(double silence_limit_s) {
  heartbeat_.emplace(library_.host(), silence_limit_s, library_.plays_hosts());
  std::vector<Whereabouts> all(static_cast<std::size_t>(size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&heartbeat_->whereabouts(), sizeof(Whereabouts), MPI_BYTE, all.data(),
                       sizeof(Whereabouts), MPI_BYTE, bulk_, &request),
        "MPI_Iallgather", any_source);
  complete(request, {any_source});
  heartbeat_->start(std::move(all), rank());
}

void Engine::check_silence() {
  const int silent = heartbeat_->silent_rank();
  if (silent == Heartbeat::kNobody) return;
  lose(silent, {},
       fmt::format("its host {} has been silent for {} s", heartbeat_->host_of(silent),
                   heartbeat_->limit().count()));
}

// Some launchers go on without a process that has ended, of which MPI then tells nobody. Who has
// returned may end as soon as all have.
void Engine::check_neighbours() {
  constexpr std::chrono::milliseconds kPause(100);
  if (last_look_ - last_neighbours_ < kPause || notices_.all_returned()) return;
  last_neighbours_ = last_look_;
  for (const int rank : library_.neighbours()) {
    const auto process = static_cast<pid_t>(pid(rank));
    if (::kill(process, 0) == 0 || errno != ESRCH) continue;
    // MPI looks for the notices of the process before it makes progress.
    for (const auto until = Clock::now() + kPause; Clock::now() < until;) notices_.read();
    if (notices_.all_returned()) return;
    lose(rank, {}, "its process has ended");
  }
}

Engine::~Engine() {
  try {
    if (!broken_ && !closed_) close({});
  } catch (const core::Error&) {  // a rank was lost on the last metres: its launcher says so
    broken_ = true;
  }
  if (broken_) {
    if (has_groups_) library_.forbid_worlds();
    return;
  }
  MPI_Op_free(&user_operation_);
  MPI_Comm_free(&bulk_);
  library_.set_ends_together(true);
}

// What was sent may leave until all ranks have returned; after that nobody will take it, and no
// later world shall: MPI gives its communicators to new ones. A mark of this rank has been taken
// when its send is complete, so when all ranks are in the barrier, all marks are. What was sent to
// a group that its receiver has left is never taken.
void Engine::close(std::span<const MPI_Comm> comms) {
  require_whole();
  notices_.tell_return(collectives_);
  wait({rank()}, [&] {
    notices_.read();
    return notices_.all_returned() && notices_.are_sent();
  });
  MPI_Request request = MPI_REQUEST_NULL;
  bool in_barrier = false;
  const auto until = Clock::now() + std::chrono::seconds(1);
  wait({rank()}, [&] {
    for (MPI_Comm comm : comms) drain(comm);
    drain(bulk_);
    if (!in_barrier && (outbox_.empty() || Clock::now() > until)) {
      check(MPI_Ibarrier(bulk_, &request), "MPI_Ibarrier", any_source);
      in_barrier = true;
    }
    return in_barrier && test(request, any_source);
  });
  closed_ = true;
}

void Engine::drain(MPI_Comm comm) {
  for (;;) {
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &message, &status), "MPI_Improbe",
          any_source);
    if (!there) return;
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    const AlignedBytes place = allocate_aligned(static_cast<std::size_t>(bytes));
    const ByteCount count(static_cast<std::size_t>(bytes));
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Imrecv(place.get(), count.count(), count.type(), &message, &request), "MPI_Imrecv",
          any_source);
    complete(request, {rank()});
  }
}

void Engine::fail(const char* how) { fail(core::LostError(rank(), pid(rank()), phase(), how)); }

void Engine::fail(const core::LostError& loss) {
  broken_ = true;
  if (heartbeat_) heartbeat_->calm_down();
  if (std::exchange(all_know_, true)) return;
  try {
    notices_.tell_failure(lost_ ? *lost_ : Lost{loss.rank(), loss.what()});
    const auto until = Clock::now() + std::chrono::seconds(1);
    while (!notices_.are_sent() && Clock::now() < until) sched_yield();
  } catch (const core::Error&) {  // MPI has failed too: its launcher ends the others
  }
}

void Engine::break_off(const core::LostError& loss) {
  broken_ = true;
  if (!loss_) loss_.emplace(loss);
  if (heartbeat_) heartbeat_->calm_down();
}

void Engine::lose(const core::LostError& loss) {
  if (!lost_) lost_ = Lost{loss.rank(), loss.what()};
  break_off(loss);
  throw core::LostError(*loss_);
}

void Engine::lose(int rank, std::string_view phase, std::string_view how) {
  lose(core::LostError(rank, pid(rank), phase, how));
}

void Engine::lose_as_told(int rank, const std::string& text) {
  all_know_ = true;
  lose(core::LostError(rank, pid(rank), text));
}

void Engine::throw_in_vain(int returned) {
  const auto error = std::make_shared<const core::LostError>(
      returned, pid(returned),
      fmt::format("rank {} has returned from its function while rank {} waits for it", returned,
                  rank()));
  if (in_vain_.expired()) in_vain_ = error;
  throw InVain(error);
}

void Engine::throw_again() {
  fail(*loss_);
  throw core::LostError(*loss_);
}

// The other side is often there already, as in an exchange of which one half has failed.
bool Engine::settle(MPI_Request& request) {
  const auto until = Clock::now() + (!broken_           ? kGrace
                                     : settled_in_vain_ ? std::chrono::milliseconds(0)
                                                        : kGraceAfterLoss);
  for (;;) {
    int done = 0;
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done) return true;
    if (Clock::now() >= until) break;
    try {
      progress();
    } catch (const core::Error&) {  // of another message: the rank's next call throws it
    }
    if (crowded()) sched_yield();
  }
  settled_in_vain_ = true;
  return false;
}

void Engine::withdraw(int peer) {
  const core::LostError why = left_behind("a message to rank " + std::to_string(peer));
  try {
    notices_.tell_withdrawal(peer, {why.rank(), why.what()});
  } catch (const core::Error&) {  // MPI has failed too: its launcher ends the others
  }
  break_off(why);
}

void Engine::leave_receive(int peer) {
  library_.forbid_worlds();
  break_off(left_behind("a message from rank " + std::to_string(peer)));
}

void Engine::leave_collective(const core::LostError& loss, MPI_Request& request,
                              bool on_users_memory) {
  break_off(loss);
  if (!settle(request) && on_users_memory) library_.forbid_worlds();
}

core::LostError Engine::left_behind(const std::string& what) const {
  if (const auto error = in_vain_.lock()) return *error;
  if (loss_) return *loss_;
  return {rank(), pid(rank()), phase(), "an exception passed " + what + " on its way"};
}

void Engine::check_not_withdrawn(int rank) {
  notices_.read();
  const Lost* const why = notices_.withdrawal_of(rank);
  if (why != nullptr) lose(core::LostError(why->rank, pid(why->rank), why->text));
}

void Engine::throw_failed(int code, const char* call, int peer) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  lose(peer == any_source ? rank() : peer, phase(), std::string(call) + ": " + text.data());
}

// A few of those under way at each call, in turn: each step makes MPI's own progress for all.
void Engine::progress() {
  for (std::size_t i = 0; i < std::min<std::size_t>(receives_.size(), 4); ++i) {
    receives_[cursor_++ % receives_.size()]->step();
  }
  outbox_.progress();
  backgrounds_.progress();
}

// A loss may be known already: a call in the background, which keeps its error, has heard of it.
void Engine::check_alive(const WaitTarget& awaited) {
  require_whole();
  last_look_ = Clock::now();
  if (heartbeat_) check_silence();
  notices_.read();
  notices_.check_in_vain(awaited);
  check_neighbours();
}

// A yield to another program costs a whole time slice, so a rank with a PU of its own yields only
// after a millisecond, when whoever it waits for may lack a PU. MPI cannot wake a sleeping rank, so
// it sleeps little, and only when it has waited for long.
void Engine::rest(const WaitTarget& awaited, Clock::time_point& start) {
  check_alive(awaited);
  backgrounds_.look();
  const Clock::time_point now = Clock::now();
  if (start == Clock::time_point{}) start = now;
  if (crowded() || now - start > std::chrono::milliseconds(1)) sched_yield();
  if (now - start > std::chrono::milliseconds(100)) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::uint32_t Engine::next_bulk_tag() {
  bulk_tag_ = bulk_tag_ == static_cast<std::uint32_t>(most_tag()) ? 0 : bulk_tag_ + 1;
  return bulk_tag_;
}

}  // namespace tabane::comm::mpi
