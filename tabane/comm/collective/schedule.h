// A collective that makes progress while its rank does something else: rounds of messages, one
// after the other, each with what is done to the values when its messages are there.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/call_records.h"
#include "tabane/comm/collective/group.h"

namespace tabane::comm {

struct Rounds;

// Its messages are those that follow the last round's.
struct Round {
  std::size_t receives_end = 0, sends_end = 0;
  void (*then)(Rounds& rounds) = nullptr;  // null: nothing
};

struct Rounds {
  struct Send {
    int to;
    std::span<const std::byte> bytes;
  };
  struct Receive {
    int from;
    std::span<std::byte> bytes;
  };

  void send(int to, std::span<const std::byte> bytes) { sends.push_back({to, bytes}); }
  void receive(int from, std::span<std::byte> bytes) { receives.push_back({from, bytes}); }
  void end_round(void (*then)(Rounds& rounds) = nullptr) {
    all.push_back({receives.size(), sends.size(), then});
  }
  // Keeps the memory.
  void clear() {
    all.clear();
    receives.clear();
    sends.clear();
  }

  std::vector<Round> all;
  std::vector<Receive> receives;
  std::vector<Send> sends;
  std::vector<std::byte> scratch;  // that they point into
  // Of the call, for what is done with the values.
  std::span<std::byte> values;
  Combine combine;
  int ranks = 0;
};

// For two ranks or more. The values must stay until the call is complete. Each is in the file of
// its operation.
void add_barrier(Rounds& rounds, const Group& group);
void add_broadcast(Rounds& rounds, const Group& group, const Call& call);
void add_all_reduce(Rounds& rounds, const Group& group, const Call& call);

// Makes progress in every wait of its rank, and in test(). Each outstanding call of a group has a
// tag of its own, of which there are 16384. Barriers and reductions of a few bytes need no messages
// where the ranks share memory: each rank writes a line that all others read. What goes wrong is
// thrown by test() and wait().
class Schedule final : public Pending, private Background {
 public:
  // Begins a call; call.number is the group's next_call(). All ranks of the group begin their
  // collectives in the same order. The group keeps its memory for later ones.
  static PendingPtr begin(std::shared_ptr<Group> group, const Call& call);
  ~Schedule() override;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  void release() noexcept override;
  bool test() override;
  void wait() override;
  void wait_until(const std::function<bool()>& ready) override;

 private:
  explicit Schedule(const Group& group) : lookout_(group) {}
  void start(std::shared_ptr<Group> group, const Call& call);
  void add_rounds(const Call& call);
  void progress() override;
  void look() override;
  bool step();
  void advance();
  bool pass_rounds();
  void begin_round(std::size_t round);
  bool is_complete(std::size_t round);
  bool read_lines();
  int awaited() const;
  void wait_for_lines();
  void finish() noexcept;
  void end() noexcept;
  template <class Step>
  void keep_error(Step&& step) noexcept;

  std::shared_ptr<Group> group_;  // null: of no call
  CallRecord own_, other_;
  Lookout lookout_;
  Label label_;
  std::optional<Word> word_;  // of its lines; nothing: it goes by messages
  Rounds rounds_;
  std::size_t round_ = 0,
              tested_ = 0;    // the round under way, and how many of its messages (lines) are done
  bool is_compared_ = false;  // the first round is the comparison with a neighbour
  bool is_advancing_ = false, is_done_ = true;
  std::exception_ptr error_;
  std::vector<std::unique_ptr<Pending>> pending_;  // ends before what it points into
};

}  // namespace tabane::comm
