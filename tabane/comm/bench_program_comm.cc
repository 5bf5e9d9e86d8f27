// tabane_bench_comm: ranks of tabane, and bare limits on the same PUs. Rank 0 works on request: see
// bench/remote.h.
//
// Usage: tabane_bench_comm RANKS TURNS_FILE.
#include <fmt/format.h>
#include <sched.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>
#include <tuple>
#include <vector>

#include "tabane/comm/bench_work.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/clock.h"
#include "tabane/core/measurement.h"
#include "tabane/team/fork.h"

namespace tabane::bench {
namespace {

// An all-reduce that overlaps with work, and one after which the work is done: where the ranks are
// in step, and where they are not, so that one waits for the other.
class Overlap {
 public:
  Overlap(comm::Comm& comm, std::size_t bytes) : comm_(comm), values_(bytes / sizeof(double)) {}

  // late: before each call one of two ranks, in turn, has as much more to do as both have after it.
  // In turn, two calls take 4 times that; at the same time, 3 times.
  void run(bool late, bool at_once) {
    const std::uint64_t all = late ? kLateSteps : steps();
    if (late) be_late();
    if (!at_once) {
      comm::all_reduce(comm_, values_, comm::Operation::max);
      return work(all);
    }
    comm::Request sum = comm::iall_reduce(comm_, values_, comm::Operation::max);
    work_and_test(sum, all);
    sum.wait();
  }

 private:
  static constexpr std::uint64_t kLateSteps = 50'000;  // about 50 us

  void be_late() {
    if (calls_++ % 2 == static_cast<std::uint64_t>(comm_.rank() == 0 ? 0 : 1)) work(kLateSteps);
  }
  // With four looks at the messages meanwhile.
  void work_and_test(comm::Request& sum, std::uint64_t steps) {
    constexpr std::uint64_t kParts = 4;
    for (std::uint64_t i = 0; i < kParts; ++i) {
      work(steps / kParts);
      sum.test();
    }
  }

  // Each step needs the one before: it fills time, but neither memory nor the core's ports.
  void work(std::uint64_t steps) {
    double x = 1.5;
    for (std::uint64_t i = 0; i < steps; ++i) x = x * 0.999 + 0.001;
    core::keep(x);
  }

  // As many as take the time of one blocking all-reduce; the same on all ranks.
  std::uint64_t steps() {
    if (steps_ != 0) return steps_;
    constexpr std::uint64_t kTrial = 1000;
    const double reduces =
        seconds_of([&] { comm::all_reduce(comm_, values_, comm::Operation::max); });
    const double step = seconds_of([&] { work(kTrial); }) / static_cast<double>(kTrial);
    steps_ = comm::all_reduce(comm_, static_cast<std::uint64_t>(reduces / step) + 4,
                              comm::Operation::max);
    return steps_;
  }

  // The shortest of many: other programs take their turns in the rest.
  template <class F>
  static double seconds_of(F&& f) {
    constexpr int kBatches = 200, kEach = 10;
    double least = 1;
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kEach; ++i) f();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count() / kEach);
    }
    return least;
  }

  comm::Comm& comm_;
  std::vector<double> values_;
  std::uint64_t steps_ = 0, calls_ = 0;
};

class CommMessages {
 public:
  explicit CommMessages(comm::Comm& comm) : comm_(comm) {}
  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }
  void send(int to, std::span<const std::byte> bytes) { comm_.send(to, bytes); }
  void recv(int from, std::span<std::byte> bytes) { comm_.recv(from, bytes); }
  void barrier() { comm::barrier(comm_); }
  double sum(double value) { return comm::all_reduce(comm_, value, comm::Operation::sum); }
  double non_blocking_sum(double value) {
    comm::iall_reduce(comm_, std::span(&value, 1), comm::Operation::sum).wait();
    return value;
  }
  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in) {
    comm::all_to_all(comm_, out, in);
  }
  void broadcast(std::span<std::byte> bytes, int root) { comm::broadcast(comm_, bytes, root); }
  void gather(std::span<const std::byte> part, std::span<std::byte> all) {
    comm::gather(comm_, part, all, 0);
  }
  void scatter(std::span<const std::byte> all, std::span<std::byte> part, int root) {
    comm::scatter(comm_, all, part, root);
  }
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all) {
    comm::all_gather(comm_, part, all);
  }
  void reduce_scatter(std::span<const double> values, std::span<double> block) {
    comm::reduce_scatter(comm_, values, block, comm::Operation::sum);
  }

 private:
  comm::Comm& comm_;
};

// --- what the receiver does with a message ---

using Values = std::span<const std::uint64_t>;

