#include "tabane/comm/transport/conventional.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tabane/comm/collective/calls.h"
#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/patterns_test.h"

namespace tabane::comm {
namespace {

using Ranks = std::unique_ptr<Transport>;

// Below the transports that are tested. Counts in `messages` what goes through it.
class Watched : public ForwardingTransport {
 public:
  Watched(Ranks below, int& messages)
      : ForwardingTransport(std::move(below)), messages_(messages) {}
  void send(int to, const Label& label, std::span<const std::byte> bytes) override {
    if (label.tag != kSplitTag) ++messages_;
    below().send(to, label, bytes);
  }
  std::unique_ptr<Pending> isend(int to, const Label& label,
                                 std::span<const std::byte> bytes) override {
    ++messages_;
    return below().isend(to, label, bytes);
  }
  Ranks make_group(std::span<const int> members, const MemoryRequest& request) override {
    return std::make_unique<Watched>(below().make_group(members, request), messages_);
  }

 private:
  int& messages_;
};

std::vector<int> numbers(std::size_t count, int seed) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), seed);
  return all;
}

void exchange_all_sizes(Comm& comm) {
  const int next = (comm.rank() + 1) % comm.size(), last = comm.size() - 1;
  const int before = (comm.rank() + last) % comm.size();
  for (const std::size_t count : {0, 1, 12, 4096, 5000, 300000}) {
    const std::vector<int> out = numbers(count, comm.rank());
    std::vector<int> in(count), late(count);
    Request received = comm.irecv(before, late, 2);
    Request sent = comm.isend(next, out, 1);
    comm.send(next, out, 2);
    require_equal(comm.recv(before, in, 1).count, count);  // the first one, though it came first
    require(in == numbers(count, before));
    require_equal(received.wait().count, count);
    require(late == in);
    sent.wait();
    comm.send(comm.rank(), out, 3);
    require(comm.probe<int>(any_source, 3)->count == count);
    require(comm.recv_view<int>(any_source, 3).size() == count);
  }
}

// Each rank sends more than the queues hold before it receives.
void fill_the_queues(Comm& comm) {
  const std::vector<int> out = numbers(1 << 18, comm.rank());
  // Its messages are sent within the waits for others.
  std::vector<int> shared =
      comm.rank() == 0 ? numbers(out.size(), 99) : std::vector<int>(out.size());
  Request broadcast = ibroadcast(comm, shared, 0);
  std::vector<Request> sent;
  for (int to = 0; to < comm.size(); ++to) {
    for (int i = 0; i < 3; ++i) sent.push_back(comm.isend(to, out, i));
  }
  barrier(comm);  // in memory: the queues move on meanwhile
  std::vector<int> in(out.size());
  for (int from = comm.size() - 1; from >= 0; --from) {
    for (int i = 2; i >= 0; --i) {
      comm.recv(from, in, i);
      require(in == numbers(in.size(), from));
    }
  }
  wait_all(sent);
  broadcast.wait();
  require(shared == numbers(out.size(), 99));
}

// A group's messages are not those of another one.
void use_groups(Comm& comm) {
  Comm half = *comm.split(comm.rank() % 2), again = *half.split(0);
  half.send(0, half.rank(), 5);
  again.send(0, 100 + again.rank(), 5);
  for (int from = 0; from < half.size() && half.rank() == 0; ++from) {
    require_equal(again.recv<int>(from, 5), 100 + from);
    require_equal(half.recv<int>(from, 5), from);
  }
  const std::string wrong = error_of<MessageError>([&] {
    again.send(again.rank(), 1.5, 6);
    again.recv<int>(again.rank(), 6);
  });
  require_contains(wrong, "float64");
}

void use_collectives(Comm& comm) {
  std::vector<int> values = numbers(20000, comm.rank());
  broadcast(comm, values, 1);
  require(values == numbers(20000, 1));
  require_equal(all_reduce(comm, comm.rank(), Operation::sum), comm.size() * (comm.size() - 1) / 2);
  const std::vector<int> own = numbers(static_cast<std::size_t>(comm.rank()), 0);
  const Parts<int> parts = gather_varying(comm, own, 0);
  if (comm.rank() == 0)
    require_equal(parts.counts.back(), static_cast<std::size_t>(comm.size()) - 1);
  int late = comm.rank();
  ibroadcast(comm, std::span(&late, 1), 0).wait();
  require_equal(late, 0);
}

void check_all(Comm& comm) {
  exchange_all_sizes(comm);
  fill_the_queues(comm);
  use_groups(comm);
  use_collectives(comm);
}

