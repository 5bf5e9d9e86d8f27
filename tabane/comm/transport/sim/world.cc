#include "tabane/comm/transport/sim/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"

namespace tabane::comm::sim {
namespace {

// More looks than this by a rank that nobody can send to any more are a deadlock.
constexpr std::uint64_t kMostLooksInVain = 10'000'000;
constexpr double kLeastOfALook = 0.001;  // microseconds
constexpr std::size_t kMostNamed = 8;    // ranks in a message

bool fits(int group, int from, const Label& label, const Message& message) {
  if (group != message.group) return false;
  if (from != any_source && from != message.arrival.source) return false;
  return label.tag == any_tag ? message.arrival.tag >= 0 : label.tag == message.arrival.tag;
}
bool fits(const PendingReceive& receive, const Message& message) {
  return fits(receive.group, receive.from, receive.label, message);
}

}  // namespace

World::World(Machine of) : machine(std::move(of)) {
  std::vector<int> members(static_cast<std::size_t>(machine.ranks()));
  std::iota(members.begin(), members.end(), 0);
  for (const int number : members) {
    ranks_.push_back(std::make_unique<Rank>());
    ranks_.back()->number = number;
  }
  all_ = make_group(std::move(members));
}

std::shared_ptr<GroupState> World::make_group(std::vector<int> members) {
  const auto group = std::make_shared<GroupState>();
  std::set<int> rows, columns;
  for (const int member : members) {
    rows.insert(member / machine.columns);
    columns.insert(member % machine.columns);
  }
  group->id = groups_++;
  group->rows = static_cast<int>(rows.size());
  group->columns = static_cast<int>(columns.size());
  group->parts.resize(members.size());
  group->members = std::move(members);
  return group;
}

// No rank begins the next group with the same members before all have joined this one: split()
// tells each of all others in between.
std::shared_ptr<GroupState> World::join(const GroupState& parent, int self,
                                        std::span<const int> members) {
  std::vector<int> in_world;
  for (const int member : members) {
    in_world.push_back(parent.members[static_cast<std::size_t>(member)]);
  }
  const auto key = std::make_pair(parent.id, in_world);
  Forming& forming = forming_[key];
  if (!forming.group) forming.group = make_group(std::move(in_world));
  const std::shared_ptr<GroupState> group = forming.group;
  if (++forming.joined == static_cast<int>(members.size())) forming_.erase(key);
  throw_if_failed();
  rank(self).looks_in_vain = 0;
  return group;
}

void World::run(const std::function<void(int)>& f) {
  for (const auto& one : ranks_) {
    one->fiber = std::make_unique<Fiber>([this, &self = *one, &f] { live(self, f); });
    enqueue(*one, 0);
  }
  const Use before = Use::now();
  main_.switch_to(*take_next().fiber);
  if (run_ != nullptr) fill_run(before);
  if (!failure_) return;
  if (failure_->thrown) std::rethrow_exception(failure_->thrown);
  throw core::Error(failure_->text);
}

World::Use World::Use::now() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nvcsw, core::clock_requests()};
}

void World::check_with(std::function<void()> check) { check_ = std::move(check); }

void World::check() {
  constexpr std::uint64_t kEach = 16;  // each time it would cost 2 % of a message
  if (check_ && ++checks_ % kEach == 0 && !failure_) {
    try {
      check_();
    } catch (...) {
      fail(-1, "the run was ended", std::current_exception());
    }
  }
  throw_if_failed();
}

void World::record(SimulatedRun& run) {
  run_ = &run;
  for (const auto& one : ranks_) one->timeline = std::make_unique<Timeline>();
}

void World::fill_run(const Use& before) const {
  constexpr double kMicrosecond = 1e-6;
  const auto later = [](const auto& a, const auto& b) { return a->now < b->now; };
  const Rank& last = **std::ranges::max_element(ranks_, later);
  run_->seconds = kMicrosecond * last.now;
  run_->path = last.path.microseconds;
  run_->path_messages = last.path.messages;
  double width = 0;
  for (const auto& one : ranks_) width = std::max(width, one->timeline->width());
  run_->slice_seconds = kMicrosecond * width;
  for (double& one : run_->path.of) one *= kMicrosecond;
  for (const auto& one : ranks_) {
    one->timeline->widen_to(width);
    std::vector<Activities>& slices = run_->ranks.emplace_back(one->timeline->slices());
    for (Activities& slice : slices) {
      for (double& activity : slice.of) activity *= kMicrosecond;
    }
  }
  // Fewer may be those of one rank that reads a file for all, or the system's for a page of memory.
  constexpr long kFewWaits = 16;
  const Use after = Use::now();
  const long waits = after.waits - before.waits;
  if (waits >= std::max(kFewWaits, static_cast<long>(ranks_.size()))) {
    run_->warnings.push_back(
        fmt::format("the program slept {} times, or waited for files or other threads: that takes "
                    "no time on the machine",
                    waits));
  }
  if (after.clock_requests > before.clock_requests) {
    run_->warnings.push_back("the program reads a real clock: its time is that of this computer");
  }
}

