// Where the time of a job goes: its phases, and the units of work of each thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/core/clock.h"

namespace tabane::encrypt {

// What a job did in this process. Thread-safe.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  struct Event {
    const char* what = "";  // a literal
    std::string file = {};  // of a unit of work: the first one
    std::uint64_t files = 0, bytes = 0;
    Clock::time_point begin = {}, end = {};
    std::size_t thread = 0;  // counted as they appear; 0 is the one that made the trace
  };

  // Begins now, with the start of the program as its first event: the CPU time that the process has
  // used until now, which is the time on the clock if nothing else had its core.
  Trace() {
    const std::chrono::nanoseconds used(core::clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    add({.what = "start of the program", .begin = Clock::now() - used});
  }

  // Sets the event's thread, and its end to now.
  void add(Event event) {
    event.end = Clock::now();
    const std::lock_guard lock(mutex_);
    event.thread = threads_.try_emplace(std::this_thread::get_id(), threads_.size()).first->second;
    events_.push_back(std::move(event));
  }
  // After the work; in the order in which they ended.
  const std::vector<Event>& events() const { return events_; }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, std::size_t> threads_;
  std::vector<Event> events_;
};

// An event that lasts as long as this lives. trace: null: there is none.
class Traced {
 public:
  Traced(Trace* trace, const char* what) : trace_(trace) {
    if (trace_) event_ = {.what = what, .begin = Trace::Clock::now()};
  }
  ~Traced() {
    if (trace_) trace_->add(std::move(event_));
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

  // Of a unit of work.
  void set_files(std::string first, std::uint64_t files, std::uint64_t bytes) {
    event_.file = std::move(first);
    event_.files = files;
    event_.bytes = bytes;
  }

 private:
  Trace* const trace_;
  Trace::Event event_;
};

}  // namespace tabane::encrypt
