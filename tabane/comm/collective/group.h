// A group as its collectives see it, and a call of one of them without its C++ types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/comm/message.h"
#include "tabane/comm/operation.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

std::string_view name_of(Operation operation);  // "max_loc"

// How the parts of an array belong to ranks.
enum class Layout : std::uint8_t {
  block,   // rank r has elements r * n/p … (r + 1) * n/p - 1
  cyclic,  // rank r has elements r, r + p, r + 2p …
};

struct Element {
  TypeCode type = {};
  std::size_t bytes = 1;
};

// Spans hold whole elements; one that a rank does not need may be empty there.
struct Call {
  Kind kind = Kind::barrier;
  int root = 0;  // 0 where there is none
  Element element = {};
  Layout layout = Layout::block;
  // Bytes per rank: of the values, or of the part that one rank gives or gets; all_to_all,
  // reduce_scatter: of a block. all_gather_varying: of all parts together. gather_varying,
  // scatter_varying: of an element, since only the root knows more. The same on all ranks.
  std::size_t bytes = 0;
  std::uint32_t number = 0;  // of the group's collectives, from 1; run() sets it

  // In place: broadcast, all_reduce, scan, exscan; reduce: on the root, elsewhere only read.
  std::span<std::byte> values = {};
  // Of one rank: gather…, all_gather…: its part. Of all: scatter…, all_to_all, reduce_scatter.
  std::span<const std::byte> in = {};
  // Of one rank: scatter…: its part; reduce_scatter: its block. Of all: gather…, all_gather…,
  // all_to_all.
  std::span<std::byte> out = {};
  // By rank: bytes of its part. all_gather_varying; gather_varying and scatter_varying on the root.
  std::span<const std::size_t> part_bytes = {};
  const Combine* combine = nullptr;  // reduce, all_reduce, scan, exscan, reduce_scatter
  bool reproducible = false;         // see CollectiveOptions
};

// What must be the same on all ranks, small enough to travel with a flag.
struct Signature {
  std::uint64_t bytes = 0;
  TypeCode type = {};
  std::uint8_t how = 0;  // the operation or, where nothing is combined, the layout
  Kind kind = Kind::barrier;
  std::uint32_t number = 0;  // of the group's collectives: what one call leaves fits no other
  bool operator==(const Signature&) const = default;
};
inline Signature signature_of(const Call& call) {
  const auto how = call.combine == nullptr ? static_cast<std::uint8_t>(call.layout)
                                           : static_cast<std::uint8_t>(call.combine->operation);
  return {call.bytes, call.element.type, how, call.kind, call.number};
}
std::string describe(const Signature& signature);  // "all_reduce of 8 bytes of float64, sum"
// throws: MessageError naming both. other_rank: any_source if it is not known.
[[noreturn]] void throw_different_calls(int rank, const Signature& own, int other_rank,
                                        const Signature& other);

struct CollectiveOptions {
  std::string_view algorithm = {};  // empty: chosen by rules
  // Reductions: combine the values in the order of ranks, ((v0 v1) v2) v3, whatever the transport,
  // the number of PUs and the rules: so that floating-point sums have the same bits wherever the
  // same ranks give the same values. cost: that of algorithms that keep this order, see
  // collective/reproducible.rules; with 2 ranks none.
  bool reproducible = false;
};

class CallCounter;  // calls.h
class CallWatch;    // call_records.h
class ChoiceTable;  // choice.h
class Schedule;     // schedule.h
class SharedBoard;  // board.h

// The size at which GroupMemory::bytes() is of full use: a multiple of 4096; 0 for one rank. With
// less, collectives take smaller pieces.
std::size_t board_bytes(int ranks);
// With less than this they use messages instead.
std::size_t least_board_bytes(int ranks);
// Both, for Transport::make_group().
MemoryRequest board_request(int ranks);

// What a rank keeps of a group for its collectives: the transport, its side of the shared memory,
// the table of algorithms. Each rank makes it alone: the memory is zero at first, so the ranks need
// not agree on anything.
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

  // Counts the collectives of this rank from now on, also of groups split from this one later;
  // null: nobody does. counter: outlives them.
  void set_counter(CallCounter* counter) { counter_ = counter; }
  CallCounter* counter() const { return counter_; }

  // Returns scratch of that size, aligned for every type. The next call ends it.
  std::span<std::byte> scratch(std::size_t bytes);

  // Those whose calls have ended, for later ones.
  std::vector<std::unique_ptr<Schedule>>& ended_schedules() { return ended_schedules_; }

  // Whether each rank makes sure that its neighbour is in the same collective: see
  // Comm::check_collectives(). Must be the same on all ranks.
  bool compares_calls() const { return compares_calls_; }
  void compare_calls(bool yes) { compares_calls_ = yes; }
  // Counted from 1, and from 1 again after 2^32 - 1: 0 is no call.
  std::uint32_t next_call() {
    if (++calls_ == 0) ++calls_;
    return calls_;
  }
  // Pretends that there have been that many, for tests. The same on all ranks.
  void set_calls(std::uint32_t calls) { calls_ = calls; }

 private:
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<const ChoiceTable> choice_;
  std::unique_ptr<SharedBoard> board_;
  std::unique_ptr<CallWatch> watch_;
  std::atomic<const char*>* call_;
  CallCounter* counter_ = nullptr;
  std::vector<std::byte> scratch_;
  std::vector<std::unique_ptr<Schedule>> ended_schedules_;
  std::uint32_t calls_ = 0;
#ifdef NDEBUG
  bool compares_calls_ = false;
#else
  bool compares_calls_ = true;
#endif
};

// throws: core::UsageError if the group has no such rank.
void require_root(const Group& group, const Call& call);

// Checks the call, compares it with a neighbour's if the group does that, and runs the algorithm of
// that name, or the one that the rules choose if the name is empty. Sets call.number.
// throws: core::UsageError if there is no such algorithm or it cannot serve this call on this
// group; core::LostError, MessageError as the transport, and if ranks' calls differ.
void run(Group& group, Call& call, std::string_view algorithm);

// For algorithms, a part of whose work is another collective: runs the algorithm that the rules
// choose for it. part: has the number of the whole.
void run_within(Group& group, const Call& part);

}  // namespace tabane::comm