void World::Rank::account(Activity what, double until) {
  if (until <= accounted) return;
  path.microseconds[what] += until - accounted;
  if (timeline) timeline->add(what, accounted, until);
  accounted = until;
}

void World::Rank::spend(Activity what, double microseconds) {
  account(Activity::wait);
  now += microseconds;
  account(what);
  idle_since = now;
}

void World::Rank::follow(const Path& cause, Activity since) {
  account(Activity::wait);
  path = cause;
  path.microseconds[since] += now - path.microseconds.sum();
  idle_since = now;
}

bool World::waits_for(const Rank& one, int number) {
  const Awaited& awaited = *one.awaited;
  return !awaited.is_collective &&
         (awaited.peer == any_source ||
          awaited.group->members[static_cast<std::size_t>(awaited.peer)] == number);
}

void World::live(Rank& self, const std::function<void(int)>& f) {
  try {
    f(self.number);
  } catch (const std::exception& error) {
    fail(self.number, fmt::format("threw: {}", error.what()), std::current_exception());
  } catch (...) {
    fail(self.number, "threw an exception that is not a std::exception", std::current_exception());
  }
  self.account(Activity::wait);
  self.state = State::ended;
  for (const auto& one : ranks_) {
    if (one->state == State::waiting && waits_for(*one, self.number)) wake(*one, one->now);
  }
  if (queue_.empty() &&
      std::ranges::any_of(ranks_, [](const auto& one) { return one->state == State::waiting; })) {
    fail(-1, deadlock(), {});
  }
  if (queue_.empty()) return self.fiber->switch_to(main_, true);
  self.fiber->switch_to(*take_next().fiber, true);
}

void World::fail(int number, std::string text, std::exception_ptr thrown) {
  if (!failure_) failure_ = {number, std::move(text), std::move(thrown)};
  for (const auto& one : ranks_) {
    if (one->state == State::waiting) wake(*one, one->now);
  }
}

void World::throw_if_failed() const {
  if (!failure_) return;
  if (failure_->rank < 0) throw core::LostError(-1, getpid(), failure_->text);
  const Rank& lost = *ranks_[static_cast<std::size_t>(failure_->rank)];
  const char* const phase = lost.phase.load();
  throw core::LostError(failure_->rank, getpid(), phase == nullptr ? "" : phase, failure_->text);
}

void World::enqueue(Rank& one, double at) {
  if (one.state == State::ready) queue_.erase({one.next, one.number});
  one.state = State::ready;
  one.next = std::max(one.now, at);
  queue_.emplace(one.next, one.number);
}

void World::wake(Rank& one, double at) {
  const bool is_sooner = one.state == State::ready && std::max(one.now, at) < one.next;
  if (one.state == State::waiting || is_sooner) enqueue(one, at);
}

World::Rank& World::take_next() {
  Rank& next = rank(queue_.begin()->second);
  queue_.erase(queue_.begin());
  next.now = std::max(next.now, next.next);
  return next;
}

// This one is in the queue or waits. Returns when it is its turn.
void World::switch_from(Rank& self) {
  if (queue_.empty()) fail(-1, deadlock(), {});
  Rank& next = take_next();
  if (&next != &self) self.fiber->switch_to(*next.fiber);
}

void World::yield(Rank& self) {
  if (!queue_.empty() && *queue_.begin() < std::make_pair(self.now, self.number)) {
    enqueue(self, self.now);
    switch_from(self);
  }
  throw_if_failed();
}

