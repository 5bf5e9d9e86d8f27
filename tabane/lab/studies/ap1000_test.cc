#include "tabane/lab/studies/ap1000.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/lab/studies/ap1000_data.h"

namespace tabane::lab {
namespace {

const core::Topology& machine() {
  static const core::Topology topology = core::Topology::detect();
  return topology;
}

Ap1000Options tiny() {
  return {.quick = true,
          .transport = comm::TransportKind::shm,
          .most_ranks = 2,
          .budget_seconds = 0.2,
          .most_seconds = 100};  // for sanitizers
}

TEST(RankRounds, GivesEachWorkloadAsManySamplesOnRankZero) {
  const std::vector<RankWorkload> workloads = {
      [](comm::Grid& grid) -> RankWork {
        return [&grid](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) comm::barrier(grid.all());
        };
      },
      [](comm::Grid&) { return RankWork(); },  // cannot be had
      [](comm::Grid&) -> RankWork { return [](std::uint64_t) {}; }};
  const std::function<RankSamples(comm::Comm&)> rank = [&](comm::Comm& ranks) {
    comm::Grid grid(ranks);
    RankSamples samples = measure_rounds(
        grid, workloads,
        {.epoch_seconds = 1e-6, .budget_seconds = 0, .fewest_rounds = 5, .most_rounds = 9});
    if (ranks.rank() != 0 && !samples.empty()) throw core::Error("samples elsewhere");
    return samples;
  };
  const RankSamples samples =
      *comm::launch_result<RankSamples>({.ranks = 3, .transport = comm::TransportKind::shm}, rank);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].size(), 5u);
  EXPECT_TRUE(samples[1].empty());
  EXPECT_EQ(samples[2].size(), 5u);
  for (const double seconds : samples[0]) EXPECT_GT(seconds, 0);
}

TEST(RankRounds, BeginsNothingWhenTheTimeIsOver) {
  std::vector<RankWorkload> workloads(3,
                                      [](comm::Grid&) -> RankWork { return [](std::uint64_t) {}; });
  const std::function<RankSamples(comm::Comm&)> rank = [&](comm::Comm& ranks) {
    comm::Grid grid(ranks);
    return measure_rounds(grid, workloads, {.epoch_seconds = 1e-6, .most_seconds = 0});
  };
  const RankSamples samples =
      *comm::launch_result<RankSamples>({.ranks = 2, .transport = comm::TransportKind::shm}, rank);
  EXPECT_EQ(samples, RankSamples(3));
}

TEST(Ap1000, SaysWhatItHadNoTimeFor) {
  Ap1000Options options = tiny();
  options.most_seconds = 1e-9;
  const Study study = *run_ap1000(machine(), options);
  EXPECT_TRUE(study.record.complete);
  EXPECT_TRUE(study.record.results.empty());
  EXPECT_TRUE(study.tables.empty());
  ASSERT_EQ(study.record.skipped.size(), 1u);
  EXPECT_NE(study.record.skipped[0].reason.find("fewer ranks"), std::string::npos);
}

TEST(Ap1000, TwoRanksGiveEveryTable) {
  const Study study = *run_ap1000(machine(), tiny());
  EXPECT_TRUE(study.record.complete);
  EXPECT_TRUE(study.record.skipped.empty());
  EXPECT_EQ(study.tables.size(), 7u);
  for (const StudyTable& table : study.tables) {
    EXPECT_GT(table.rows.size(), 1u) << table.title;
    EXPECT_FALSE(table.remark.empty()) << table.title;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.rows[0].size()) << table.title;
  }
  const Result* recv = study.record.find("ap1000.pingpong.recv.r2.b8");
  ASSERT_NE(recv, nullptr);
  EXPECT_GE(recv->samples.size(), 2u);
  EXPECT_GT(*recv->value, 0);
  EXPECT_NE(study.record.find("ap1000.fit.view.1.t0"), nullptr);
  EXPECT_EQ(to_json(study)["name"], "ap1000");
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Ap1000, KeepsWhatItHasWhenStopped) {
  int asked = 0;
  SurveyHooks hooks;
  hooks.stop_requested = [&] { return ++asked > 1; };
  const Study study = *run_ap1000(machine(), tiny(), hooks);
  EXPECT_FALSE(study.record.complete);
  EXPECT_NE(study.record.find("ap1000.pingpong.recv.r2.b8"), nullptr);
  EXPECT_EQ(study.record.find("ap1000.barrier.flags.r2"), nullptr);
}

volatile std::sig_atomic_t interrupted = 0;
void note_interrupt(int) { interrupted = 1; }

TEST(Ap1000, CtrlCDoesNotKillTheRanks) {
  interrupted = 0;
  const auto before = std::signal(SIGINT, note_interrupt);
  const pid_t group = getpgid(0);
  setpgid(0, 0);  // the terminal's others are not meant
  SurveyHooks hooks;
  hooks.stop_requested = [] { return interrupted != 0; };
  pid_t killer = 0;
  hooks.progress = [&](const std::string&, double done, double) {
    if (done > 0 || killer != 0) return;
    killer = fork();
    if (killer != 0) return;
    signal(SIGINT, SIG_IGN);
    usleep(30'000);
    kill(0, SIGINT);
    _exit(0);
  };
  const Study study = *run_ap1000(machine(), tiny(), hooks);
  EXPECT_EQ(waitpid(killer, nullptr, 0), killer);
  setpgid(0, group);
  std::signal(SIGINT, before);
  EXPECT_FALSE(study.record.complete);
  EXPECT_NE(study.record.find("ap1000.pingpong.recv.r2.b8"), nullptr);
}

TEST(Ap1000, CalibrationGivesRulesThatCanBeRead) {
  const Ap1000Calibration calibration = *calibrate_ap1000(machine(), tiny());
  const auto rules = comm::ChoiceTable::parse(calibration.choice, "calibration").rules();
  bool barrier = false, all_to_all = false;
  for (const comm::Rule& rule : rules) {
    barrier |= rule.kind == comm::Kind::barrier;
    all_to_all |= rule.kind == comm::Kind::all_to_all;
  }
  EXPECT_TRUE(barrier && all_to_all) << calibration.choice;
  ASSERT_EQ(calibration.study.tables.size(), 1u);

  const auto file = std::filesystem::path(testing::TempDir()) / "ap1000_choice_of_test.txt";
  std::ofstream(file) << calibration.choice;
  const auto sum = comm::launch_result<double>(
      {.ranks = 2, .transport = comm::TransportKind::shm, .choice_file = file.string()},
      [](comm::Comm& ranks) {
        return comm::all_reduce(ranks, 1.0 + ranks.rank(), comm::Operation::sum);
      });
  std::filesystem::remove(file);
  EXPECT_EQ(sum, 3.0);
  EXPECT_NE(calibration.study.tables[0].remark.find("keep what is built in"), std::string::npos);
}

TEST(Ap1000, RefusesWhatCannotBe) {
  Ap1000Options options = tiny();
  options.most_ranks = 1;
  EXPECT_THROW(run_ap1000(machine(), options), core::UsageError);
  options.most_ranks = 5000;
  EXPECT_THROW(run_ap1000(machine(), options), core::UsageError);
  EXPECT_THROW(run_ap1000(core::Topology::synthetic("core:4 pu:1"), tiny()), core::UsageError);
}

}  // namespace
}  // namespace tabane::lab
