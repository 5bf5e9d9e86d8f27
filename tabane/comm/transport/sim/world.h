// The ranks of a simulated machine: each has a clock, one runs at a time, and where it matters who
// is first, the one with the least clock. So times and results depend on nothing but the program
// and the machine's parameters.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tabane/comm/machine.h"
#include "tabane/comm/simulated_run.h"
#include "tabane/comm/transport/sim/fiber.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::sim {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Whether messages of this tag take no time: ranks are told their groups before the program begins,
// and comparing what they call is no part of it.
inline bool is_free(int tag) { return tag == kSplitTag || tag == kComparisonTag; }

// The critical path to a moment: its sum is that moment. wait: messages on their way.
struct Path {
  Activities microseconds;
  std::uint64_t messages = 0;  // from rank to rank
};

struct Message {
  int group = 0;
  Arrival arrival;
  Bytes bytes;
  double at = 0;  // microseconds; when it is there
  Path path;      // of its sender, to when it was sent
};

// A receive that has not ended.
struct PendingReceive {
  int group = 0;
  int from = 0;
  Label label;
  std::optional<Message> message;  // may still be on its way
};

// What one rank gives to a collective of the machine's own, and takes.
struct Part {
  std::span<const std::byte> in;
  std::span<std::byte> out;
  bool has_come = false;
};

struct GroupState {
  int id = 0;
  std::vector<int> members;   // ranks of the world
  int rows = 0, columns = 0;  // of the torus that it is on
  // The collective that some ranks are in; the last one to come does the work for all.
  Kind kind = Kind::barrier;
  int root = any_source;
  std::size_t bytes = 0;  // of a block; of an element where they are combined
  std::vector<Part> parts;
  int come = 0;
  double last = 0;
  Path path;  // of the rank that came at `last`
  // Of the last one that ended.
  std::uint64_t ended = 0;
  double end = 0, cost = 0;
  Path path_to_end;
};

// What a rank waits for, for messages.
struct Awaited {
  const GroupState* group = nullptr;
  int peer = any_source;  // of the group
  int tag = any_tag;
  bool is_collective = false;
};

class World {
 public:
  explicit World(Machine of);

  // Calls f on every rank and returns when all have returned. throws: what f threw on the rank that
  // failed first, whose number is then in failed(); core::Error if ranks wait for each other.
  void run(const std::function<void(int)>& f);
  int failed() const { return failure_ ? failure_->rank : -1; }
  void record(SimulatedRun& run);                // as record_run()
  void check_with(std::function<void()> check);  // as check_run()

  const Machine machine;

  // --- for transports, from the rank that is running ---

  struct Rank {
    int number = 0;
    double now = 0;  // microseconds
    Path path;       // to `accounted`
    Backgrounds backgrounds;
    std::atomic<const char*> phase{nullptr}, call{nullptr};

    // Takes time for that.
    void spend(Activity what, double microseconds);
    // Says what the time was since the last call, up to now or to `until`.
    void account(Activity what) { account(what, now); }
    void account(Activity what, double until);
    // The critical path to now is `cause`, and that from there on.
    void follow(const Path& cause, Activity since);

   private:
    friend class World;
    enum class State : std::uint8_t { ready, waiting, ended };

    std::unique_ptr<Fiber> fiber;
    State state = State::ready;
    double next = 0;                          // when it goes on, if it is in the queue
    bool wakes_for_any = false;               // waiting: for whatever message comes
    const PendingReceive* receive = nullptr;  // waiting for this one
    const Awaited* awaited = nullptr;
    std::list<Message> arrived;             // no receive is for them yet
    std::vector<PendingReceive*> receives;  // in the order in which they were begun
    int receives_from_any = 0;
    // Of the messages that it has sent, by group and receiver: when the last one is there.
    std::map<std::pair<int, int>, double> last_arrivals;
    std::size_t many_arrivals = 8;  // with more, those are forgotten that are there
    std::uint64_t looks_in_vain = 0;
    double accounted = 0;
    double idle_since = 0;  // since then it has only waited, and looked for messages
    std::unique_ptr<Timeline> timeline;
  };
  Rank& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }

  const std::shared_ptr<GroupState>& all() const { return all_; }
  std::shared_ptr<GroupState> join(const GroupState& parent, int self,
                                   std::span<const int> members);

  // Sends it to a rank of the world. Messages of one pair arrive in order, whatever their sizes.
  void put(Rank& self, int to, Message message);
  void begin(Rank& self, PendingReceive& receive);
  void cancel(Rank& self, PendingReceive& receive);
  // Waits until the message is there, and takes the receive from the list. throws, all that follow:
  // core::LostError.
  void finish(Rank& self, const GroupState& group, PendingReceive& receive);
  // Whether its message is there. cost: that of a look.
  bool is_there(Rank& self, const GroupState& group, const PendingReceive& receive);
  const Message* find(Rank& self, const GroupState& group, int from, const Label& label);
  // Waits for a change until ready(all_events), which is asked at the least clock if all events
  // count.
  void wait(Rank& self, const Awaited& awaited, bool all_events, const PendingReceive* receive,
            const std::function<bool(bool)>& ready);
  // Ends the wait of a rank.
  void wake(Rank& one, double at);

  void throw_if_failed() const;
  // The same, now and then after a call of what check_run() has given.
  void check();

 private:
  using State = Rank::State;
  struct FirstFailure {
    int rank;  // -1: ranks wait for each other
    std::string text;
    std::exception_ptr thrown;
  };
  // What the calling thread has done that is not simulated.
  struct Use {
    long waits;  // it gave up its CPU: slept, or waited for something
    std::uint64_t clock_requests;
    static Use now();
  };
  struct Forming {
    std::shared_ptr<GroupState> group;
    int joined = 0;
  };

  static bool waits_for(const Rank& one, int number);
  void live(Rank& self, const std::function<void(int)>& f);
  void fill_run(const Use& before) const;
  void fail(int rank, std::string text, std::exception_ptr thrown);
  void enqueue(Rank& one, double at);
  Rank& take_next();  // from the queue; its clock is then what it waited for
  void switch_from(Rank& self);
  void yield(Rank& self);  // to ranks whose clocks are less
  void look(Rank& self);
  void match_arrived(Rank& self, double until);
  double next_event(const Rank& self) const;
  void throw_if_in_vain(const Rank& self, const Awaited& awaited) const;
  std::string deadlock() const;
  std::string describe(const Rank& one) const;
  std::shared_ptr<GroupState> make_group(std::vector<int> members);

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::set<std::pair<double, int>> queue_;  // ready ranks by when they go on
  Fiber main_;
  int groups_ = 0;
  std::shared_ptr<GroupState> all_;
  std::map<std::pair<int, std::vector<int>>, Forming> forming_;  // by parent and members
  std::optional<FirstFailure> failure_;
  SimulatedRun* run_ = nullptr;  // what is to be filled
  std::function<void()> check_;
  std::uint64_t checks_ = 0;
};

}  // namespace tabane::comm::sim