void World::put(Rank& self, int to, Message message) {
  Rank& receiver = rank(to);
  if (!is_free(message.arrival.tag)) {
    auto& arrivals = self.last_arrivals;
    if (arrivals.size() > self.many_arrivals) {
      std::erase_if(arrivals, [&](const auto& one) { return one.second <= self.now; });
      self.many_arrivals = 8 + 2 * arrivals.size();
    }
    double& last = arrivals[{message.group, to}];
    message.at = last = std::max(message.at, last);
  }
  self.account(Activity::wait);
  message.path = self.path;
  const double at = message.at;
  const PendingReceive* taken_by = nullptr;
  // With a receive from any source, the order of arrival decides, which is not known yet.
  if (receiver.receives_from_any == 0) {
    const auto found = std::ranges::find_if(receiver.receives, [&](const PendingReceive* one) {
      return !one->message && fits(*one, message);
    });
    if (found != receiver.receives.end()) {
      (*found)->message = std::move(message);
      taken_by = *found;
    }
  }
  if (taken_by == nullptr) receiver.arrived.push_back(std::move(message));
  const bool is_awaited = taken_by != nullptr && taken_by == receiver.receive;
  if (is_awaited || receiver.wakes_for_any) wake(receiver, at);
}

void World::begin(Rank& self, PendingReceive& receive) {
  throw_if_failed();
  self.receives.push_back(&receive);
  if (receive.from == any_source) ++self.receives_from_any;
  if (self.receives_from_any > 0) return;
  const auto found = std::ranges::find_if(
      self.arrived, [&](const Message& message) { return fits(receive, message); });
  if (found == self.arrived.end()) return;
  receive.message = std::move(*found);
  self.arrived.erase(found);
}

void World::cancel(Rank& self, PendingReceive& receive) {
  if (std::erase(self.receives, &receive) == 0 || receive.from != any_source) return;
  if (--self.receives_from_any == 0) match_arrived(self, kNever);
}

// Messages go to receives in the order in which they arrive, each to the first that it fits.
void World::match_arrived(Rank& self, double until) {
  std::vector<std::list<Message>::iterator> due;
  for (auto at = self.arrived.begin(); at != self.arrived.end(); ++at) {
    if (at->at <= until) due.push_back(at);
  }
  std::ranges::stable_sort(due, [](const auto& a, const auto& b) {
    return std::make_pair(a->at, a->arrival.source) < std::make_pair(b->at, b->arrival.source);
  });
  for (const auto& message : due) {
    const auto found = std::ranges::find_if(self.receives, [&](const PendingReceive* one) {
      return !one->message && fits(*one, *message);
    });
    if (found == self.receives.end()) continue;
    (*found)->message = std::move(*message);
    self.arrived.erase(message);
  }
}

double World::next_event(const Rank& self) const {
  double next = kNever;
  const auto consider = [&](const Message& message) {
    if (message.at > self.now) next = std::min(next, message.at);
  };
  for (const Message& message : self.arrived) consider(message);
  for (const PendingReceive* receive : self.receives) {
    if (receive->message) consider(*receive->message);
  }
  return next;
}

void World::wait(Rank& self, const Awaited& awaited, bool all_events, const PendingReceive* receive,
                 const std::function<bool(bool)>& ready) {
  for (;;) {
    const bool all = all_events || self.receives_from_any > 0 || self.backgrounds.progresses();
    check();
    if (all) {
      yield(self);
      if (self.receives_from_any > 0) match_arrived(self, self.now);
      self.backgrounds.progress();
    }
    if (ready(all)) return;
    const double next = all ? next_event(self) : kNever;
    self.awaited = &awaited;
    self.wakes_for_any = all;
    self.receive = receive;
    if (next < kNever) {
      enqueue(self, next);
    } else {
      throw_if_in_vain(self, awaited);
      self.state = State::waiting;
    }
    switch_from(self);
    self.wakes_for_any = false;
    self.receive = nullptr;
  }
}

void World::finish(Rank& self, const GroupState& group, PendingReceive& receive) {
  try {
    wait(self, {&group, receive.from, receive.label.tag}, false, &receive, [&](bool at_once) {
      return receive.message && (!at_once || receive.message->at <= self.now);
    });
  } catch (...) {
    cancel(self, receive);
    throw;
  }
  const Message& message = *receive.message;
  self.now = std::max(self.now, message.at);
  self.account(Activity::wait);
  if (message.at > self.idle_since) {  // it is what this rank has waited for
    self.follow({message.path.microseconds, message.path.messages + 1}, Activity::wait);
  }
  self.idle_since = self.now;
  self.looks_in_vain = 0;
  cancel(self, receive);
}

