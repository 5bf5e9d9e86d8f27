#include "tabane/lab/commands/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/lab/campaign/campaign.h"

namespace tabane::lab {
namespace {

ChildCommand kept(const std::string& line) {
  ChildCommand command = command_of_line(line);
  command.output = OutputTo::kept;
  return command;
}

bool exists(const std::string& pid) { return kill(std::stoi(pid), 0) == 0; }

TEST(Child, TellsHowItEnded) {
  EXPECT_TRUE(run_child(command_of_line("true", "")).ok());
  const ChildRun failed = run_child(command_of_line("echo why >&2; exit 3"));
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.errors, "why\n");
  EXPECT_EQ(how_it_ended(failed), "exit code 3");
  const ChildRun killed = run_child(command_of_line("kill -TERM $$"));
  EXPECT_EQ(killed.signal, SIGTERM);
  EXPECT_EQ(how_it_ended(killed), "ended by signal 15 (Terminated)");
}

// A counter that every Linux has, in the place of the processor's. What others do is not counted.
TEST(Child, IsCountedAlone) {
  core::Counters counters(
      core::Counted::programs, [](const core::CounterEvent& event, core::Counted what) {
        return core::open_counter({event.name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}, what);
      });
  if (counters.names().empty()) GTEST_SKIP() << "this system forbids counters";
  // Also what a shell starts; but not what ran before, which takes far longer.
  run_child(command_of_line("seq 1 30000000"));
  const ChildRun run = run_child(command_of_line("seq 1 3000000; true"), {.counters = &counters});
  ASSERT_GE(run.counts.size(), 4u);
  const double seconds = run.counts[0].second * 1e-9;
  EXPECT_GT(seconds, 0.3 * (run.user_seconds + run.system_seconds));
  EXPECT_LT(seconds, 2 * (run.user_seconds + run.system_seconds) + 0.01);
  EXPECT_TRUE(run_child(command_of_line("true")).counts.empty());
}

TEST(Child, ThatCannotBeStartedIsASystemError) {
  for (const char* name : {"no-such-program-here", "/nonexistent/program"}) {
    try {
      run_child({.arguments = {name}});
      ADD_FAILURE() << name;
    } catch (const core::SystemError& error) {
      EXPECT_EQ(error.code(), ENOENT);
      EXPECT_EQ(error.what(), "cannot start " + std::string(name) + ": No such file or directory");
    }
  }
  EXPECT_THROW(run_child({.arguments = {"true"}, .input = "/nonexistent"}), core::SystemError);
}

TEST(Child, WorksInItsFolder) {
  const core::ScratchFolder folder("tabane-child");
  ChildCommand command = kept("pwd -P");
  command.folder = folder.path().string();
  EXPECT_EQ(run_child(command).output, std::filesystem::canonical(folder.path()).string() + "\n");
  command.folder += "/missing";
  EXPECT_THROW(run_child(command), core::SystemError);
}

TEST(Child, OutputIsReadAlsoWhereNothingIsKept) {
  const ChildRun run = run_child(kept("head -c 3000000 /dev/zero; echo why >&2"),
                                 {.timeout_seconds = 60, .most_kept_bytes = 0});
  EXPECT_TRUE(run.ok()) << how_it_ended(run);  // it would wait for its output to be read
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(run.output_hash, "");
  EXPECT_EQ(run.errors, "why\n");
}

TEST(Child, ThatIsAskedToEndIsTimedToItsLimit) {
  core::Clock& clock = core::tick_clock();
  const double start = clock.now();
  const ChildRun run = run_child(command_of_line("trap : TERM; while :; do sleep 0.05; done"),
                                 {.timeout_seconds = 0.2});
  EXPECT_TRUE(run.timed_out);
  EXPECT_LT(run.seconds, clock.now() - start - 0.9);  // without the second that it was given to end
}

TEST(Child, HasItsArgumentsEnvironmentInputAndPlaces) {
  ChildCommand words{.arguments = {"printf", "%s|", "a b", "", "*"}, .output = OutputTo::kept};
  EXPECT_EQ(run_child(words).output, "a b||*|");
  ChildCommand variables = kept("echo $FIRST $HOME");
  variables.environment = {{"FIRST", "one"}, {"HOME", "elsewhere"}};
  EXPECT_EQ(run_child(variables).output, "one elsewhere\n");
  const core::ScratchFolder folder("tabane-child-test");
  core::write_file(folder.path() / "in", "text");
  ChildCommand reads = kept("cat");
  EXPECT_EQ(run_child(reads).output, "");  // /dev/null
  reads.input = folder.path() / "in";
  EXPECT_EQ(run_child(reads).output, "text");
  const auto here = core::thread_binding();
  ChildCommand bound = kept("grep Cpus_allowed_list /proc/self/status");
  bound.cpus = {here.back()};
  EXPECT_EQ(run_child(bound).output, "Cpus_allowed_list:\t" + std::to_string(here.back()) + "\n");
  EXPECT_EQ(core::thread_binding(), here);
}

TEST(Child, OutputGoesWhereItShould) {
  const core::ScratchFolder folder("tabane-child-test");
  ChildCommand writes = command_of_line("echo text");
  writes.output = OutputTo::file;
  writes.output_file = folder.path() / "out";
  EXPECT_EQ(run_child(writes).output, "");
  EXPECT_EQ(core::read_file(folder.path() / "out"), "text\n");
  const ChildRun run = run_child(kept("printf abc"));
  // As xxhsum -H2 says.
  EXPECT_EQ(run.output_hash, "06b05ab6733a618578af5f94892f3950");
}

TEST(Child, OfMuchOutputKeepsTheEndAndTheHashOfAll) {
  ChildCommand much = kept("yes | head -c 1000000; echo end");
  const ChildRun run = run_child(much, {.most_kept_bytes = 10});
  EXPECT_EQ(run.output, "y\ny\ny\nend\n");
  EXPECT_EQ(run.output_hash, run_child(much).output_hash);
  EXPECT_EQ(run_child(much).output.size(), 1000004u);
}

TEST(Child, TimesItselfAndCountsWhatItUsed) {
  const ChildRun sleeps = run_child(command_of_line("sleep 0.05", ""));
  EXPECT_GE(sleeps.seconds, 0.05);
  EXPECT_LT(sleeps.user_seconds + sleeps.system_seconds, sleeps.seconds);
  EXPECT_GT(sleeps.minor_faults, 0);
  EXPECT_GT(sleeps.voluntary_switches, 0);
  const ChildRun works =
      run_child(command_of_line("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"));
  EXPECT_GT(works.user_seconds + works.system_seconds, 0);
}

TEST(Child, ThatHoldsMoreThanThisProcessTellsItsPeak) {
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  const auto bytes = 2 * 1024 * static_cast<std::uint64_t>(own.ru_maxrss) + (64 << 20);
  const ChildRun holds = run_child({.arguments = {"dd", "if=/dev/zero", "of=/dev/null",
                                                  "bs=" + std::to_string(bytes), "count=1"}});
  ASSERT_TRUE(holds.ok()) << holds.errors;
  ASSERT_TRUE(holds.peak_bytes);
  EXPECT_GT(*holds.peak_bytes, static_cast<double>(bytes));
}

TEST(Child, ThatIsSmallTellsItsPeakIfAsked) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitized process holds more than any small command";
#endif
  // This process holds more, from a file, as it holds its libraries.
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  const auto bytes = 1024 * static_cast<std::size_t>(own.ru_maxrss);
  const core::ScratchFolder folder("tabane-child-test");
  core::write_file(folder.path() / "held", std::string(3 * bytes, 'x'));
  const core::Descriptor file(open((folder.path() / "held").c_str(), O_RDONLY | O_CLOEXEC));
  void* held = mmap(nullptr, 3 * bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  ASSERT_NE(held, MAP_FAILED);
  const auto holds = [](std::size_t size) {
    return ChildCommand{.arguments = {"dd", "if=/dev/zero", "of=/dev/null",
                                      "bs=" + std::to_string(size), "count=1"}};
  };
  // A thread has not looked yet at what this process holds.
  std::thread([&] { EXPECT_FALSE(run_child(holds(bytes)).peak_bytes); }).join();
  const ChildRun first = run_child(holds(bytes), {.small_peaks = true});
  const ChildRun second = run_child(holds(bytes + (4 << 20)), {.small_peaks = true});
  munmap(held, 3 * bytes);
  ASSERT_TRUE(first.ok() && second.ok()) << first.errors << second.errors;
  ASSERT_TRUE(first.peak_bytes && second.peak_bytes);
  EXPECT_GT(*first.peak_bytes, static_cast<double>(bytes));
  EXPECT_NEAR(*second.peak_bytes - *first.peak_bytes, 4 << 20, 1 << 20);
  EXPECT_THROW(run_child({.arguments = {"/nonexistent/command"}}, {.small_peaks = true}),
               core::SystemError);
}

TEST(Child, IsEndedAfterItsTime) {
  const ChildRun run = run_child(command_of_line("sleep 60", ""), {.timeout_seconds = 0.05});
  EXPECT_TRUE(run.timed_out);
  EXPECT_FALSE(run.ok());
  EXPECT_LT(run.seconds, 30);
  // What does not end when asked is ended all the same.
  const ChildRun stubborn = run_child(command_of_line("trap '' TERM; while :; do sleep 1; done"),
                                      {.timeout_seconds = 0.05});
  EXPECT_TRUE(stubborn.timed_out);
}

TEST(Child, ThatWritesWithoutEndIsEndedAfterItsTime) {
  ChildCommand endless{.arguments = {"yes"}, .output = OutputTo::kept};
  EXPECT_TRUE(run_child(endless, {.timeout_seconds = 0.1, .most_kept_bytes = 100}).timed_out);
}

TEST(Child, LeavesNothingBehind) {
  const ChildRun run = run_child(kept("sleep 60 & echo $!"));
  EXPECT_TRUE(run.ok());
  EXPECT_TRUE(run.left_processes);
  EXPECT_FALSE(exists(run.output));
  const ChildRun daemon = run_child(kept("setsid sleep 60 & echo $!; sleep 0.2"));
  EXPECT_TRUE(daemon.left_processes);
  EXPECT_FALSE(exists(daemon.output));
  EXPECT_FALSE(run_child(command_of_line("true & wait")).left_processes);
}

TEST(Child, HasNoTerminalToWaitFor) {
  EXPECT_FALSE(run_child(command_of_line("read line < /dev/tty")).ok());
}

TEST(Child, IsEndedWhenTheUserStops) {
  EXPECT_THROW(run_child(command_of_line("sleep 60"), {.stop_requested = [] { return true; }}),
               Stopped);
}

TEST(Children, RunAtOnceAndAreOneRun) {
  const std::vector<ChildCommand> both = {kept("echo a; sleep 0.1"), kept("echo b; sleep 0.1")};
  const ChildRun run = run_children(both);
  EXPECT_TRUE(run.ok());
  EXPECT_EQ(run.output, "a\nb\n");
  EXPECT_EQ(run.output_hash, run_children(both).output_hash);
}

TEST(Children, EndTogetherIfOneFails) {
  const std::vector<ChildCommand> both = {command_of_line("sleep 60"), command_of_line("exit 7")};
  const ChildRun run = run_children(both);
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_FALSE(run.timed_out);
  EXPECT_LT(run.seconds, 30);
}

}  // namespace
}  // namespace tabane::lab
