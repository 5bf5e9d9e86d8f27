// What a rank keeps of a group for its collectives: the transport, its side of the shared memory,
// the table of algorithms. Each rank makes it alone: the memory is zero at first, so the ranks need
// not agree on anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

class CallWatch;    // call_records.h
class ChoiceTable;  // choice.h
class Schedule;     // schedule.h
class SharedBoard;  // board.h

class Group : public std::enable_shared_from_this<Group> {
 public:
  // choice: the rules for algorithms, the same on all ranks; null: the built-in ones. A group that
  // is made from another one should get its choice().
  explicit Group(std::unique_ptr<Transport> transport,
                 std::shared_ptr<const ChoiceTable> choice = {});
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Transport& transport() const { return *transport_; }
  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  const std::shared_ptr<const ChoiceTable>& choice() const { return choice_; }
  void set_choice(std::shared_ptr<const ChoiceTable> choice);  // null: the built-in rules

  // Null if there is one rank only, no shared memory, or less than least_board_bytes().
  SharedBoard* board() const { return board_.get(); }
  std::atomic<const char*>& call() { return *call_; }  // Transport::call()
  CallWatch* watch() const { return watch_.get(); }    // null where board() is

  // Returns scratch of that size, aligned for every type. The next call ends it.
  std::span<std::byte> scratch(std::size_t bytes);

  // Those whose calls have ended, for later ones. Returns null if there is none.
  std::unique_ptr<Schedule> take_schedule();
  void keep_schedule(std::unique_ptr<Schedule> ended);

  // Whether each rank makes sure that its neighbour is in the same collective: see
  // Comm::check_collectives(). Must be the same on all ranks.
  bool compares_calls() const { return compares_calls_; }
  void compare_calls(bool yes) { compares_calls_ = yes; }
  // Counted from 1, and from 1 again after 2^32 - 1: 0 is no call.
  std::uint32_t next_call() {
    if (++calls_ == 0) ++calls_;
    return calls_;
  }
  // As if there had been so many, for tests. The same on all ranks.
  void set_calls(std::uint32_t calls) { calls_ = calls; }

 private:
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<const ChoiceTable> choice_;
  std::unique_ptr<SharedBoard> board_;
  std::unique_ptr<CallWatch> watch_;
  std::atomic<const char*>* call_;
  std::vector<std::byte> scratch_;
  std::vector<std::unique_ptr<Schedule>> schedules_;
  std::uint32_t calls_ = 0;
#ifdef NDEBUG
  bool compares_calls_ = false;
#else
  bool compares_calls_ = true;
#endif
};

}  // namespace tabane::comm
