// Teams of several processes: what they return, and what they leave alone.
#include "tabane/team/team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <list>
#include <numeric>
#include <set>

#include "tabane/core/binding.h"
#include "tabane/team/leftovers_test.h"
#include "tabane/team/places.h"

namespace tabane::team {
namespace {

using ProcessTeam = LeavesNothing;

TEST_F(ProcessTeam, ReturnsResultsInTheOrderOfTheTasks) {
  for (const auto& [processes, threads] : {std::pair{2, 1}, {3, 2}, {8, 1}, {5, 3}}) {
    for (const ForkOrder order : {ForkOrder::tree, ForkOrder::serial}) {
      Team team({.processes = processes, .threads = threads, .fork = order});
      const auto squares = team.map<std::size_t>(1000, [](std::size_t i) { return i * i; });
      ASSERT_EQ(squares.size(), 1000u);
      for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(squares[i], i * i);
      EXPECT_EQ(team.report().processes, processes);
      EXPECT_EQ(team.report().threads, threads);
    }
  }
}

TEST_F(ProcessTeam, ReturnsResultsOfVaryingSize) {
  Team team({.processes = 3, .threads = 2});
  const auto texts =
      team.map<std::string>(500, [](std::size_t i) { return std::string(i * i % 1000, 'x'); });
  ASSERT_EQ(texts.size(), 500u);
  for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(texts[i], std::string(i * i % 1000, 'x'));
  const auto lists = team.map<std::vector<std::string>>(
      20, [](std::size_t i) { return std::vector<std::string>(i, std::to_string(i)); });
  EXPECT_EQ(lists[19], std::vector<std::string>(19, "19"));
  EXPECT_TRUE(lists[0].empty());
}

TEST_F(ProcessTeam, HandlesFewOrNoTasks) {
  Team team({.processes = 4, .threads = 2});
  EXPECT_TRUE(team.map<int>(0, [](std::size_t) { return 1; }).empty());
  EXPECT_EQ(team.report().tasks, std::vector<std::size_t>(8, 0));
  EXPECT_EQ(team.map<int>(1, [](std::size_t) { return 1; }), std::vector<int>{1});
  EXPECT_EQ(team.report().processes, 1);
  EXPECT_EQ(team.map<std::string>(3, [](std::size_t) { return "a"; }),
            std::vector<std::string>(3, "a"));
  EXPECT_EQ(team.report().processes, 3);
  EXPECT_EQ(team.map_reduce<int>(
                0, [](std::size_t) { return 1; }, 5, std::plus<>()),
            5);
}

TEST_F(ProcessTeam, CallsEachTaskOnceInChildrenOnly) {
  SharedValues<int> calls(5000);
  const pid_t caller = getpid();
  Team team({.processes = 2, .threads = 2});
  const auto pids = team.map<pid_t>(calls.size(), [&](std::size_t i) {
    ++calls[i];
    return getpid();
  });
  for (std::size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(calls[i].load(), 1);
  EXPECT_EQ(std::count(pids.begin(), pids.end(), caller), 0);
  const auto& tasks = team.report().tasks;
  EXPECT_EQ(tasks.size(), 4u);
  EXPECT_EQ(std::accumulate(tasks.begin(), tasks.end(), std::size_t{0}), calls.size());
}

TEST_F(ProcessTeam, ForksAProcessEvenForOneTask) {
  const pid_t caller = getpid();
  EXPECT_NE(
      Team({.processes = 2, .threads = 1}).map<pid_t>(1, [](std::size_t) { return getpid(); })[0],
      caller);
}

TEST_F(ProcessTeam, LetsTasksReadWhatTheCallerHasBuiltAndKeepsItAsItIs) {
  std::list<std::string> words{"one", "two", "three"};
  std::vector<const std::string*> pointers;
  for (const std::string& word : words) pointers.push_back(&word);
  Team team({.processes = 3, .threads = 1});
  const auto sizes = team.map<std::size_t>(3, [&](std::size_t i) {
    const std::size_t size = pointers[i]->size();
    words.emplace_back("of a child alone");
    return size;
  });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 5}));
  EXPECT_EQ(words.size(), 3u);
}