// A rank that looks again and again must get on, or those that it waits for would never be next.
void World::look(Rank& self) {
  const double idle_since = self.idle_since;
  self.spend(Activity::receive, std::max(machine.probe.at({}), kLeastOfALook));
  self.idle_since = idle_since;  // it has only looked
  yield(self);
  if (self.receives_from_any > 0) match_arrived(self, self.now);
  const bool is_in_vain = queue_.empty() && next_event(self) == kNever;
  self.looks_in_vain = is_in_vain ? self.looks_in_vain + 1 : 0;
  if (self.looks_in_vain > kMostLooksInVain) {
    fail(-1,
         fmt::format("{}; rank {} looks for a message again and again", deadlock(), self.number),
         {});
    throw_if_failed();
  }
}

bool World::is_there(Rank& self, const GroupState& group, const PendingReceive& receive) {
  if (!receive.message || !is_free(receive.label.tag)) look(self);
  if (receive.message) return receive.message->at <= self.now;
  throw_if_in_vain(self, {&group, receive.from, receive.label.tag});
  return false;
}

const Message* World::find(Rank& self, const GroupState& group, int from, const Label& label) {
  look(self);
  const Message* first = nullptr;
  bool is_on_its_way = false;
  for (const Message& message : self.arrived) {
    if (!fits(group.id, from, label, message)) continue;
    is_on_its_way = true;
    if (message.at > self.now) continue;
    if (first == nullptr || std::make_pair(message.at, message.arrival.source) <
                                std::make_pair(first->at, first->arrival.source)) {
      first = &message;
    }
  }
  if (!is_on_its_way && from != any_source) throw_if_in_vain(self, {&group, from, label.tag});
  return first;
}

void World::throw_if_in_vain(const Rank& self, const Awaited& awaited) const {
  const std::vector<int>& members = awaited.group->members;
  if (awaited.is_collective || members.size() < 2) return;
  const auto has_ended = [&](int number) {
    return number == self.number || ranks_[static_cast<std::size_t>(number)]->state == State::ended;
  };
  int gone = members[static_cast<std::size_t>(std::max(awaited.peer, 0))];
  if (awaited.peer == any_source) {
    if (!std::ranges::all_of(members, has_ended)) return;
    if (gone == self.number) gone = members[1];
  } else if (gone == self.number || !has_ended(gone)) {
    return;
  }
  throw core::LostError(gone, getpid(),
                        fmt::format("rank {} has returned from its function while rank {} waits "
                                    "for it",
                                    gone, self.number));
}

std::string World::describe(const Rank& one) const {
  const Awaited& awaited = *one.awaited;
  const GroupState& group = *awaited.group;
  std::vector<int> missing;
  if (awaited.is_collective) {
    for (std::size_t i = 0; i < group.parts.size(); ++i) {
      if (!group.parts[i].has_come) missing.push_back(group.members[i]);
    }
  } else if (awaited.peer != any_source) {
    missing.push_back(group.members[static_cast<std::size_t>(awaited.peer)]);
  }
  const std::size_t named = std::min(missing.size(), kMostNamed);
  std::string text = fmt::format("rank {} waits ", one.number);
  if (const char* const call = one.call.load()) text += fmt::format("in {} ", call);
  text += missing.empty() ? std::string("for any rank")
                          : fmt::format("for {} {}", missing.size() == 1 ? "rank" : "ranks",
                                        fmt::join(missing.begin(), missing.begin() + named, ", "));
  if (named < missing.size()) text += fmt::format(" and {} more", missing.size() - named);
  if (!awaited.is_collective && awaited.tag >= 0) text += fmt::format(" (tag {})", awaited.tag);
  return text;
}

std::string World::deadlock() const {
  std::vector<std::string> lines;
  std::size_t waiting = 0, ended = 0;
  for (const auto& one : ranks_) {
    if (one->state == State::ended) ++ended;
    if (one->state != State::waiting) continue;
    if (++waiting <= kMostNamed) lines.push_back(describe(*one));
  }
  std::string text = fmt::format("no rank can go on: {}", fmt::join(lines, "; "));
  if (waiting > kMostNamed) text += fmt::format("; and {} more wait", waiting - kMostNamed);
  if (ended > 0) text += fmt::format("; {} of {} have returned", ended, ranks_.size());
  return text;
}

}  // namespace tabane::comm::sim
