#include "tabane/comm/transport/mpi/notices.h"

#include <algorithm>
#include <string_view>

#include "tabane/comm/transport/mpi/engine.h"

namespace tabane::comm::mpi {
namespace {

constexpr int kNobody = -1;

bool is_past(Clock::time_point when) {
  return when != Clock::time_point::max() && Clock::now() - when > std::chrono::milliseconds(500);
}

template <std::size_t kSize>
void copy_text(std::array<char, kSize>& to, std::string_view text) {
  to[text.copy(to.data(), kSize - 1)] = '\0';
}

}  // namespace

Notices::Notices(Engine& engine, MPI_Comm comm)
    : engine_(engine), comm_(comm), ranks_(static_cast<std::size_t>(engine.size())) {}

Notices::~Notices() {
  if (!engine_.broken()) {
    MPI_Comm_free(&comm_);
  } else if (!requests_.empty()) {
    static_cast<void>(told_.release());  // MPI may still read them
    for (auto& withdrawal : withdrawals_) static_cast<void>(withdrawal.release());
  }
}

void Notices::tell_return(std::uint64_t collectives) {
  told_->collectives = collectives;
  ranks_[static_cast<std::size_t>(engine_.rank())].returned = Clock::now();
  ++returned_count_;
  tell_all();
}

void Notices::tell_failure(const Lost& lost) {
  told_->event = Event::failed;
  told_->lost = lost.rank;
  copy_text(told_->text, lost.text);
  tell_all();
}

void Notices::tell_withdrawal(int rank, const Lost& why) {
  Notice& withdrawal = *withdrawals_.emplace_back(std::make_unique<Notice>());
  withdrawal.event = Event::withdrew;
  withdrawal.lost = why.rank;
  copy_text(withdrawal.text, why.text);
  tell(withdrawal, rank);
}

void Notices::tell(const Notice& notice, int rank) {
  engine_.check(MPI_Isend(&notice, sizeof notice, MPI_BYTE, rank, 0, comm_,
                          &requests_.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Isend", rank);
}

void Notices::tell_all() {
  for (int rank = 0; rank < engine_.size(); ++rank) {
    if (rank != engine_.rank()) tell(*told_, rank);
  }
}

bool Notices::are_sent() {
  int done = 0;
  engine_.check(
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
      "MPI_Testall", any_source);
  if (done) requests_.clear();
  return done != 0;
}

void Notices::read() {
  for (;;) {
    int there = 0;
    MPI_Status status;
    engine_.check(MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &there, &status), "MPI_Iprobe", any_source);
    if (!there) return;
    Notice notice;
    const int rank = status.MPI_SOURCE;
    engine_.check(MPI_Recv(&notice, sizeof notice, MPI_BYTE, rank, 0, comm_, MPI_STATUS_IGNORE),
                  "MPI_Recv", rank);
    if (notice.event == Event::failed) {
      engine_.lose_as_told(notice.lost, notice.text.data());
    }
    RankNews& state = ranks_[static_cast<std::size_t>(rank)];
    if (notice.event == Event::withdrew) {
      withdrawn_.push_back(rank);
      state.withdrew = Clock::now();
      state.why = {notice.lost, notice.text.data()};
    } else {
      state.returned = Clock::now();
      state.collectives = notice.collectives;
      ++returned_count_;
    }
  }
}

// Its last messages may still be on their way when its notice comes: it gets some time.
bool Notices::is_gone(int rank) const { return is_past(of(rank).returned); }

int Notices::who_never_joins(std::uint64_t collectives) const {
  const auto found = std::ranges::find_if(ranks_, [&](const RankNews& state) {
    return state.returned != Clock::time_point::max() && state.collectives < collectives;
  });
  return found == ranks_.end() ? kNobody : static_cast<int>(found - ranks_.begin());
}

int Notices::who_of_all_is_gone(std::span<const int> group) const {
  int gone = kNobody;
  for (const int rank : group) {
    if (rank == engine_.rank()) continue;
    if (!is_gone(rank)) return kNobody;
    gone = rank;
  }
  return gone;
}

void Notices::check_in_vain(const WaitTarget& awaited) {
  for (const int rank : withdrawn_) {
    if (is_past(of(rank).withdrew)) engine_.check_not_withdrawn(rank);
  }
  if (returned_count_ == 0 || awaited.peer == engine_.rank()) return;
  int gone = kNobody;
  if (awaited.peer != any_source) {
    gone = is_gone(awaited.peer) ? awaited.peer : kNobody;
  } else if (awaited.collectives > 0) {
    gone = who_never_joins(awaited.collectives);
  } else {
    gone = who_of_all_is_gone(awaited.group);
  }
  if (gone != kNobody) engine_.throw_in_vain(gone);
}

}  // namespace tabane::comm::mpi
