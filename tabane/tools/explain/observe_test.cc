#include "tabane/tools/explain/observe.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tabane::lab::explain {
namespace {

int sum_of(const Observed& seen, Doing doing) {
  int sum = 0;
  for (const ThreadSeen& thread : seen.threads) sum += thread(doing);
  return sum;
}

// What a line of the shell is seen to do.
Observed watched(const std::string& line, std::set<std::string>* files = nullptr) {
  Watch watch;
  EXPECT_TRUE(run_child(command_of_line(line)).ok());
  Observed seen;
  std::set<std::string> open;
  watch.finish(seen, files != nullptr ? *files : open);
  return seen;
}

TEST(Watch, SeesASleepAndWhoWaitsForIt) {
  const Observed seen = watched("sleep 0.3; true");
  ASSERT_EQ(seen.threads.size(), 2u);
  EXPECT_GT(seen.moments.size(), 1u);
  EXPECT_GT(sum_of(seen, Doing::sleep), 0);
  EXPECT_GT(sum_of(seen, Doing::child), 0);
  EXPECT_EQ(sum_of(seen, Doing::lock), 0);
  EXPECT_TRUE(std::ranges::any_of(seen.threads,
                                  [](const ThreadSeen& each) { return each.name == "sleep"; }));
}

TEST(Watch, SeesAPipeWaitForItsOtherEnd) {
  const Observed seen = watched("sleep 0.3 | cat");
  EXPECT_GT(sum_of(seen, Doing::pipe), 0);
  int cats = 0;
  for (const ThreadSeen& thread : seen.threads)
    if (thread.name == "cat") cats += thread(Doing::pipe);
  EXPECT_EQ(cats, sum_of(seen, Doing::pipe));
}

TEST(Watch, SeesAThreadThatRunsAlone) {
  const Observed seen = watched("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  ASSERT_EQ(seen.threads.size(), 1u);
  const ThreadSeen& thread = seen.threads.front();
  EXPECT_GT(thread.cpu_seconds, 0);
  EXPECT_GT(thread(Doing::running) + thread(Doing::runnable), 0);
  EXPECT_LE(thread.alone, thread(Doing::running));
  EXPECT_GT(thread.alone, 0);
}

TEST(Watch, FindsFilesThatAreOpen) {
  const std::string file = testing::TempDir() + "read_by_a_command";
  ASSERT_TRUE(run_child(command_of_line("echo > " + file)).ok());
  std::set<std::string> files;
  watched("exec 5< " + file + "; sleep 0.3", &files);
  EXPECT_TRUE(files.contains(file));
}

TEST(Around, CountsWhatTheCommandPassesOn) {
  const Around around;
  const ChildRun run = run_child(command_of_line("head -c 3000000 /dev/zero | wc -c"));
  const Observed seen = around.observed(run);
  EXPECT_EQ(seen.seconds.size(), 1u);
  EXPECT_GT(seen.passed_bytes.value_or(1e9), 6e6);
  EXPECT_LE(seen.stolen.value_or(0), 1);
}

TEST(Medians, AreOfWhatIsKnown) {
  const Observed all = median_of({{.seconds = {1}, .user = 1, .stolen = 0.5, .counts = {{"a", 1}}},
                                  {.seconds = {2}, .user = 3, .counts = {{"a", 3}}},
                                  {.seconds = {5}, .user = 2, .moments = {{}}}});
  EXPECT_EQ(all.seconds, (std::vector<double>{1, 2, 5}));
  EXPECT_EQ(all.user, 2);
  EXPECT_EQ(all.stolen, 0.5);
  EXPECT_EQ(all.read_bytes, std::nullopt);
  ASSERT_EQ(all.counts.size(), 1u);
  EXPECT_EQ(all.counts[0].second, 2);
  EXPECT_EQ(all.moments.size(), 1u);
}

}  // namespace
}  // namespace tabane::lab::explain