TEST_F(ProcessTeam, GivesEveryWorkerOneCallOfRun) {
  SharedValues<int> calls(6);
  SharedValues<pid_t> pids(6);
  Team team({.processes = 3, .threads = 2});
  team.run([&](const Worker& worker) {
    const auto index = static_cast<std::size_t>(worker.index);
    EXPECT_EQ(worker.index, worker.process * 2 + worker.thread);
    ++calls[index];
    pids[index] = getpid();
  });
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(calls[i].load(), 1);
  for (std::size_t i = 0; i < 6; i += 2) EXPECT_EQ(pids[i].load(), pids[i + 1].load());
  EXPECT_NE(pids[0].load(), pids[2].load());
}

TEST_F(ProcessTeam, ReducesWithTheInitialValueUsedOnce) {
  for (const int processes : {2, 5}) {
    Team team({.processes = processes, .threads = 2});
    const auto number = [](std::size_t i) { return static_cast<long>(i); };
    EXPECT_EQ(team.map_reduce<long>(1001, number, 7, std::plus<>()), 7 + 500'500);
  }
  using Counts = std::map<std::string, int>;
  const auto merge = [](Counts a, const Counts& b) {
    for (const auto& [word, count] : b) a[word] += count;
    return a;
  };
  const auto count = [](std::size_t i) { return Counts{{std::to_string(i % 3), 1}}; };
  EXPECT_EQ((Team({.processes = 3, .threads = 1}).map_reduce<Counts>(300, count, {}, merge)),
            (Counts{{"0", 100}, {"1", 100}, {"2", 100}}));
}

TEST_F(ProcessTeam, MakesAsManyProcessesAsAsked) {
  for (const ForkOrder order : {ForkOrder::tree, ForkOrder::serial}) {
    SharedValues<pid_t> pids(33);
    Team team({.processes = 33, .threads = 1, .fork = order});
    team.run(
        [&](const Worker& worker) { pids[static_cast<std::size_t>(worker.index)] = getpid(); });
    std::set<pid_t> different;
    for (std::size_t i = 0; i < 33; ++i) different.insert(pids[i].load());
    EXPECT_EQ(different.size(), 33u);
  }
}

TEST_F(ProcessTeam, MeasuresTheSharedShareWhenAsked) {
  const std::vector<char> data(std::size_t{16} << 20, 'x');
  Team team({.processes = 3, .threads = 2, .measure_memory = true});
  team.run([&] {});
  ASSERT_TRUE(team.report().shared_share.has_value());
  EXPECT_GT(*team.report().shared_share, 0.5);
  EXPECT_LE(*team.report().shared_share, 1.0);
  EXPECT_THROW(team.run([] { throw 1; }), TaskError);
  Team unasked({.processes = 2, .threads = 1});
  unasked.run([] {});
  EXPECT_FALSE(unasked.report().shared_share.has_value());
}

TEST_F(ProcessTeam, ReportsItsTimesInOrder) {
  Team team({.processes = 4, .threads = 1});
  team.run([] {});
  const TeamReport& report = team.report();
  EXPECT_GT(report.fork_seconds, 0);
  EXPECT_GE(report.join_seconds, 0);
  EXPECT_GE(report.seconds, report.fork_seconds);
  EXPECT_GE(report.seconds, report.join_seconds);
}

TEST_F(ProcessTeam, WorksWithMemoryPrepared) {
  std::vector<int> data(std::size_t{4} << 20, 3);
  Team team({.processes = 2, .threads = 1, .prepare_memory = true});
  EXPECT_EQ(team.map_reduce<long>(
                4, [&](std::size_t i) { return long(data[i << 20]); }, 0, std::plus<>()),
            12);
}

// What the body's process prints: its standard output is a file, and not a terminal.
std::string output_of(const std::function<int()>& body) {
  std::FILE* const file = std::tmpfile();
  const int status = wait_for_child(fork_child([&] {
    dup2(fileno(file), STDOUT_FILENO);
    const int result = body();
    std::fflush(nullptr);
    return result;
  }));
  EXPECT_EQ(status, 0);
  std::string text(static_cast<std::size_t>(lseek(fileno(file), 0, SEEK_END)), ' ');
  EXPECT_EQ(pread(fileno(file), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  std::fclose(file);
  return text;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_F(ProcessTeam, WritesOutputOnceWhoeverBufferedIt) {
  const std::string text = output_of([] {
    std::ios::sync_with_stdio(false);
    std::printf("[caller stdio]");
    std::cout << "[caller stream]";
    Team({.processes = 3, .threads = 2}).run([](const Worker& worker) {
      std::printf("[worker %d]", worker.index);
      if (worker.thread == 0) std::cout << "[stream " + std::to_string(worker.process) + "]";
    });
    return 0;
  });
  EXPECT_EQ(count_of(text, "[caller stdio]"), 1u) << text;
  EXPECT_EQ(count_of(text, "[caller stream]"), 1u) << text;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(count_of(text, "[worker " + std::to_string(i) + "]"), 1u) << text;
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(count_of(text, "[stream " + std::to_string(i) + "]"), 1u) << text;
  }
}

std::atomic<int>* exits_seen = nullptr;

TEST_F(ProcessTeam, NeverRunsTheCallersExitHandlers) {
  SharedValues<int> seen(1);
  exits_seen = &seen[0];
  std::atexit([] {
    if (exits_seen != nullptr) ++*exits_seen;
  });
  Team team({.processes = 3, .threads = 2});
  team.run([] {});
  EXPECT_THROW(team.run([] { std::exit(0); }), core::LostError);
  EXPECT_EQ(seen[0].load(), 0);
  exits_seen = nullptr;
}

TEST_F(ProcessTeam, LetsInterruptionsEndItsProcesses) {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction old_int {
  }, old_term{};
  sigaction(SIGINT, &ignore, &old_int);
  sigaction(SIGTERM, &ignore, &old_term);
  const auto is_default = Team({.processes = 3, .threads = 1}).map<bool>(30, [](std::size_t i) {
    struct sigaction now {};
    sigaction(i % 2 ? SIGINT : SIGTERM, nullptr, &now);
    return now.sa_handler == SIG_DFL;
  });
  sigaction(SIGINT, &old_int, nullptr);
  sigaction(SIGTERM, &old_term, nullptr);
  EXPECT_EQ(is_default, std::vector<bool>(30, true));
}

int map_in(const TeamOptions& options) {
  Team team(options);
  return team.map_reduce<int>(
             100, [](std::size_t) { return 1; }, 0, std::plus<>()) == 100
             ? 0
             : 1;
}

TEST_F(ProcessTeam, WorksWhateverTheCallerDoesWithDeadChildren) {
  EXPECT_EQ(wait_for_child(fork_child([] {
              signal(SIGCHLD, SIG_IGN);
              return map_in({.processes = 4, .threads = 1});
            })),
            0);
  EXPECT_EQ(wait_for_child(fork_child([] {
              signal(SIGCHLD, [](int) {
                while (waitpid(-1, nullptr, WNOHANG) > 0) {
                }
              });
              return map_in({.processes = 4, .threads = 1});
            })),
            0);
  EXPECT_EQ(wait_for_child(fork_child([] {
              sigset_t all;
              sigfillset(&all);
              sigprocmask(SIG_BLOCK, &all, nullptr);
              return map_in({.processes = 4, .threads = 2});
            })),
            0);
}

TEST_F(ProcessTeam, WorksOnOneCpuAndSaysSo) {
  EXPECT_EQ(wait_for_child(fork_child([] {
              cpu_set_t one;
              CPU_ZERO(&one);
              CPU_SET(core::thread_binding().front(), &one);
              if (sched_setaffinity(0, sizeof(one), &one) != 0) return 1;
              Team team({.processes = 2, .threads = 2});
              team.run([] {});
              if (team.report().remarks.empty()) return 2;
              return team.report().remarks[0].starts_with("4 workers share 1 PU") ? 0 : 3;
            })),
            0);
}

// Bindings of as many processes as there are PUs, all at work at the same time; -1: to several PUs.
std::vector<int> bindings_of_processes(bool fixed_places) {
  const int processes = static_cast<int>(core::thread_binding().size());
  SharedValues<int> bound(static_cast<std::size_t>(processes));
  const Job job{.once_per_worker = true,
                .begin_together = true,
                .do_tasks = [&](Progress& at, std::size_t i, std::size_t) {
                  at.begins(i);
                  const auto binding = core::thread_binding();
                  bound[i] = binding.size() == 1 ? static_cast<int>(binding[0]) : -1;
                }};
  run_job(job, {.processes = processes,
                .threads = 1,
                .forked = true,
                .placement = core::PlacementPolicy::compact,
                .fixed_places = fixed_places});
  std::vector<int> bindings;
  for (std::size_t i = 0; i < bound.size(); ++i) bindings.push_back(bound[i].load());
  return bindings;
}

TEST_F(ProcessTeam, GivesEachProcessAPuOfItsOwn) {
  std::vector<int> planned;
  const auto processes = static_cast<int>(core::thread_binding().size());
  const core::Placement plan = plan_places(core::PlacementPolicy::compact, processes, 1);
  for (int p = 0; p < processes; ++p) planned.push_back(static_cast<int>(plan.at(p, 0).pus.at(0)));
  EXPECT_EQ(bindings_of_processes(true), planned);
  std::vector<int> shared_out = bindings_of_processes(false);
  std::sort(planned.begin(), planned.end());
  std::sort(shared_out.begin(), shared_out.end());
  EXPECT_EQ(shared_out, planned);
}

TEST_F(ProcessTeam, MayBeNestedWhereOneThreadRuns) {
  Team outer({.processes = 2, .threads = 1});
  const auto sums = outer.map<long>(6, [](std::size_t i) {
    Team inner({.processes = 3, .threads = 2});
    return inner.map_reduce<long>(
        10, [&](std::size_t k) { return long(i * k); }, 0, std::plus<>());
  });
  EXPECT_EQ(sums, (std::vector<long>{0, 45, 90, 135, 180, 225}));
}

TEST_F(ProcessTeam, ChoosesItsSizeWhereNoneIsGiven) {
  const auto spin = [](std::size_t i) {
    double x = static_cast<double>(i);
    for (int k = 0; k < 2000; ++k) x += 1;
    core::keep(x);
    return x;
  };
  for (const auto& [processes, threads] : {std::pair{0, 0}, {2, 0}, {0, 1}, {1, 0}}) {
    Team team({.processes = processes, .threads = threads});
    const auto results = team.map<double>(2000, spin);
    for (std::size_t i = 0; i < 2000; ++i) ASSERT_EQ(results[i], static_cast<double>(i) + 2000);
    ASSERT_TRUE(team.report().choice.has_value());
    EXPECT_GE(team.report().processes, 1);
    EXPECT_GE(team.report().threads, 1);
    EXPECT_TRUE(processes == automatic || team.report().processes == processes);
    EXPECT_TRUE(threads == automatic || team.report().threads == threads);
  }
  Team few;
  EXPECT_EQ(few.map<int>(1, [](std::size_t) { return 3; }), std::vector<int>{3});
  few.run([] {});
  EXPECT_EQ(few.report().processes, 1);
}

TEST_F(ProcessTeam, ReportsAsItsChoiceWhatItHasDone) {
  for (const auto& [processes, threads] : {std::pair{0, 0}, {2, 0}, {0, 1}, {1, 0}}) {
    for (const std::size_t n : {2, 5, 2000}) {
      Team team({.processes = processes, .threads = threads});
      team.map<int>(n, [](std::size_t) { return 1; });
      const TeamReport& report = team.report();
      ASSERT_TRUE(report.choice.has_value());
      EXPECT_EQ(report.choice->shape, (Shape{report.processes, report.threads}))
          << n << " tasks, " << processes << " x " << threads << ": " << report.choice->reason;
    }
  }
}

// Long enough for a sample, which needs some milliseconds.
std::size_t spin_a_while(std::size_t i) {
  std::size_t x = i;
  for (int k = 0; k < 100'000; ++k) core::keep(x += 1);
  return x - 100'000;
}

// Whether half of all tasks are done while this one lasts, which waits for them, but not for ever.
bool half_is_done_beside(std::size_t long_task) {
  constexpr std::size_t kTasks = 6000;
  constexpr std::uint64_t kMostNs = 2'000'000'000;
  SharedValues<int> done(1), seen(1);
  Team team;
  team.map<int>(kTasks, [&](std::size_t i) {
    spin_a_while(i);
    if (i == long_task) {
      const std::uint64_t begin = now_ns();
      while (done[0].load() < int(kTasks) / 2 && now_ns() - begin < kMostNs) {
      }
      seen[0] = done[0].load();
    }
    return ++done[0];
  });
  return seen[0].load() >= int(kTasks) / 2;
}

TEST_F(ProcessTeam, LetsNoWorkerIdleWhileAnotherIsInALongTask) {
  const std::size_t pus = core::thread_binding().size();
  if (pus < 2) GTEST_SKIP() << "there is one PU";
  // A first task of a worker, and a second. Where others hold the PUs the second may come so late
  // that it is one of the sample, beside which few work.
  for (const std::size_t long_task : {std::size_t{0}, pus + 1}) {
    bool done = false;
    for (int i = 0; i < 4 && !done; ++i) done = half_is_done_beside(long_task);
    EXPECT_TRUE(done) << "beside task " << long_task;
  }
}

TEST_F(ProcessTeam, DoesNotTakeOthersOnItsPusForTasksThatWait) {
  const std::size_t pus = core::thread_binding().size();
  std::vector<pid_t> others;
  for (std::size_t i = 0; i < 4 * pus; ++i) {
    others.push_back(fork_child([]() -> int {
      for (std::size_t k = 0;; ++k) core::keep(k);
    }));
  }
  std::string reason;
  for (int i = 0; i < 4; ++i) {
    Team team({.processes = 1, .threads = automatic});
    team.map<std::size_t>(150 * pus, spin_a_while);
    reason += team.report().choice->reason + "\n";
  }
  for (const pid_t other : others) {
    kill(other, SIGKILL);
    wait_for_child(other);
  }
  EXPECT_EQ(reason.find("wait for something else"), std::string::npos) << reason;
}

TEST_F(ProcessTeam, DoesEachTaskOnceWhateverItTriesToChooseItsSize) {
  for (const auto& [processes, threads] : {std::pair{0, 0}, {2, 0}, {0, 1}, {1, 0}}) {
    for (const std::size_t n : {2, 3, 16, 2000}) {
      SharedValues<int> calls(n);
      Team team({.processes = processes, .threads = threads});
      const auto count = [&](std::size_t i) {
        ++calls[i];
        return spin_a_while(i);
      };
      const auto numbers = team.map<std::size_t>(n, count);
      const auto words =
          team.map<std::string>(n, [&](std::size_t i) { return std::to_string(count(i)); });
      const auto sum = team.map_reduce<std::size_t>(n, count, 0, std::plus<>());
      EXPECT_EQ(sum, n * (n - 1) / 2);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(calls[i].load(), 3) << "task " << i << " of " << n;
        ASSERT_EQ(numbers[i], i);
        ASSERT_EQ(words[i], std::to_string(i));
      }
    }
  }
}

}  // namespace
}  // namespace tabane::team