// Receives into a buffer, or reads where the message is; then uses all of it or its end.
template <bool kView, bool kUse>
std::uint64_t ping_pong_values(comm::Comm& comm, std::size_t bytes, std::uint64_t count) {
  std::vector<std::uint64_t> out(bytes / sizeof(std::uint64_t)), in(out.size());
  const int peer = 1 - comm.rank();
  const auto use = [](Values values) {
    core::keep(kUse ? std::accumulate(values.begin(), values.end(), std::uint64_t{0})
                    : values.back());
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    if (comm.rank() == 0) comm.send(peer, out);
    if constexpr (kView) {
      use(comm.recv_view<std::uint64_t>(peer).values());
    } else {
      comm.recv(peer, in);
      use(in);
    }
    if (comm.rank() == 1) comm.send(peer, out);
  }
  return 0;
}

// --- limits ---

// Gives way now and then, in case somebody else has the other rank's PU.
void wait_for(const std::atomic<std::uint64_t>& flag, std::uint64_t value) {
  for (int polls = 1; flag.load(std::memory_order_acquire) != value; ++polls) {
    if (polls % 1000 == 0) sched_yield();
  }
}

// One store and one poll a direction, nothing else: each rank's flag has a line of its own.
std::uint64_t ping_pong_flags(Turns& turns, int rank, std::uint64_t count) {
  std::atomic<std::uint64_t>& own = turns.flag(rank);
  std::atomic<std::uint64_t>& other = turns.flag(1 - rank);
  const std::uint64_t start = own.load();
  for (std::uint64_t i = 1; i <= count; ++i) {
    if (rank == 0) own.store(start + i, std::memory_order_release);
    wait_for(other, start + i);
    if (rank == 1) own.store(start + i, std::memory_order_release);
  }
  return 0;
}

// What two processes share that copy by hand.
constexpr std::size_t kMostByHand = std::ranges::max(kPingPongBytes);
struct ByHand {
  struct alignas(128) Side {
    std::atomic<std::uint64_t> sent;
    pid_t pid;
    const std::byte* out;
    std::byte bytes[kMostByHand];
  } of_rank[2];
};

// copy_in(own, out): the sender's part, before it says so; copy_out(in, other): the receiver's.
template <class CopyIn, class CopyOut>
std::uint64_t ping_pong_by_hand(ByHand& shared, int rank, std::size_t bytes, bool anew,
                                std::uint64_t count, CopyIn copy_in, CopyOut copy_out) {
  ByHand::Side &own = shared.of_rank[rank], &other = shared.of_rank[1 - rank];
  static std::vector<std::byte> out(kMostByHand), in(kMostByHand);  // the other may still read it
  own.pid = getpid();
  own.out = out.data();
  const std::uint64_t start = own.sent.load();
  const auto send = [&](std::uint64_t number) {
    if (anew) std::memset(out.data(), static_cast<int>(number), bytes);
    copy_in(own, out.data());
    own.sent.store(number, std::memory_order_release);
  };
  for (std::uint64_t i = start + 1; i <= start + count; ++i) {
    if (rank == 0) send(i);
    wait_for(other.sent, i);
    copy_out(in.data(), other);
    if (rank == 1) send(i);
  }
  return 0;
}

// The sender copies in, the receiver out.
std::uint64_t ping_pong_two_copies(ByHand& shared, int rank, std::size_t bytes, bool anew,
                                   std::uint64_t count) {
  return ping_pong_by_hand(
      shared, rank, bytes, anew, count,
      [&](ByHand::Side& own, const std::byte* out) { std::memcpy(own.bytes, out, bytes); },
      [&](std::byte* in, const ByHand::Side& other) { std::memcpy(in, other.bytes, bytes); });
}

// The receiver's kernel copies from the sender's memory.
std::uint64_t ping_pong_one_copy(ByHand& shared, int rank, std::size_t bytes, bool anew,
                                 std::uint64_t count) {
  const auto read = [&](std::byte* in, const ByHand::Side& other) {
    const iovec here{in, bytes}, there{const_cast<std::byte*>(other.out), bytes};
    const ssize_t copied = process_vm_readv(other.pid, &here, 1, &there, 1, 0);
    require(copied == static_cast<ssize_t>(bytes), "the kernel's copy");
  };
  return ping_pong_by_hand(
      shared, rank, bytes, anew, count, [](ByHand::Side&, const std::byte*) {}, read);
}

// --- a rank that waits ---

std::uint64_t cpu_ns(pid_t pid) {
  clockid_t clock;
  const std::uint64_t ns = clock_getcpuclockid(pid, &clock) == 0 ? core::clock_ns(clock) : 0;
  if (ns == 0) throw core::Error("the CPU time of the rank that waits is not known");
  return ns;
}

