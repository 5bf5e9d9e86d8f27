#include "tabane/comm/collective/schedule.h"

#include <utility>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/calls.h"

namespace tabane::comm {
namespace {

constexpr std::size_t kMostKeptBytes = 64 * 1024;  // of scratch, for later calls
// Where each rank has a PU, a rank that waits looks at the lines this often before it looks at
// everything else, too.
constexpr int kNarrowPolls = 200;

// Where the rules take memory for the same call that blocks, of which there is no broadcast.
bool goes_by_lines(const Group& group, const Call& call) {
  return group.board() != nullptr && call.kind != Kind::broadcast &&
         call.bytes <= kLineValueBytes && uses_memory(group.choice()->pick(group, call));
}

std::string_view name_of_open(Kind kind) {
  return kind == Kind::barrier     ? "ibarrier"
         : kind == Kind::broadcast ? "ibroadcast"
                                   : "iall_reduce";
}

}  // namespace

PendingPtr Schedule::begin(std::shared_ptr<Group> group, const Call& call) {
  std::vector<std::unique_ptr<Schedule>>& ended = group->ended_schedules();
  if (ended.empty()) ended.emplace_back(new Schedule(*group));
  PendingPtr one(ended.back().release());
  ended.pop_back();
  static_cast<Schedule&>(*one).start(std::move(group), call);
  return one;
}

void Schedule::start(std::shared_ptr<Group> group, const Call& call) {
  group_ = std::move(group);
  own_ = {signature_of(call), call.root, CallRecord::kNonBlocking};
  lookout_.restart();
  label_ = {pending_tag_of(own_.number()), call.element.type};
  rounds_.values = call.values;
  if (call.combine != nullptr) rounds_.combine = *call.combine;
  rounds_.ranks = group_->size();
  exceptions_ = std::uncaught_exceptions();
  round_ = tested_ = 0;
  is_compared_ = is_done_ = false;
  if (group_->board() != nullptr) group_->board()->calls.write(own_);
  const bool by_lines = goes_by_lines(*group_, call);
  const CallCounter::Scope counted(group_->size() > 1 ? group_->counter() : nullptr,
                                   name_of_open(call.kind), by_lines ? "lines" : "messages");
  if (by_lines) {
    word_ = group_->board()->open_lines.begin(call);
  } else if (group_->size() > 1) {
    add_rounds(call);
  }
  keep_error([this] { advance(); });  // test() and wait() throw it
  if (!is_done_) group_->transport().enlist(*this);
}

Schedule::~Schedule() { finish(); }

// Its group may end here, and with it all that the group keeps.
void Schedule::release() noexcept {
  finish();
  pending_.clear();
  rounds_.clear();
  if (rounds_.scratch.capacity() > kMostKeptBytes) rounds_.scratch = {};
  word_.reset();
  error_ = nullptr;
  const std::shared_ptr<Group> group = std::move(group_);
  group->ended_schedules().emplace_back(this);
}

void Schedule::finish() noexcept {
  if (is_done_) return;
  wait_unless_thrown();
  end();
}

// The comparison is as that of the blocking collectives on groups without shared memory; but nobody
// waits for it here.
void Schedule::add_rounds(const Call& call) {
  const int p = group_->size(), self = group_->rank();
  is_compared_ = group_->compares_calls();
  if (is_compared_) {
    rounds_.send((self + 1) % p, std::as_bytes(std::span(&own_, 1)));
    rounds_.receive((self + p - 1) % p, std::as_writable_bytes(std::span(&other_, 1)));
    rounds_.end_round();
  }
  if (call.kind == Kind::barrier) return add_barrier(rounds_, *group_);
  if (call.kind == Kind::broadcast) return add_broadcast(rounds_, *group_, call);
  TABANE_ASSERT(call.kind == Kind::all_reduce);
  add_all_reduce(rounds_, *group_, call);
}

void Schedule::begin_round(std::size_t round) {
  Transport& transport = group_->transport();
  const Label label = is_compared_ && round == 0 ? Label{kComparisonTag, {}} : label_;
  const Round before = round == 0 ? Round{} : rounds_.all[round - 1], &now = rounds_.all[round];
  for (std::size_t i = before.receives_end; i < now.receives_end; ++i) {
    pending_.push_back(transport.irecv(rounds_.receives[i].from, label, rounds_.receives[i].bytes));
  }
  for (std::size_t i = before.sends_end; i < now.sends_end; ++i) {
    pending_.push_back(transport.isend(rounds_.sends[i].to, label, rounds_.sends[i].bytes));
  }
}

bool Schedule::is_complete(std::size_t round) {
  const std::size_t first = round == 0 ? 0 : rounds_.all[round - 1].receives_end;
  const std::size_t receives = rounds_.all[round].receives_end - first;
  for (; tested_ < pending_.size(); ++tested_) {
    if (!pending_[tested_]->test()) return false;
    if (tested_ >= receives) continue;
    const Arrival& got = pending_[tested_]->arrival;
    const std::size_t wanted = rounds_.receives[first + tested_].bytes.size();
    if (got.bytes == wanted) continue;
    throw MessageError("rank {} calls {}: rank {} sent {} bytes where it expects {}",
                       group_->rank(), describe(own_), got.source, got.bytes, wanted);
  }
  return true;
}

bool Schedule::pass_rounds() {
  for (; round_ < rounds_.all.size(); ++round_) {
    if (pending_.empty()) begin_round(round_);
    if (!is_complete(round_)) return false;
    pending_.clear();
    tested_ = 0;
    if (is_compared_ && round_ == 0) {
      compare(group_->rank(), own_, rounds_.receives[0].from, other_);
    } else if (const auto then = rounds_.all[round_].then) {
      then(rounds_);
    }
  }
  return true;
}

// In the order of ranks, as the blocking all_reduce by flags.
bool Schedule::read_lines() {
  OpenLines& lines = group_->board()->open_lines;
  lines.flush();
  for (; tested_ < static_cast<std::size_t>(rounds_.ranks); ++tested_) {
    const auto rank = static_cast<int>(tested_);
    const std::byte* const values = lines.look(rank, *word_, own_.number());
    if (values == nullptr) return false;
    if (!rounds_.values.empty()) add_in_order(rounds_.combine, rounds_.values, rank, values);
  }
  return true;
}

void Schedule::advance() {
  if (is_done_ || std::exchange(is_advancing_, true)) return;
  const AtEnd release([this] { is_advancing_ = false; });
  if (word_ ? read_lines() : pass_rounds()) end();
}

void Schedule::end() noexcept {
  if (std::exchange(is_done_, true)) return;
  if (word_) group_->board()->open_lines.end(*word_);
  group_->transport().strike(*this);
}

// The wait that is under way reports a loss, too. While the exception passes, messages on their
// way are given up rather than waited for: after it nobody reads or writes the values. To give one
// up may take progress of all that is enlisted, so this call leaves the list first.
template <class Step>
void Schedule::keep_error(Step&& step) noexcept {
  if (is_done_) return;
  try {
    struct GiveUp {
      Schedule& schedule;
      bool is_well = false;
      ~GiveUp() {
        if (is_well) return;
        schedule.end();
        schedule.pending_.clear();
      }
    } give_up{*this};
    try {
      step();
    } catch (const core::Error&) {
      // It may be the consequence of another call of a peer's, which has perhaps returned.
      group_->transport().check_alive();
      if (group_->board() != nullptr) group_->board()->calls.compare_recorded(own_);
      throw;
    }
    give_up.is_well = true;
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

bool Schedule::step() {
  keep_error([this] {
    if (word_) group_->transport().check_alive();
    advance();
  });
  if (error_) std::rethrow_exception(error_);
  return is_done_;
}

// Returns the rank that it waits for. While its own line is not written, nobody has ended the call
// and left.
int Schedule::awaited() const {
  const bool is_written = group_->board()->open_lines.is_written(*word_);
  return is_written ? static_cast<int>(tested_) : any_source;
}

bool Schedule::test() {
  if (step()) return true;
  keep_error([this] {
    lookout_.look(own_);
    if (!word_) return;
    group_->transport().progress();
    if (is_done_) return;
    group_->transport().memory()->check(awaited(), [this, before = awaited()] {
      advance();
      return is_done_ || awaited() != before;
    });
  });
  if (error_) std::rethrow_exception(error_);
  return is_done_;
}

void Schedule::wait_for_lines() {
  const int polls = group_->transport().crowded() ? 0 : kNarrowPolls;
  for (int i = 0; i < polls && !is_done_; ++i) advance();
  while (!is_done_) {
    group_->transport().memory()->wait(awaited(), [this, before = awaited()] {
      advance();
      return is_done_ || awaited() != before;
    });
  }
}

void Schedule::wait() {
  if (step()) return;
  keep_error([this] { word_ ? wait_for_lines() : wait_until([this] { return test(); }); });
  if (error_) std::rethrow_exception(error_);
}

void Schedule::wait_until(const std::function<bool()>& ready) {
  group_->transport().wait_until(any_source, ready);
}

}  // namespace tabane::comm
