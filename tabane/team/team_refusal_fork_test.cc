// What the system or the caller refuses to a team: it is told clearly, and the caller goes on with
// nothing left behind.
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/core/units.h"
#include "tabane/team/faulty_team_test.h"
#include "tabane/team/fork.h"
#include "tabane/team/leftovers_test.h"
#include "tabane/team/team.h"

namespace tabane::team {
namespace {

// Runs the body as a user without rights, to whom limits apply. 77: that is impossible here.
int as_nobody(const std::function<int()>& body) {
  constexpr uid_t kNobody = 65'534;
  return wait_for_child(fork_child([&] {
    if (geteuid() == 0 &&
        (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
         setresuid(kNobody, kNobody, kNobody) != 0)) {
      return 77;
    }
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return body();
  }));
}

void limit_processes(rlim_t most) {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(RLIMIT_NPROC, &limit);
}

// 0: the team was refused with EAGAIN, and a smaller one then worked.
int refused_then_works(const TeamOptions& options, rlim_t most) {
  limit_processes(most);
  const int all = options.processes * options.threads;
  SharedValues<int> there(1);
  try {
    // Who is there stays a while, so that the others are one too many.
    Team(options).run([&] {
      ++there[0];
      for (int ms = 0; ms < 300 && there[0].load() < all; ++ms) usleep(1000);
    });
    return 1;
  } catch (const core::SystemError& error) {
    if (error.code() != EAGAIN) return 2;
  }
  if (Leftovers::now().children) return 3;
  limit_processes(RLIM_INFINITY);
  Team small({.processes = 2, .threads = 2});
  return small.map<int>(10, [](std::size_t) { return 1; }) == std::vector<int>(10, 1) ? 0 : 4;
}

TEST_F(FaultyTeam, TellsThatTheSystemRefusesProcesses) {
  // The first fork, and one further down.
  for (const rlim_t most : {1, 6}) {
    const int status =
        as_nobody([&] { return refused_then_works({.processes = 40, .threads = 1}, most); });
    if (status == 77) GTEST_SKIP() << "this process may not become another user";
    EXPECT_EQ(status, 0) << most;
  }
}

TEST_F(FaultyTeam, TellsThatTheSystemRefusesThreads) {
  for (const int processes : {1, 2}) {
    const int status =
        as_nobody([&] { return refused_then_works({.processes = processes, .threads = 40}, 6); });
    if (status == 77) GTEST_SKIP() << "this process may not become another user";
    EXPECT_EQ(status, 0) << processes;
  }
}

// Lets these system calls of all threads and of children fail from now on. Returns false if that is
// impossible here.
bool refuse(const std::vector<long>& calls, int error) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

bool refuse_forks(int error) {
  return refuse({SYS_clone, SYS_clone3,
#ifdef SYS_fork
                 SYS_fork, SYS_vfork
#endif
                },
                error);
}

// 0: the team was refused with this error, and nothing of it is left.
int is_refused(const TeamOptions& options, int error) {
  const auto files_before = Leftovers::now().files;
  try {
    Team(options).run([] {});
    return 1;
  } catch (const core::SystemError& refusal) {
    if (refusal.code() != error || !holds(refusal, "of a team of")) return 2;
  }
  const Leftovers left = Leftovers::now();
  return left.children ? 3 : left.files != files_before ? 4 : 0;
}

constexpr int kNoFilters = 77;

TEST_F(FaultyTeam, TellsThatThereIsNoMemoryToFork) {
  const int status = wait_for_child(fork_child([] {
    if (!refuse_forks(ENOMEM)) return kNoFilters;
    return is_refused({.processes = 3, .threads = 1}, ENOMEM);
  }));
  if (status == kNoFilters) GTEST_SKIP() << "no system call can be refused here";
  EXPECT_EQ(status, 0);
}

bool refused_in_children = false;

TEST_F(FaultyTeam, TellsThatThereIsNoMemoryToForkFurtherDown) {
  const int status = wait_for_child(fork_child([] {
    pthread_atfork(nullptr, nullptr, [] {
      if (refused_in_children) refuse_forks(ENOMEM);
    });
    if (wait_for_child(fork_child([] { return refuse({}, 0) ? 0 : 1; })) != 0) return kNoFilters;
    refused_in_children = true;
    // The caller forks three, of whom two would fork the others.
    const int refused = is_refused({.processes = 7, .threads = 1}, ENOMEM);
    refused_in_children = false;
    if (refused != 0) return refused;
    return Team({.processes = 7, .threads = 1}).map<int>(10, [](std::size_t) { return 1; }) ==
                   std::vector<int>(10, 1)
               ? 0
               : 5;
  }));
  if (status == kNoFilters) GTEST_SKIP() << "no system call can be refused here";
  EXPECT_EQ(status, 0);
}

// 0: the loss of each process was told, and the next team worked.
int sees_losses_without(const std::vector<long>& calls) {
  if (!refuse(calls, ENOSYS)) return kNoFilters;
  for (int lost = 0; lost < 3; ++lost) {
    try {
      Team({.processes = 3, .threads = 1}).run([&](const Worker& worker) {
        if (worker.process == lost) die_by(SIGKILL);
        wait_forever();
      });
      return 1;
    } catch (const core::LostError& error) {
      if (error.rank() != lost) return 2;
    }
  }
  Team team({.processes = 3, .threads = 1});
  const auto one = [](std::size_t) { return 1; };
  return team.map<int>(10, one) == std::vector<int>(10, 1) ? 0 : 3;
}

TEST_F(FaultyTeam, SeesALossWithoutFilesForProcesses) {
  for (const std::vector<long>& calls : {std::vector<long>{SYS_pidfd_open}, std::vector<long>{
#ifdef SYS_poll
                                                                                SYS_poll,
#endif
                                                                                SYS_ppoll}}) {
    const int status = wait_for_child(fork_child([&] { return sees_losses_without(calls); }));
    if (status == kNoFilters) GTEST_SKIP() << "no system call can be refused here";
    EXPECT_EQ(status, 0) << "without system call " << calls[0];
  }
}

TEST_F(FaultyTeam, TellsThatNoFileCanBeOpened) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers open files themselves, to see whether memory can be read";
#endif
  EXPECT_EQ(wait_for_child(fork_child([] {
              Team team({.processes = 2, .threads = 1});
              rlimit limit{};
              getrlimit(RLIMIT_NOFILE, &limit);
              const rlim_t before = std::exchange(limit.rlim_cur, 0);
              setrlimit(RLIMIT_NOFILE, &limit);
              try {
                team.map<std::string>(5, [](std::size_t) { return "x"; });
                return 1;
              } catch (const core::SystemError& error) {
                if (error.code() != EMFILE) return 2;
              }
              limit.rlim_cur = before;
              setrlimit(RLIMIT_NOFILE, &limit);
              return team.map<std::string>(5, [](std::size_t) { return "x"; }).size() == 5 ? 0 : 3;
            })),
            0);
}

TEST_F(FaultyTeam, RefusesResultsBeyondTheLimitOrTheMemory) {
  Team team({.processes = 2, .threads = 1, .most_result_bytes = 10'000});
  EXPECT_EQ(team.map<int>(2500, [](std::size_t) { return 1; }).size(), 2500u);
  EXPECT_THROW(team.map<int>(2501, [](std::size_t) { return 1; }), core::SystemError);
  try {
    team.map<std::string>(20, [](std::size_t) { return std::string(1000, 'x'); });
    FAIL() << "was taken";
  } catch (const core::SystemError& error) {
    EXPECT_EQ(error.code(), ENOMEM);
    EXPECT_TRUE(holds(error, "at most 10000 bytes are allowed")) << error.what();
  }
  using Large = std::array<char, 1 << 20>;
  Team usual({.processes = 2, .threads = 1});
  EXPECT_THROW(usual.map<Large>(std::size_t{1} << 40, [](std::size_t) { return Large{}; }),
               core::SystemError);
  EXPECT_THROW(usual.map<int>(static_cast<std::size_t>(-5), [](std::size_t) { return 0; }),
               core::UsageError);
}

// Calls work() with this much more address space than now. Returns 0 if it worked, 1 if it was told
// that there is no memory for results, 3 if a task got none; 2 for anything else, or if something
// was left behind.
int with_address_space(std::size_t more, const std::function<void()>& work) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto files = Leftovers::now().files;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
  setrlimit(RLIMIT_AS, &limit);
  int status = 0;
  try {
    work();
  } catch (const TaskError&) {
    status = 3;
  } catch (const core::SystemError& error) {
    status = error.code() == ENOMEM && holds(error, "result") ? 1 : 2;
  } catch (const std::exception&) {
    status = 2;
  }
  limit.rlim_cur = before;
  setrlimit(RLIMIT_AS, &limit);
  const Leftovers left = Leftovers::now();
  return left.children || left.files != files ? 2 : status;
}

// 0: told at least once, and worked at least once.
int tells_of_memory(const std::function<void()>& work) {
  // Nothing large is kept for the next.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  int told = 0, worked = 0;
  for (const std::size_t more : {12, 20, 28, 36, 44, 52, 60, 80, 200}) {
    const int status = with_address_space(more * core::kMiB, work);
    if (status == 2) return static_cast<int>(more);
    told += status == 1;
    worked += status == 0;
    work();
  }
  return told > 0 && worked > 0 ? 0 : 255;
}

TEST_F(FaultyTeam, TellsThatThereIsNoMemoryForResults) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the process where there is no memory";
#endif
  constexpr std::size_t kNumbers = 4 << 20;
  EXPECT_EQ(
      wait_for_child(fork_child([] {
        return tells_of_memory([] {
          Team({.processes = 2, .threads = 1}).map<int>(kNumbers, [](std::size_t) { return 1; });
        });
      })),
      0);
  EXPECT_EQ(wait_for_child(fork_child([] {
              return tells_of_memory([] {
                Team({.processes = 2, .threads = 1}).map<std::string>(32, [](std::size_t) {
                  return std::string(1 << 20, 'x');
                });
              });
            })),
            0);
  using Map = std::map<int, std::string>;
  EXPECT_EQ(wait_for_child(fork_child([] {
              return tells_of_memory([] {
                Team({.processes = 2, .threads = 1})
                    .map_reduce<Map>(
                        2,
                        [](std::size_t i) {
                          Map one;
                          one[static_cast<int>(i)] = std::string(24 << 20, 'x');
                          return one;
                        },
                        Map{},
                        [](Map a, Map b) {
                          a.merge(b);
                          return a;
                        });
              });
            })),
            0);
}

// A thread that does nothing until it is ended.
class Idle {
 public:
  Idle() : thread_([this] { ended_.wait(false); }) {}
  ~Idle() {
    ended_ = true;
    ended_.notify_one();
    thread_.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST_F(FaultyTeam, RefusesToForkWhileOtherThreadsRunAndNamesThem) {
  {
    const Idle idle;
    Team team({.processes = 2, .threads = 1});
    try {
      team.run([] {});
      FAIL() << "was done";
    } catch (const core::UsageError& error) {
      EXPECT_TRUE(holds(error, "other threads run")) << error.what();
      EXPECT_TRUE(holds(error, "allow_other_threads")) << error.what();
      EXPECT_TRUE(holds(error, "with OpenMP they would wait for ever")) << error.what();
    }
    Team allowed({.processes = 2, .threads = 2, .allow_other_threads = true});
    EXPECT_EQ(allowed.map<int>(9, [](std::size_t) { return 1; }), std::vector<int>(9, 1));
    Team threads({.processes = 1, .threads = 2});
    EXPECT_EQ(threads.map<int>(9, [](std::size_t) { return 1; }), std::vector<int>(9, 1));
  }
  Team team({.processes = 2, .threads = 1});
  EXPECT_NO_THROW(team.run([] {}));
}

TEST_F(FaultyTeam, CountsAndNamesTheThreadsThatForbidAFork) {
  std::atomic<bool> ended{false};
  std::atomic<int> named{0};
  std::vector<std::thread> threads;
  for (const char* const name : {"reader", "writer"}) {
    threads.emplace_back([&, name] {
      pthread_setname_np(pthread_self(), name);
      ++named;
      ended.wait(false);
    });
  }
  while (named < 2) usleep(100);
  std::string text;
  try {
    Team({.processes = 2, .threads = 1}).run([] {});
  } catch (const core::UsageError& error) {
    text = error.what();
  }
  ended = true;
  ended.notify_all();
  for (std::thread& thread : threads) thread.join();
  for (const char* const part : {"2 other threads run: ", " (reader)", " (writer)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST_F(FaultyTeam, WorksWithThreadsWhereAnAutomaticTeamMayNotFork) {
  const Idle idle;
  for (const std::size_t n : {2, 2000}) {
    Team team({.processes = 0, .threads = 1});  // which begins with a process
    EXPECT_EQ(team.map<int>(n, [](std::size_t) { return 1; }), std::vector<int>(n, 1));
    EXPECT_EQ(team.report().processes, 1);
    ASSERT_FALSE(team.report().remarks.empty());
    EXPECT_TRUE(team.report().remarks[0].starts_with("One process with threads"));
    EXPECT_NE(team.report().remarks[0].find("1 other thread runs"), std::string::npos);
  }
  EXPECT_THROW((Team({.processes = 2, .threads = 0}).map<int>(9, [](std::size_t) { return 1; })),
               core::UsageError);
}

TEST_F(FaultyTeam, DoesNotAskForOtherThreadsWhereNothingIsForked) {
  const Idle idle;
  Team team;
  EXPECT_EQ(team.map<int>(2, [](std::size_t) { return 1; }), std::vector<int>(2, 1));
  EXPECT_TRUE(team.report().remarks.empty()) << team.report().remarks[0];
}

void spin_ns(std::uint64_t ns) {
  for (const std::uint64_t begin = now_ns(); now_ns() - begin < ns;) {
  }
}

// So much work that a sample is taken, which forks.
TEST_F(FaultyTeam, WorksWithThreadsWhereTasksOfAnAutomaticTeamLeaveAThread) {
  constexpr std::size_t kTasks = 300;
  std::optional<Idle> idle;
  std::once_flag once;
  Team team;
  const auto results = team.map<int>(kTasks, [&](std::size_t) {
    std::call_once(once, [&] { idle.emplace(); });
    spin_ns(2'000'000);
    return 1;
  });
  EXPECT_EQ(results, std::vector<int>(kTasks, 1));
  EXPECT_EQ(team.report().processes, 1);
}

// Tasks of a millisecond or so: a sample is taken, and forks.
TEST_F(FaultyTeam, WorksWithThreadsWhereTheSystemRefusesAForkToAnAutomaticTeam) {
  const int status = wait_for_child(fork_child([] {
    Team team({.processes = 0, .threads = 1});  // which begins with a process
    if (!refuse_forks(EAGAIN)) return kNoFilters;
    return team.map<std::string>(200, [](std::size_t i) { return std::to_string(i); })[199] ==
                       "199" &&
                   team.report().remarks.at(0).starts_with("One process with threads")
               ? 0
               : 1;
  }));
  if (status == kNoFilters) GTEST_SKIP() << "no system call can be refused here";
  EXPECT_EQ(status, 0);
}

bool refuses_after_tasks(std::size_t task) {
  static bool done = false;
  if (task != 50 || done) return true;
  done = true;
  return refuse({SYS_clone}, EAGAIN);  // the C library starts threads by clone3
}

// The work has begun with threads of the caller, which keep what they have done.
TEST_F(FaultyTeam, DoesEachTaskOnceWhereForksAreRefusedAfterTheWorkHasBegun) {
  const int status = wait_for_child(fork_child([] {
    if (wait_for_child(fork_child([] { return refuse({}, 0) ? 0 : 1; })) != 0) return kNoFilters;
    constexpr std::size_t kTasks = 300;
    SharedValues<int> calls(kTasks);
    Team team;
    const auto sum = team.map_reduce<std::size_t>(
        kTasks,
        [&](std::size_t i) {
          ++calls[i];
          if (!refuses_after_tasks(i)) return kTasks * kTasks;
          spin_ns(2'000'000);
          return i;
        },
        0, std::plus<>());
    for (std::size_t i = 0; i < kTasks; ++i) {
      if (calls[i].load() != 1) return 1;
    }
    return sum == kTasks * (kTasks - 1) / 2 ? 0 : 2;
  }));
  if (status == kNoFilters) GTEST_SKIP() << "no system call can be refused here";
  EXPECT_EQ(status, 0);
}

TEST_F(FaultyTeam, RefusesToForkInAWorkerThatHasSiblings) {
  for (const int processes : {1, 2}) {
    SharedValues<int> there(2 * 2);
    Team team({.processes = processes, .threads = 2});
    try {
      team.run([&](const Worker& worker) {
        const auto first = static_cast<std::size_t>(2 * worker.process);
        there[first + static_cast<std::size_t>(worker.thread)] = 1;
        while (there[first].load() == 0 || there[first + 1].load() == 0) usleep(100);
        if (worker.thread == 1) Team({.processes = 2, .threads = 1}).run([] {});
      });
    } catch (const TaskError& error) {
      EXPECT_TRUE(holds(error, "other threads run")) << error.what();
      continue;
    }
    FAIL() << "was done";
  }
}

}  // namespace
}  // namespace tabane::team
