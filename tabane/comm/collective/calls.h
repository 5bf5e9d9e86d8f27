// What a rank calls, how often, and how long it takes: to see which mechanisms a program uses.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

// Of one rank; one thread at a time.
class CallCounter {
 public:
  struct Count {
    std::string_view call;  // "send", "broadcast", "ibroadcast"
    std::string_view how;   // of a message the transport, of a collective the algorithm
    std::uint64_t calls = 0, ticks = 0;
  };

  // While the rank is in the call. A call within it interrupts it, so that no time counts twice.
  class Scope {
   public:
    // counter: null: nobody counts. Names: of static storage.
    Scope(CallCounter* counter, std::string_view call, std::string_view how)
        : counter_(counter != nullptr && counter->counts_now_ ? counter : nullptr) {
      if (counter_ != nullptr) outer_ = counter_->enter(call, how);
    }
    ~Scope() {
      if (counter_ != nullptr) counter_->leave(outer_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallCounter* counter_;
    std::size_t outer_ = 0;
  };

  const std::vector<Count>& counts() const { return counts_; }
  void clear();  // in no call
  // Whether calls that begin from now on count.
  void count(bool yes) { counts_now_ = yes; }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t enter(std::string_view call, std::string_view how);
  void leave(std::size_t outer);
  void stop_current();

  std::vector<Count> counts_;
  std::size_t current_ = kNone;
  std::uint64_t since_ = 0;
  bool counts_now_ = true;
};

// Returns a transport that counts the user's messages, and the waits for them. Collectives are
// counted by their group, see Group::set_counter(). counter: outlives it. phases: if there are
// some, the counter counts only in these, see Transport::set_phase().
std::unique_ptr<Transport> counted_transport(std::unique_ptr<Transport> below, CallCounter& counter,
                                             std::vector<std::string_view> phases = {});

}  // namespace tabane::comm
