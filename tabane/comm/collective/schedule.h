// A collective that goes on while its rank does something else: rounds of messages, one after the
// other, each with what is done to the values when its messages are there.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/call_records.h"
#include "tabane/comm/collective/group.h"

namespace tabane::comm {

struct Rounds;

struct Round {
  struct Send {
    int to;
    std::span<const std::byte> bytes;
  };
  struct Receive {
    int from;
    std::span<std::byte> bytes;
  };
  std::vector<Send> sends;
  std::vector<Receive> receives;
  void (*then)(Rounds& rounds) = nullptr;  // null: nothing
};

struct Rounds {
  std::vector<Round> all;
  std::vector<std::byte> scratch = {};  // that they point into
  // Of the call, for what is done with the values.
  std::span<std::byte> values = {};
  Combine combine = {};
  int ranks = 0;
};

// Of two ranks or more. The values must stay until it is
// complete.
Rounds rounds_of_barrier(const Group& group);
Rounds rounds_of_broadcast(const Group& group, const Call& call);
Rounds rounds_of_all_reduce(const Group& group, const Call& call);

// It makes progress in every wait of its rank, and in test(). Each outstanding call of a group has
// a tag of its own, of which there are 16384. What goes wrong is thrown by test() and wait().
class Schedule : public Pending, private Background {
 public:
  // Begins it; call.number is the group's next_call(). All ranks of the group begin their
  // collectives in the same order.
  Schedule(std::shared_ptr<Group> group, const Call& call);
  ~Schedule() override;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  bool test() override;
  void wait() override;
  void wait_until(const std::function<bool()>& ready) override;

 private:
  void add_comparison();
  void progress() override;
  void look() override;
  void advance();
  void begin(const Round& round);
  bool is_complete(const Round& round);
  void end() noexcept;
  template <class Step>
  void keep_error(Step&& step) noexcept;

  std::shared_ptr<Group> group_;
  CallRecord own_, other_;
  Lookout lookout_;
  Label label_;
  Rounds rounds_;
  std::size_t round_ = 0,
              tested_ = 0;    // the round under way, and how many of its messages are done
  bool is_compared_ = false;  // the first round is the comparison with a neighbour
  bool is_advancing_ = false, is_done_ = false;
  std::exception_ptr error_;
  int exceptions_ = std::uncaught_exceptions();
  std::vector<std::unique_ptr<Pending>> pending_;  // ends before what it points into
};

}  // namespace tabane::comm
