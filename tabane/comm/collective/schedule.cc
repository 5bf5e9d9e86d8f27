#include "tabane/comm/collective/schedule.h"

#include <fmt/format.h>

#include <utility>

#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

Rounds rounds_of(const Group& group, const Call& call) {
  if (group.size() == 1) return {};
  switch (call.kind) {
    case Kind::barrier:
      return rounds_of_barrier(group);
    case Kind::broadcast:
      return rounds_of_broadcast(group, call);
    case Kind::all_reduce:
      return rounds_of_all_reduce(group, call);
    default:
      throw core::UsageError(fmt::format("{} has no form that does not block", name_of(call.kind)));
  }
}

}  // namespace

Schedule::Schedule(std::shared_ptr<Group> group, const Call& call)
    : group_(std::move(group)),
      own_{signature_of(call), call.root, CallRecord::kNonBlocking},
      lookout_(*group_),
      label_{pending_tag_of(own_.number()), call.element.type},
      rounds_(rounds_of(*group_, call)) {
  if (group_->size() > 1 && group_->compares_calls()) add_comparison();
  if (group_->board() != nullptr) group_->board()->calls.write(own_);
  advance();
  if (!is_done_) group_->transport().enlist(*this);
}

Schedule::~Schedule() {
  if (is_done_) return;
  // While an exception takes the rank away, its peers may be waiting for it.
  if (std::uncaught_exceptions() == exceptions_) {
    try {
      wait();
    } catch (...) {  // the rank hears of it in its next call
    }
  }
  group_->transport().strike(*this);
}

// As the blocking collectives do on groups without shared memory; but nobody waits for it here.
void Schedule::add_comparison() {
  const int p = group_->size(), self = group_->rank(), before = (self + p - 1) % p;
  Round round;
  round.sends.push_back({(self + 1) % p, std::as_bytes(std::span(&own_, 1))});
  round.receives.push_back({before, std::as_writable_bytes(std::span(&other_, 1))});
  rounds_.all.insert(rounds_.all.begin(), std::move(round));
  is_compared_ = true;
}

void Schedule::begin(const Round& round) {
  Transport& transport = group_->transport();
  const Label label = is_compared_ && round_ == 0 ? Label{kComparisonTag, {}} : label_;
  pending_.reserve(round.receives.size() + round.sends.size());
  for (const Round::Receive& one : round.receives) {
    pending_.push_back(transport.irecv(one.from, label, one.bytes));
  }
  for (const Round::Send& one : round.sends) {
    pending_.push_back(transport.isend(one.to, label, one.bytes));
  }
}

bool Schedule::is_complete(const Round& round) {
  for (; tested_ < pending_.size(); ++tested_) {
    if (!pending_[tested_]->test()) return false;
    if (tested_ >= round.receives.size()) continue;
    const Arrival& got = pending_[tested_]->arrival;
    const std::size_t wanted = round.receives[tested_].bytes.size();
    if (got.bytes == wanted) continue;
    throw MessageError(fmt::format("rank {} calls {}: rank {} sent {} bytes where it expects {}",
                                   group_->rank(), describe(own_), got.source, got.bytes, wanted));
  }
  return true;
}

void Schedule::advance() {
  if (is_done_ || std::exchange(is_advancing_, true)) return;
  struct Release {
    bool& flag;
    ~Release() { flag = false; }
  } const release{is_advancing_};
  for (; round_ < rounds_.all.size(); ++round_) {
    Round& round = rounds_.all[round_];
    if (pending_.empty()) begin(round);
    if (!is_complete(round)) return;
    pending_.clear();
    tested_ = 0;
    if (is_compared_ && round_ == 0) {
      compare(group_->rank(), own_, round.receives[0].from, other_);
    } else if (round.then != nullptr) {
      round.then(rounds_);
    }
  }
  end();
}

void Schedule::end() noexcept {
  if (!std::exchange(is_done_, true)) group_->transport().strike(*this);
}

// A loss is told by the wait that is under way, too. While the exception passes, messages on their
// way are given up rather than waited for: after it nobody reads or writes the values. To give one
// up may take progress of all that is enlisted, so this call leaves the list first.
template <class Step>
void Schedule::keep_error(Step&& step) noexcept {
  if (is_done_) return;
  try {
    struct GiveUp {
      Schedule& schedule;
      int before = std::uncaught_exceptions();
      ~GiveUp() {
        if (std::uncaught_exceptions() == before) return;
        schedule.end();
        schedule.pending_.clear();
      }
    } const give_up{*this};
    try {
      step();
    } catch (const core::Error&) {
      // It may be the consequence of another call of a peer's, which has perhaps returned.
      group_->transport().check_alive();
      if (group_->board() != nullptr) group_->board()->calls.compare_recorded(own_);
      throw;
    }
  } catch (...) {
    error_ = std::current_exception();
    if (group_->board() != nullptr) group_->board()->calls.forget(own_.number());
  }
}

void Schedule::progress() {
  keep_error([this] { advance(); });
}

void Schedule::look() {
  if (is_advancing_) return;  // within one of its messages
  keep_error([this] { lookout_.look(own_); });
}

bool Schedule::test() {
  keep_error([this] { advance(); });
  if (error_) std::rethrow_exception(error_);
  return is_done_;
}

void Schedule::wait() {
  if (test()) return;
  keep_error([this] { wait_until([this] { return test(); }); });
  if (error_) std::rethrow_exception(error_);
}

void Schedule::wait_until(const std::function<bool()>& ready) {
  group_->transport().wait_until(any_source, ready);
}

}  // namespace tabane::comm
