#include "tabane/tools/explain/observe.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "tabane/lab/commands/child.h"

namespace tabane::lab::explain {
namespace {

int sum_of(const Observed& seen, Doing doing) {
  int sum = 0;
  for (const ThreadSeen& thread : seen.threads) sum += thread.looks(doing);
  return sum;
}

constexpr int kLooks = 20;

// From which commands read a line once they have been looked at often enough.
struct Pipe {
  Pipe() {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    end.open(path, std::ios::in | std::ios::out);  // does not wait for a reader
  }
  ~Pipe() { std::filesystem::remove(path); }
  const std::string path = testing::TempDir() + "go" + std::to_string(getpid());
  std::fstream end;
};

// What a line of the shell is seen to do, which ends when it can read from the pipe.
Observed& watched(const std::string& line, Pipe& go, Observed* seen,
                  std::set<std::string>* files = nullptr) {
  Watch watch;
  std::jthread other([&](const std::stop_token& ended) {
    while (watch.looks() < kLooks && !ended.stop_requested())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    go.end << "\n" << std::flush;
  });
  EXPECT_TRUE(run_child(command_of_line(line)).ok());
  other.request_stop();
  std::set<std::string> open;
  watch.finish(*seen, files != nullptr ? *files : open);
  return *seen;
}

// Whether the system tells in which function of its own a thread waits.
bool tells_waits() {
  ChildCommand command = command_of_line("(sleep 0.05; cat /proc/$$/wchan); true");
  command.output = OutputTo::kept;
  const std::string function = run_child(command).output;
  return !function.empty() && function != "0";
}

TEST(Watch, SeesASleepAndWhoWaitsForIt) {
  if (!tells_waits()) GTEST_SKIP() << "the system does not tell what threads wait for";
  Pipe go;
  Observed seen;
  watched("sleep 99 & (read x < " + go.path + "; kill $!); true", go, &seen);
  EXPECT_GE(std::ssize(seen.moments), kLooks);
  EXPECT_GT(sum_of(seen, Doing::sleep), 0);
  EXPECT_GT(sum_of(seen, Doing::child), 0);
  EXPECT_EQ(sum_of(seen, Doing::lock), 0);
  EXPECT_TRUE(std::ranges::any_of(seen.threads,
                                  [](const ThreadSeen& each) { return each.name == "sleep"; }));
}

TEST(Watch, SeesAPipeWaitForItsOtherEnd) {
  if (!tells_waits()) GTEST_SKIP() << "the system does not tell what threads wait for";
  Pipe go;
  Observed seen;
  watched("(read x < " + go.path + "; true) | cat", go, &seen);
  int cats = 0;
  for (const ThreadSeen& thread : seen.threads)
    if (thread.name == "cat") cats += thread.looks(Doing::pipe);
  EXPECT_GT(cats, 0);
}

TEST(Watch, SeesAThreadThatRunsAlone) {
  Pipe go;
  Observed seen;
  const std::string file = go.path + ".run";
  std::ofstream(file).close();
  watched("(read x < " + go.path + "; rm " + file + ") & while [ -e " + file + " ]; do :; done", go,
          &seen);
  const auto most = std::ranges::max_element(seen.threads, {}, &ThreadSeen::cpu_seconds);
  ASSERT_NE(most, seen.threads.end());
  EXPECT_GT(most->looks(Doing::running) + most->looks(Doing::runnable), kLooks / 2);
  EXPECT_LE(most->alone, most->looks(Doing::running));
  EXPECT_GT(most->alone, 0);
}

TEST(Watch, FindsFilesThatAreOpen) {
  Pipe go;
  Observed seen;
  const std::string file = go.path + ".read";
  std::ofstream(file).close();
  std::set<std::string> files;
  watched("exec 5< " + file + "; read x < " + go.path, go, &seen, &files);
  EXPECT_TRUE(files.contains(file));
  std::filesystem::remove(file);
}

TEST(Watch, TakesThreadsOfSeveralRunsForTheSame) {
  Pipe go;
  Observed seen;
  const std::size_t once = watched("exec head -n 1 < " + go.path, go, &seen).moments.size();
  const double last = seen.moments.back().seconds;
  watched("exec head -n 1 < " + go.path, go, &seen);
  EXPECT_GE(seen.moments.size(), once + kLooks);
  EXPECT_GT(seen.moments[once].seconds, last);
  int heads = 0, looks = 0;
  for (const ThreadSeen& thread : seen.threads) {
    looks += thread.looks.all();
    heads += thread.name == "head" ? 1 : 0;
  }
  EXPECT_EQ(heads, 1);
  EXPECT_GE(looks, 2 * kLooks);
}

}  // namespace
}  // namespace tabane::lab::explain
