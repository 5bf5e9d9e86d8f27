#include "tabane/studies/ap1000/ap1000.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/study/views_test.h"

namespace tabane::lab {
namespace {

const core::Topology& machine() {
  static const core::Topology topology = core::Topology::detect();
  return topology;
}

Ap1000Options tiny() {
  return {.quick = true,
          .ranks = {comm::TransportKind::shm, 2},
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
    RankSamples samples =
        measure_rounds(grid, workloads, {.fewest = 5, .most = 9, .budget_seconds = 0}, 1e-6);
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
    return measure_rounds(grid, workloads, {.most_seconds = 0}, 1e-6);
  };
  const RankSamples samples =
      *comm::launch_result<RankSamples>({.ranks = 2, .transport = comm::TransportKind::shm}, rank);
  EXPECT_EQ(samples, RankSamples(3));
}

TEST(Ap1000, SaysWhatItHadNoTimeFor) {
  Ap1000Options options = tiny();
  options.most_seconds = 1e-9;
  const Record record = *run_ap1000(machine(), options);
  EXPECT_TRUE(record.complete);
  EXPECT_TRUE(record.results.empty());
  EXPECT_TRUE(record.views.empty());
  ASSERT_EQ(record.skipped.size(), 1u);
  EXPECT_NE(record.skipped[0].reason.find("fewer ranks"), std::string::npos);
}

// The study knows nothing of the machine's laws: it measures, and finds the report's formulas.
TEST(Ap1000, FindsTheReportsFormulasOnASimulatedAp1000) {
  const Record record = *run_ap1000(machine(), {.ranks = {.machine = "ap1000:16x16"}});
  const Record& report = published("ap1000");
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(record.machine["name"], "ap1000:16x16");
  std::size_t formulas = 0;
  for (const char* const title : {"Broadcast along", "Gather to"}) {
    for (const std::vector<Entry>& row : table(record, title).rows) {
      const std::string &way = row[2].text, &here = row[row.size() - 2].text;
      // The report rounds the first, and has the other one of its host.
      if (row.back().text.empty() || way == "tree of messages" || way == "polling") continue;
      EXPECT_EQ(here, row.back().text) << way;
      ++formulas;
    }
  }
  EXPECT_EQ(formulas, 5 + 4 * 3);
  const auto near = [&](const std::string& name, const std::string& reported, double error) {
    const Result* const found = record.find("ap1000." + name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_NEAR(*found->value / *report.find("ap1000." + reported)->value, 1, error) << name;
  };
  for (const std::string name : {"fit.recv.t0", "fit.recv.r_inf", "fit.view.t0", "fit.view.r_inf"})
    near(name, name, 1e-6);
  near("column_broadcast.binomial.ranks64.bytes4096", "broadcast.binomial.ranks8.bytes4096", 0.01);
  near("column_broadcast.binomial.ranks256.bytes4096", "broadcast.binomial.ranks16.bytes4096",
       0.01);
  for (const std::string ranks : {".ranks16", ".ranks64", ".ranks256"}) {
    near("barrier.native" + ranks, "barrier.network" + ranks, 1e-6);
    for (const std::string function : {"sum", "max_loc"}) {
      near(function + ".chosen.row" + ranks, function + ".chosen.row" + ranks, 0.04);
      near(function + ".chosen.all" + ranks, function + ".tree.all" + ranks, 0.06);
    }
  }
  // One sum of the vector is faster from four elements on, or from two where ranks are few.
  const View* const vectors = record.find_view("ap1000.vector.table");
  ASSERT_NE(vectors, nullptr);
  EXPECT_NE(vectors->note.find(" 4 with 256 ranks; by a tree"), std::string::npos) << vectors->note;
}

TEST(Ap1000, TwoRanksGiveEveryTable) {
  const Record record = *run_ap1000(machine(), tiny());
  EXPECT_TRUE(record.complete);
  EXPECT_TRUE(warns(record, "quick"));
  EXPECT_TRUE(record.skipped.empty());
  EXPECT_EQ(missing_views("ap1000", record, {{"with two PUs", machine().pus().size() > 1}}),
            Names());
  std::size_t tables = 0;
  for (const View& view : record.views) {
    tables += std::holds_alternative<Rows>(view.content);
    EXPECT_FALSE(view.note.empty()) << view.title;
  }
  EXPECT_EQ(tables, 9u);
  const Result* row = record.find("ap1000.row_broadcast.flags.ranks2.bytes8");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(record.find("ap1000.column_broadcast.flags.ranks2.bytes8"), nullptr);  // of one rank
  EXPECT_NE(record.find("ap1000.pingpong.system.bytes8"), nullptr);
  const Result* recv = record.find("ap1000.pingpong.recv.bytes8");
  ASSERT_NE(recv, nullptr);
  EXPECT_GE(recv->samples.size(), 2u);
  EXPECT_GT(*recv->value, 0);
  EXPECT_NE(record.find("ap1000.fit.view.t0"), nullptr);
  EXPECT_EQ(to_json(record)["name"], "ap1000");
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Ap1000, KeepsWhatItHasWhenStopped) {
  int asked = 0;
  Hooks hooks;
  hooks.stop_requested = [&] { return ++asked > 1; };
  const Record record = *run_ap1000(machine(), tiny(), hooks);
  EXPECT_FALSE(record.complete);
  EXPECT_NE(record.find("ap1000.pingpong.recv.bytes8"), nullptr);
  EXPECT_EQ(record.find("ap1000.barrier.flags.ranks2"), nullptr);
}

volatile std::sig_atomic_t interrupted = 0;
void note_interrupt(int) { interrupted = 1; }

TEST(Ap1000, CtrlCDoesNotKillTheRanks) {
  interrupted = 0;
  const auto before = std::signal(SIGINT, note_interrupt);
  const pid_t group = getpgid(0);
  setpgid(0, 0);  // the terminal's others are not meant
  Hooks hooks;
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
  const Record record = *run_ap1000(machine(), tiny(), hooks);
  EXPECT_EQ(waitpid(killer, nullptr, 0), killer);
  setpgid(0, group);
  std::signal(SIGINT, before);
  EXPECT_FALSE(record.complete);
  EXPECT_NE(record.find("ap1000.pingpong.recv.bytes8"), nullptr);
}

TEST(Ap1000, RefusesWhatCannotBe) {
  Ap1000Options options = tiny();
  options.ranks.most_ranks = 1;
  EXPECT_THROW(run_ap1000(machine(), options), core::UsageError);
  options.ranks.most_ranks = 5000;
  EXPECT_THROW(run_ap1000(machine(), options), core::UsageError);
  EXPECT_THROW(run_ap1000(core::Topology::synthetic("core:4 pu:1"), tiny()), core::UsageError);
}

}  // namespace
}  // namespace tabane::lab
