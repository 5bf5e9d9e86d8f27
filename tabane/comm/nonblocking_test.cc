#include <array>
#include <vector>

#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

// Around what is sent in one message to all, and more elements than ranks and fewer.
TEST(NonBlocking, GivesEveryRankTheResult) {
  run_each({1, 2, 3, 5}, [](Comm& comm) {
    const int p = comm.size();
    for (const std::size_t count : {0, 1, 2, 511, 513, 20'000}) {
      std::vector<std::int64_t> sum(count, comm.rank() + 1);
      Request all = iall_reduce(comm, sum, Operation::sum);
      all.wait();
      require(sum == std::vector<std::int64_t>(count, p * (p + 1) / 2));
      for (int root = 0; root < p; ++root) {
        std::vector<int> values(count, comm.rank() == root ? 7 + root : -1);
        Request copied = ibroadcast(comm, values, root);
        while (!copied.test()) continue;
        require(values == std::vector<int>(count, 7 + root));
      }
    }
    std::array<double, 3> order{comm.rank() == 0 ? 1e300 : 1.0, 1, 1};
    iall_reduce(comm, order, Operation::max).wait();
    require(order[0] == 1e300);
  });
}

TEST(NonBlocking, BarrierIsCompleteOnlyWhenAllHaveCome) {
  run_each({1, 2, 3, 5}, [](Comm& comm) {
    if (comm.rank() == 0 && comm.size() > 1) {
      for (int rank = 1; rank < comm.size(); ++rank) comm.recv<int>(rank);
      ibarrier(comm).wait();
      return;
    }
    Request all = ibarrier(comm);
    for (int i = 0; i < 50 && comm.size() > 1; ++i) require(!all.test());
    if (comm.size() > 1) comm.send(0, 1);
    all.wait();
    require(all.test());
  });
}

TEST(NonBlocking, SeveralEndInAnyOrder) {
  run_each({1, 2, 3, 5}, [](Comm& comm) {
    constexpr std::size_t kCalls = 12;
    std::vector<std::vector<int>> values;
    std::vector<Request> requests;
    for (std::size_t i = 0; i < kCalls; ++i) {
      values.emplace_back(i % 3 == 0 ? 5'000 : 3, comm.rank() + static_cast<int>(i));
    }
    for (std::size_t i = 0; i < kCalls; ++i) {
      const int root = static_cast<int>(i) % comm.size();
      requests.push_back(i % 2 == 0 ? iall_reduce(comm, values[i], Operation::max)
                                    : ibroadcast(comm, values[i], root));
    }
    if (comm.rank() % 2 == 1) std::swap(requests.front(), requests.back());
    std::size_t told = 0;
    if (comm.rank() == 0) {
      while (wait_any(requests)) ++told;
      require(told == kCalls);
    }
    wait_all(requests);
    for (std::size_t i = 0; i < kCalls; ++i) {
      const int from = i % 2 == 0 ? comm.size() - 1 : static_cast<int>(i) % comm.size();
      require(values[i].back() == from + static_cast<int>(i));
    }
  });
}

// Ranks in the middle of a tree hand on what they get, whatever they wait for: a message, a
// collective of another kind, another request.
TEST(NonBlocking, GoesOnWhileTheRankWaitsForSomethingElse) {
  run_each({1, 2, 3, 5}, [](Comm& comm) {
    const int p = comm.size(), last = p - 1;
    for (const std::size_t count : {std::size_t{4}, std::size_t{50'000}}) {
      std::vector<int> values(count, comm.rank() == 0 ? 3 : 0), more(count, 1);
      Request first = ibroadcast(comm, values, 0), second = iall_reduce(comm, more, Operation::sum);
      if (p > 1 && comm.rank() == last) {
        second.wait();
        first.wait();
        for (int rank = 0; rank < last; ++rank) comm.send(rank, 1);
      } else if (p > 1) {
        comm.recv<int>(last);
      }
      barrier(comm);
      first.wait();
      second.wait();
      require(values.back() == 3 && more.back() == p);
    }
  });
}

TEST(NonBlocking, MixesWithMessagesAndGroups) {
  run_each({1, 2, 3, 5}, [](Comm& comm) {
    const int p = comm.size(), next = (comm.rank() + 1) % p, previous = (comm.rank() + p - 1) % p;
    std::vector<int> sum(1'000, 1), in(1), out(1, comm.rank()), part_sum(2, 1);
    std::vector<int> large(20'000, comm.rank()), part_in(large.size());
    int part_next = 0;
    std::vector<Request> requests;
    {
      Comm part = comm.split(comm.rank() % 2).value();
      requests.push_back(iall_reduce(part, part_sum, Operation::sum));
      requests.push_back(comm.irecv(previous, in));
      requests.push_back(iall_reduce(comm, sum, Operation::sum));
      requests.push_back(comm.isend(next, out));
      requests.push_back(ibarrier(part));
    }
    {  // which collectives under way would keep
      Comm part = comm.split(comm.rank() % 2).value();
      const int size = part.size();
      part_next = (part.rank() + 1) % size;
      requests.push_back(part.irecv(part_next, part_in));
      requests.push_back(part.isend((part.rank() + size - 1) % size, large));
    }
    while (wait_any(requests)) continue;
    require(sum.front() == p && in[0] == previous);
    require(part_in == std::vector<int>(large.size(), 2 * part_next + comm.rank() % 2));
    require(part_sum[0] == (p + 1 - comm.rank() % 2) / 2);
  });
}

TEST(NonBlocking, RefusesWhatCannotBe) {
  run_each({1, 2, 3, 5}, [](Comm& comm) {
    std::vector<int> values(2);
    int refused = 0;
    for (const auto& f : std::vector<std::function<void()>>{
             [&] { ibroadcast(comm, values, comm.size()); }, [&] { ibroadcast(comm, values, -1); },
             [&] { iall_reduce(comm, values, Operation::max_loc); }}) {
      try {
        f();
      } catch (const core::UsageError&) {
        ++refused;
      }
    }
    require(refused == 3);
    barrier(comm);
  });
}

TEST(NonBlocking, ComparesCallsWhereTheGroupDoes) {
  run_each({1, 2, 3, 5}, compared_calls_give_results);
}

}  // namespace
}  // namespace tabane::comm