TEST(Sockets, CarryEachMessageToItsReceive) {
  for (const Mechanisms& with : {Mechanisms{}, Mechanisms{true, true, true, true}}) {
    const SocketQueues queues(4);
    launch({.ranks = 4,
            .transport = TransportKind::shm,
            .choice_rules = rules_of(with),
            .put_on_top = [&](Ranks below) { return socket_transport(std::move(below), queues); }},
           check_all);
  }
}

TEST(Sockets, CarryAllMessages) {
  const SocketQueues queues(4);
  int messages = 0;
  const auto watched = [&](Ranks below) {
    return socket_transport(std::make_unique<Watched>(std::move(below), messages), queues);
  };
  launch({.ranks = 4,
          .transport = TransportKind::shm,
          .choice_rules = rules_of({}),
          .put_on_top = watched},
         [&](Comm& comm) {
           check_all(comm);
           require_equal(messages, 0);
         });
}

TEST(Sockets, TellOfARankThatReturns) {
  const SocketQueues queues(2);
  const LaunchOptions options{
      .ranks = 2, .transport = TransportKind::shm, .put_on_top = [&](Ranks below) {
        return socket_transport(std::move(below), queues);
      }};
  launch(options, [](Comm& comm) {
    if (comm.rank() == 1) return comm.send(0, 7);
    require_equal(comm.recv<int>(1), 7);
    require_contains(error_of<core::LostError>([&] { comm.recv<int>(1); }), "rank 1");
  });
  launch(options, look_for_one_that_returns);
  EXPECT_THROW(launch(options,
                      [](Comm& comm) {
                        if (comm.rank() == 1) throw core::Error("rank 1 has had enough");
                        comm.recv<int>(1);
                      }),
               core::Error);
}

TEST(Buffered, CarriesEachMessageToItsReceive) {
  launch({.ranks = 3, .transport = TransportKind::shm, .put_on_top = buffered_transport},
         check_all);
}

// Returns how often rank 0 has called it: "send sockets".
std::uint64_t calls_of(const CallCounter& counter, const std::string& what) {
  for (const CallCounter::Count& one : counter.counts()) {
    if (std::string(one.call) + " " + std::string(one.how) == what) return one.calls;
  }
  return 0;
}

TEST(CallCounter, CountsTheUsersCallsOnAllGroups) {
  CallCounter counter;
  launch({.ranks = 4,
          .transport = TransportKind::shm,
          .choice_rules = rules_of({.broadcast = true}),
          .put_on_top = [&](Ranks below) { return counted_transport(std::move(below), counter); }},
         [&](Comm& comm) {
           comm.group().set_counter(&counter);
           Comm half = *comm.split(comm.rank() / 2);
           Comm four = *comm.split(0);
           for (int i = 0; i < 3; ++i) all_reduce(four, 1.0, Operation::sum);
           all_reduce(comm, 1.0, Operation::sum, {.reproducible = true});
           barrier(comm);
           int value = 1;
           std::vector<int> other(1);
           ibroadcast(comm, std::span(&value, 1), 0).wait();
           Request received = half.irecv(1 - half.rank(), other);
           half.send(1 - half.rank(), value);
           received.wait();
           require_equal(calls_of(counter, "all_reduce tree"), 3u);
           require_equal(calls_of(counter, "all_reduce linear"), 1u);
           require_equal(calls_of(counter, "broadcast binomial"), 0u);
           require(calls_of(counter, "broadcast flags") == 3);
           require_equal(calls_of(counter, "barrier messages"), 1u);
           require_equal(calls_of(counter, "ibroadcast messages"), 1u);
           require_equal(calls_of(counter, "irecv shm"), 1u);
           require_equal(calls_of(counter, "send shm"), 1u);
           require_equal(calls_of(counter, "wait shm"), 1u);
           require_equal(counter.counts().size(), 8u);
           for (const CallCounter::Count& one : counter.counts()) require(one.ticks > 0);
           counter.clear();
           require(counter.counts().empty());
         });
}

// A group of two has another choice for barriers that do not block.
TEST(Mechanisms, DecideHowCallsThatDoNotBlockGo) {
  for (const bool with : {false, true}) {
    CallCounter counter;
    launch({.ranks = 2,
            .transport = TransportKind::shm,
            .choice_rules = rules_of({.global = with, .barrier = with})},
           [&](Comm& comm) {
             comm.group().set_counter(&counter);
             std::array<int, 3> values{1, 2, comm.rank()};
             iall_reduce(comm, values, Operation::sum).wait();
             ibarrier(comm).wait();
             require(values == std::array<int, 3>{2, 4, 1});
             const std::string how = with ? "lines" : "messages";
             require_equal(calls_of(counter, "iall_reduce " + how), 1u);
             require_equal(calls_of(counter, "ibarrier " + how), 1u);
           });
  }
}

}  // namespace
}  // namespace tabane::comm