// Returns how many of a million nanoseconds rank 1 computes while it waits, after 100 ms.
std::uint64_t idle_ppm(comm::Comm& comm) {
  using namespace std::chrono_literals;
  if (comm.rank() == 1) {
    comm.send(0, getpid());
    comm.recv<int>(0);
  }
  if (comm.rank() != 0) return 0;
  const auto peer = comm.recv<pid_t>(1);
  std::this_thread::sleep_for(100ms);
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t before = cpu_ns(peer);
  std::this_thread::sleep_for(1s);
  const std::uint64_t used = cpu_ns(peer) - before;
  const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
  comm.send(1, 0);
  return static_cast<std::uint64_t>(1e3 * static_cast<double>(used) / passed.count());
}

void serve_comm(comm::Comm& comm, const std::string& turns_file, ByHand& shared) {
  Turns turns(turns_file, comm.size());
  CommMessages messages(comm);
  CommWork work(messages);
  work.add("polling", repeated([&] {
             work.gather([&](auto part, auto all) {
               comm::gather(comm, part, all, 0, comm::Layout::block, {.algorithm = "polling"});
             });
           }));
  // Groups of one kind, so that only the checks differ.
  std::array groups{comm.split(0).value(), comm.split(0).value()};
  groups[1].check_collectives(true);
  for (const auto& [verb, group] :
       {std::pair{"sum-unchecked", &groups[0]}, std::pair{"sum-checked", &groups[1]}}) {
    work.add(verb, repeated([group = group] {
               const int p = group->size();
               const double sum =
                   comm::all_reduce(*group, group->rank() + 1.0, comm::Operation::sum);
               require(sum == p * (p + 1) / 2.0, "all-reduce");
             }));
  }
  Overlap small(comm, 8), large(comm, 64 * 1024);
  for (const auto& [bytes, overlap] : {std::pair{"8", &small}, std::pair{"65536", &large}}) {
    for (const bool late : {false, true}) {
      for (const bool at_once : {false, true}) {
        work.add(
            fmt::format("{}-{}-work-{}", late ? "late" : "sum", at_once ? "beside" : "then", bytes),
            repeated([=, one = overlap] { one->run(late, at_once); }));
      }
    }
  }
  // Each rank lets the others of its PU run once.
  work.add("switches", repeated([] { sched_yield(); }));
  if (comm.size() == 2) {
    const auto add = [&](const std::string& verb, auto f, std::size_t bytes) {
      work.add(verb, [=, &comm](std::uint64_t count) { return f(comm, bytes, count); });
    };
    add("recv", ping_pong_values<false, false>, 32 * 1024);
    add("view", ping_pong_values<true, false>, 32 * 1024);
    add("recv-and-use", ping_pong_values<false, true>, 32 * 1024);
    add("view-and-use", ping_pong_values<true, true>, 32 * 1024);
    work.add("flags",
             [&](std::uint64_t count) { return ping_pong_flags(turns, comm.rank(), count); });
    for (const std::size_t bytes : kPingPongBytes) {
      for (const auto& [verb, ping_pong, anew] :
           {std::tuple{"two-copies", &ping_pong_two_copies, false},
            {"two-copies-anew", &ping_pong_two_copies, true},
            {"one-copy", &ping_pong_one_copy, false},
            {"one-copy-anew", &ping_pong_one_copy, true}}) {
        work.add(fmt::format("{}-{}", verb, bytes),
                 [&comm, &shared, bytes, f = ping_pong, anew = anew](std::uint64_t count) {
                   return f(shared, comm.rank(), bytes, anew, count);
                 });
      }
      add(fmt::format("view-{}", bytes), ping_pong_values<true, false>, bytes);
    }
    work.add("idle", [&](std::uint64_t) { return idle_ppm(comm); });
  }
  serve_ranks(turns, comm.rank(), work.work());
}

int scene(const std::vector<std::string>& words) {
  if (words.size() != 2) throw core::UsageError("usage: tabane_bench_comm RANKS TURNS_FILE");
  const team::SharedBlock memory(sizeof(ByHand), "memory of two ranks");  // of zeros
  auto& shared = *reinterpret_cast<ByHand*>(memory.data());
  comm::launch({.ranks = std::stoi(words[0]), .transport = comm::TransportKind::shm},
               [&](comm::Comm& comm) { serve_comm(comm, words[1], shared); });
  return 0;
}

}  // namespace
}  // namespace tabane::bench

int main(int argc, char** argv) {
  return tabane::bench::serve_scene(argc, argv, tabane::bench::scene);
}
