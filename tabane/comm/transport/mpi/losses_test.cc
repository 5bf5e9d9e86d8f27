// Under an MPI launcher: what becomes of large messages when an exception passes them, and random
// traffic that a throw ends. LOSSES_LAUNCHES and LOSSES_SEED say how many random launches there
// are, and of which seed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tabane/comm/ends_test.h"
#include "tabane/comm/runners_test.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

using std::chrono::milliseconds;

// What launch throws on this rank; empty if nothing.
std::string error_in(const RankFunction& f) {
  return core::text_of_error([&] { run_all_of_mpi(f); });
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Memory that is no longer what it was once it ends.
template <class T>
class Fading {
 public:
  explicit Fading(std::size_t size, T value = {}) : values_(size, value) {}
  Fading(Fading&&) noexcept = default;
  Fading& operator=(Fading&&) noexcept = default;
  ~Fading() { std::ranges::fill(values_, static_cast<T>(0xee)); }
  std::vector<T>& operator*() { return values_; }

 private:
  std::vector<T> values_;
};

TEST(MpiLosses, AThrowWaitsForNoLargeMessage) {
  for (const std::size_t bytes : {5'000, 60'000, 1'000'000}) {
    int size = 0;
    const std::string error = error_in([&](Comm& comm) {
      size = comm.size();
      if (size == 1) return;
      if (comm.rank() == 1) {
        Fading<char> large(bytes, 'x');
        const Request sent = comm.isend(0, *large);
        throw core::Error("on purpose");
      }
      comm.recv<int>(1, 7);  // never sent
    });
    EXPECT_TRUE(size == 1 || has(error, "on purpose")) << bytes << " bytes: " << error;
  }
}

// The exception is caught, and the memory used for something else.
TEST(MpiLosses, WhatAnExceptionPassedIsNotReceived) {
  int size = 0;
  const std::string error = error_in([&](Comm& comm) {
    size = comm.size();
    if (size == 1) return;
    std::vector<char> large(200'000, 'x');
    if (comm.rank() == 1) {
      try {
        const Request sent = comm.isend(0, large);
        throw core::Error("on purpose");
      } catch (const core::Error&) {
      }
      std::ranges::fill(large, 'y');
      std::this_thread::sleep_for(milliseconds(1'000));
      comm.send(0, 1);
      throw core::Error("a rank goes on after an exception has passed its message");
    }
    if (comm.rank() == 0) std::this_thread::sleep_for(milliseconds(500));
    comm.recv(1, large);
    require_equal(comm.rank(), 0);  // nobody has sent to the others
    require(large == std::vector<char>(200'000, 'x'));
    comm.recv<int>(1);
  });
  EXPECT_TRUE(size == 1 || has(error, "an exception passed a message to rank 0 on its way"))
      << error;
}

// A rank that has waited in vain before, and gone on, says what has passed its message now. kept:
// the request that has waited, which keeps its error, is still there.
TEST(MpiLosses, AWaitInVainThatIsOverIsNotTheReason) {
  for (const bool kept : {false, true}) {
    int size = 0;
    const std::string error = error_in([&](Comm& comm) {
      size = comm.size();
      comm.check_collectives(false);
      if (size < 3 || comm.rank() > 1) return;
      if (comm.rank() == 0) comm.recv<int>(1, 7);  // never sent
      std::vector<int> values(1);
      std::optional<Request> copied;
      if (kept) copied = ibroadcast(comm, values, 2);
      const std::string in_vain =
          core::text_of_error([&] { kept ? copied->wait() : comm.recv(2, values); });
      require_contains(in_vain, "rank 2 has returned");
      const std::vector<char> large(200'000, 'x');
      try {
        const Request sent = comm.isend(0, large);
        throw core::Error("on purpose");
      } catch (const core::Error&) {
      }
      comm.send(0, 1);
    });
    EXPECT_TRUE(size < 3 || has(error, "an exception passed a message to rank 0 on its way"))
        << error;
  }
}

// The other side takes it meanwhile: then nothing is lost.
TEST(MpiLosses, WhatIsTakenInTimeIsNone) {
  run_all_of_mpi([](Comm& comm) {
    if (comm.rank() > 1 || comm.size() == 1) return;
    const int other = 1 - comm.rank();
    const std::vector<double> out(50'000, comm.rank());
    std::vector<double> in(comm.rank() == 0 ? 50'000 : 10);
    try {
      comm.exchange(other, out, other, in);
      require_equal(comm.rank(), 0);
    } catch (const MessageError&) {
      require_equal(comm.rank(), 1);  // into which it does not fit
    }
    comm.exchange(other, out, other, in = out, 1);
    require(in == std::vector<double>(50'000, other));
  });
}

// Taken from MPI, or not yet; its sender must not wait for ever.
TEST(MpiLosses, AReceiveThatAnExceptionPassedTakesItsMessage) {
  run_all_of_mpi([](Comm& comm) {
    if (comm.rank() > 1 || comm.size() == 1) return;
    std::vector<double> large(50'000, 1);
    if (comm.rank() == 0) {
      Request sent = comm.isend(1, large);
      comm.send(1, 1, 5);
      sent.wait();
      comm.send(1, 2, 5);
      return;
    }
    try {
      const Request received = comm.irecv(0, large);
      comm.recv<int>(0, 5);
      throw core::Error("on purpose");
    } catch (const core::Error&) {
    }
    if (comm.probe(0, 0)) comm.recv(0, large);
    comm.recv<int>(0, 5);
  });
}

// The call in the background, which keeps its error until it is asked, may be who hears of it.
TEST(MpiLosses, OfWhichACallInTheBackgroundHearsEndTheWait) {
  for (int i = 0; i < 25; ++i) {
    int size = 0;
    const std::string error = error_in([&](Comm& comm) {
      size = comm.size();
      if (size == 1) return;
      if (comm.rank() == 1) {
        std::this_thread::sleep_for(milliseconds(i % 5));
        throw core::Error("on purpose");
      }
      const Request met = ibarrier(comm);
      comm.recv<int>(1, 7);  // never sent
    });
    EXPECT_TRUE(size == 1 || has(error, "on purpose")) << error;
  }
}

// When a collective in the background ends with the loss, its large messages are on their way. All
// ranks hear why, the one that has returned, too.
TEST(MpiLosses, EndALargeCollectiveInTheBackground) {
  using Begin = Request (*)(Comm&, std::vector<double>&);
  constexpr Begin kSum = [](Comm& comm, std::vector<double>& values) {
    return iall_reduce(comm, values, Operation::sum);
  };
  constexpr Begin kCopy = [](Comm& comm, std::vector<double>& values) {
    return ibroadcast(comm, values, 0);
  };
  for (const Begin begin : {kSum, kCopy}) {
    for (const bool throws : {true, false}) {
      int size = 0;
      const std::string error = error_in([&](Comm& comm) {
        size = comm.size();
        if (comm.rank() == 1 && throws) throw core::Error("on purpose");
        if (comm.rank() == 1) return;
        std::vector<double> values(6'000, 1);
        begin(comm, values).wait();
      });
      // A rank that has received all may return, too, before the others hear of rank 1.
      const std::string_view why = throws ? "on purpose" : " has returned from its function";
      EXPECT_TRUE(size == 1 || has(error, why)) << error;
    }
  }
}

struct Planned {
  int from, to;
  std::size_t size;
};

std::uint32_t value_of(int number, std::size_t at) {
  return static_cast<std::uint32_t>(number) * 2'654'435'761U + static_cast<std::uint32_t>(at);
}

// What all ranks know of a launch: the messages of its rounds, and who throws when.
class Plan {
 public:
  Plan(std::uint64_t seed, int ranks) : random_(seed), ranks_(ranks) {
    victim = draw(ranks);
    steps = draw(60);
  }
  std::vector<Planned> draw_round() {
    std::vector<Planned> round(static_cast<std::size_t>(draw(4 * ranks_)));
    for (Planned& one : round) {
      const std::size_t magnitude = std::size_t{1} << draw(18);
      one = {draw(ranks_), draw(ranks_), magnitude / 2 + random_() % magnitude};
    }
    return round;
  }

  int victim, steps;

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::mt19937_64 random_;
  int ranks_;
};

// A rank's part of a launch, which its own choices vary.
class Traffic {
 public:
  Traffic(Comm& comm, std::uint64_t seed)
      : comm_(comm), plan_(seed, comm.size()), own_(seed + static_cast<unsigned>(comm.rank())) {}

  void run() {
    for (;;) {
      round(plan_.draw_round());
      exchange();
    }
  }

 private:
  void step() {
    if (comm_.rank() != plan_.victim || --steps_left_ > 0) return;
    throw core::Error("on purpose");
  }

  void round(const std::vector<Planned>& messages) {
    std::vector<Fading<std::uint32_t>> memory;
    std::vector<Request> sent, received;
    std::vector<int> later, numbers;
    memory.reserve(2 * messages.size());
    for (int number = 0; number < static_cast<int>(messages.size()); ++number) {
      const Planned& one = messages[static_cast<std::size_t>(number)];
      if (one.to != comm_.rank()) continue;
      if (own_() % 2 == 0) {
        later.push_back(number);
        continue;
      }
      auto& into = memory.emplace_back(one.size);
      received.push_back(comm_.irecv(one.from, *into, number));
      numbers.push_back(number);
    }
    for (int number = 0; number < static_cast<int>(messages.size()); ++number) {
      const Planned& one = messages[static_cast<std::size_t>(number)];
      if (one.from != comm_.rank()) continue;
      step();
      auto& out = memory.emplace_back(one.size);
      for (std::size_t i = 0; i < one.size; ++i) (*out)[i] = value_of(number, i);
      sent.push_back(comm_.isend(one.to, *out, number));
    }
    std::ranges::shuffle(later, own_);
    for (const int number : later) take(messages[static_cast<std::size_t>(number)], number);
    for (std::size_t i = 0; i < received.size(); ++i) {
      step();
      received[i].wait();
      check(*memory[i], numbers[i], messages[static_cast<std::size_t>(numbers[i])].size);
    }
    for (Request& one : sent) {
      step();
      one.wait();
    }
  }

  void take(const Planned& one, int number) {
    step();
    if (own_() % 2 == 0) {
      check(comm_.recv_view<std::uint32_t>(one.from, number), number, one.size);
    } else {
      Fading<std::uint32_t> into(one.size + own_() % 3);
      const Received got = comm_.recv(one.from, *into, number);
      check(std::span(*into).first(got.count), number, one.size);
    }
  }

  void exchange() {
    step();
    const int p = comm_.size(), shift = ++shifts_ % p, tag = 10'000 + shift;
    Fading<std::uint32_t> out(5'000), in(5'000);
    for (std::size_t i = 0; i < 5'000; ++i) (*out)[i] = value_of(comm_.rank(), i);
    const int from = (comm_.rank() + p - shift) % p;
    comm_.exchange((comm_.rank() + shift) % p, *out, from, *in, tag);
    check(*in, from, 5'000);
  }

  template <class Values>
  void check(const Values& values, int number, std::size_t size) {
    require_equal(std::size(values), size);
    for (std::size_t i = 0; i < size; ++i) require_equal(values[i], value_of(number, i));
  }

  Comm& comm_;
  Plan plan_;
  std::mt19937_64 own_;
  int steps_left_ = plan_.steps, shifts_ = 0;
};

TEST(MpiLosses, EndRandomTraffic) {
  std::uint64_t seed = 0;
  int rank = 0;
  run_all_of_mpi([&](Comm& comm) {
    rank = comm.rank();
    seed = from_environment("LOSSES_SEED", std::random_device{}());
    broadcast(comm, seed, 0);
  });
  if (rank == 0) std::cout << "LOSSES_SEED=" << seed << std::endl;
  for (const std::uint64_t end = seed + from_environment("LOSSES_LAUNCHES", 25); seed < end;
       ++seed) {
    const std::string error = error_in([&](Comm& comm) { Traffic(comm, seed).run(); });
    ASSERT_TRUE(has(error, "on purpose")) << "LOSSES_SEED=" << seed << ": " << error;
  }
}

}  // namespace
}  // namespace tabane::comm
