#include "tabane/tools/tune/tune_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tabane/core/error.h"
#include "tabane/program/args.h"

namespace tabane::program {
namespace {

using Variables = std::map<std::string, std::string>;

TunePlan plan(TuneRequest request, const Variables& set = {},
              const char* machine = "pack:2 numa:1 core:4 pu:2") {
  return TunePlan(std::move(request), core::Topology::synthetic(machine),
                  [set](const std::string& name) -> std::optional<std::string> {
                    const auto found = set.find(name);
                    return found == set.end() ? std::nullopt : std::optional(found->second);
                  });
}

std::string refusal(const TuneRequest& request) {
  try {
    plan(request);
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> names(const TunePlan& made) {
  std::vector<std::string> all;
  for (const auto& dimension : made.space().dimensions()) all.push_back(dimension.name);
  return all;
}

// The candidate with these levels, as text, and all others as started.
CommandSetting setting(const TunePlan& made, const Variables& levels) {
  lab::tune::Candidate candidate;
  for (const auto& dimension : made.space().dimensions()) {
    const auto wanted = levels.find(dimension.name);
    std::size_t level = 0;
    while (wanted != levels.end() && level + 1 < dimension.levels.size() &&
           dimension.levels[level].text() != wanted->second)
      ++level;
    candidate.push_back(static_cast<int>(level));
  }
  return made.setting(candidate);
}

// Whether another allocator is installed differs from machine to machine; how it is said does not.
TEST(TunePlan, SaysWhatIsNotInstalledOnlyWhereItIsWanted) {
  const TunePlan all = plan({.command = {"./work"}});
  for (const auto& [what, why] : all.left_out())
    EXPECT_EQ(why.find("--malloc"), std::string::npos) << why;
  const TunePlan threads = plan({.command = {"./work"}, .only = {"threads"}});
  for (const auto& [what, why] : threads.left_out()) EXPECT_NE(what, "other allocators") << why;
}

TEST(TunePlan, VariesTheThreadsOfTheEnvironment) {
  const TunePlan made = plan({.command = {"./work"}, .only = {"threads"}});
  EXPECT_EQ(names(made), (std::vector<std::string>{"threads"}));
  const auto first = made.commands(made.setting(made.space().candidates()[0]));
  EXPECT_TRUE(first.at(0).environment.empty());  // as started: nothing is changed
  const auto four = made.commands(setting(made, {{"threads", "4"}}));
  const auto& set = four.at(0).environment;
  EXPECT_NE(std::find(set.begin(), set.end(),
                      std::pair<std::string, std::string>("OMP_NUM_THREADS", "4")),
            set.end());
  EXPECT_NE(std::find(set.begin(), set.end(),
                      std::pair<std::string, std::string>("RAYON_NUM_THREADS", "4")),
            set.end());
}

TEST(TunePlan, ReplacesTheThreadsThatTheUserHasSet) {
  const TunePlan made =
      plan({.command = {"./work"}, .only = {"threads"}}, {{"OMP_NUM_THREADS", "2"}});
  EXPECT_EQ(made.space().dimensions()[0].amounts[0], 2);
  const auto command = made.commands(setting(made, {{"threads", "8"}})).at(0);
  EXPECT_EQ(command.environment.at(0).second, "8");
}

TEST(TunePlan, FillsPlaceholdersAlsoOfTheCommandAsStarted) {
  const TunePlan made = plan({.command = {"xz", "-T{threads}", "{block}k"},
                              .vary = {"block=64,128"},
                              .start = {"threads=1"},
                              .only = {"threads", "block"}});
  EXPECT_EQ(made.line(made.setting(made.space().candidates()[0])), "xz -T1 64k");
  EXPECT_EQ(made.line(setting(made, {{"threads", "8"}, {"block", "128"}})), "xz -T8 128k");
}

TEST(TunePlan, StartsWhatThePrintedLinesSay) {
  const TunePlan made = plan({.command = {"./work"}, .only = {"threads"}});
  const CommandSetting eight = setting(made, {{"threads", "8"}});
  EXPECT_TRUE(made.has_bare_equal(eight));
  const auto bare = made.as_printed(eight, true).arguments;
  EXPECT_EQ(shell_line(bare), made.bare_line(eight));
  auto with = made.as_printed(eight, false).arguments;
  with.front() = "tabane";  // this program, by its path
  EXPECT_EQ(shell_line(with), made.line(eight));
}

TEST(TunePlan, GivesEachShardItsPartOfTheMachine) {
  const TunePlan made = plan({.command = {"./work", "{index}", "{processes}"},
                              .shards = true,
                              .only = {"processes", "threads", "placement"}});
  const CommandSetting two =
      setting(made, {{"processes", "2"}, {"threads", "4"}, {"placement", "numa"}});
  const auto commands = made.commands(two);
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[1].arguments, (std::vector<std::string>{"./work", "1", "2"}));
  EXPECT_NE(commands[0].cpus, commands[1].cpus);
  EXPECT_FALSE(commands[0].cpus.empty());
  const std::string line = made.line(two);
  EXPECT_NE(line.find("--part"), std::string::npos) << line;
  EXPECT_NE(made.slurm_script(two).find("#SBATCH --ntasks=2"), std::string::npos);
}

TEST(TunePlan, PutsItselfBetweenLauncherAndCommand) {
  const TunePlan made = plan({.command = {"./work"}, .launcher = "mpirun -n {processes}"});
  EXPECT_EQ(made.line(made.setting(made.space().candidates()[0])), "mpirun -n 1 ./work");
  const std::string line =
      made.line(setting(made, {{"processes", "4"}, {"threads", "2"}, {"placement", "compact"}}));
  EXPECT_EQ(line,
            "env OMPI_MCA_hwloc_base_binding_policy=none "
            "PRTE_MCA_hwloc_default_binding_policy=none mpirun -n 4 tabane run -q --part launcher "
            "--placement compact -t 2 --force-env -- ./work");
}

TEST(TunePlan, NeverUsesMoreWorkersThanPus) {
  const TunePlan made = plan({.command = {"./work"}, .shards = true});
  for (const auto& candidate : made.space().candidates())
    EXPECT_LE(made.space().workers(candidate), 16);  // also as started: one process, all PUs
}

TEST(TunePlan, RefusesWhatCannotBeMeant) {
  EXPECT_NE(refusal({.command = {"a", "{block}"}}).find("--vary block="), std::string::npos);
  EXPECT_NE(refusal({.command = {"a", "{index}"}}).find("--shards"), std::string::npos);
  EXPECT_NE(refusal({.command = {"a"}, .vary = {"block=1,2"}}), "");
  EXPECT_NE(refusal({.command = {"a"}, .launcher = "mpirun"}).find("{processes}"),
            std::string::npos);
  EXPECT_NE(refusal({.command = {"a"}, .launcher = "m {processes}", .shards = true}), "");
  EXPECT_NE(refusal({.command = {"a"}, .only = {"colour"}}).find("colour"), std::string::npos);
  EXPECT_NE(refusal({.command = {"a"}, .only = {"processes"}}).find("nothing to vary"),
            std::string::npos);
  EXPECT_NE(refusal({.command = {"a"}, .start = {"threads=0"}}), "");
}

TEST(CommandSetting, IsReadAsItWasWritten) {
  const TunePlan made = plan({.command = {"a", "{b}"}, .shards = true, .vary = {"b=x y,z"}});
  for (const auto& candidate : made.space().candidates()) {
    const CommandSetting one = made.setting(candidate);
    const CommandSetting read = setting_from_json(to_json(one));
    EXPECT_EQ(made.line(one), made.line(read));
    EXPECT_EQ(made.bare_line(one), made.bare_line(read));
  }
  EXPECT_THROW(setting_from_json(lab::Json::object()), core::UsageError);
}

TEST(Vary, IsAListOrARange) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(parse_vary("a=1,x").second, (Texts{"1", "x"}));
  EXPECT_EQ(parse_vary("a=1..4").second, (Texts{"1", "2", "3", "4"}));
  EXPECT_EQ(parse_vary("a=0..1:0.5").second, (Texts{"0", "0.5", "1"}));
  EXPECT_EQ(parse_vary("a=0.1..0.3:0.1").second, (Texts{"0.1", "0.2", "0.3"}));
  EXPECT_EQ(parse_vary("a=1234567..1234568").second, (Texts{"1234567", "1234568"}));
  EXPECT_EQ(parse_vary("a=9007199254740991..9007199254740992").second,
            (Texts{"9007199254740991", "9007199254740992"}));
  for (const char* names : {"../a,../b.csv", "1..2,../b"})
    EXPECT_EQ(parse_vary(std::string("f=") + names).second.size(), 2u) << names;
  EXPECT_EQ(parse_vary("f=../a").second, Texts{"../a"});
  for (const char* bad : {"a", "a=", "=1", "a=4..1", "a=1..x", "a=1..2:0"})
    EXPECT_THROW(parse_vary(bad), core::UsageError) << bad;
}

TEST(ShellLine, IsReadByAShellAsItIs) {
  EXPECT_EQ(shell_line({"a", "b c", "", "it's", "$x"}), "a 'b c' '' 'it'\\''s' '$x'");
}

}  // namespace
}  // namespace tabane::program
