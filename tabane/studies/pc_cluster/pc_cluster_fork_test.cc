#include "tabane/studies/pc_cluster/pc_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/core/topology.h"
#include "tabane/lab/study/views_test.h"

namespace tabane::lab {
namespace {

// Two ranks that say what they are to say.
PcClusterOptions options_with(const std::string& script) {
  PcClusterOptions options{.quick = true, .budget_seconds = 1};
  options.link_program = [script](const std::vector<std::string>&, const LinkRequest&) {
    return core::HelperProgram{.name = "the launcher", .command = {"sh", "-c", script}};
  };
  return options;
}

bool skips(const Record& record, const std::string& name, const std::string& reason) {
  return std::ranges::any_of(record.skipped, [&](const Skipped& one) {
    return one.name.find(name) != std::string::npos && one.reason.find(reason) != std::string::npos;
  });
}

TEST(PcCluster, MeasuresAllPartsOfOneMachine) {
  const std::string lines =
      to_json(LinkSamples{.way = "mpi", .bytes = 8, .samples = {1e-6}}).dump() + "\n" +
      to_json(LinkSamples{.way = "mpi", .samples = {1e-3}, .cpu_s_per_byte = 1e-9}).dump();
  const auto record =
      run_pc_cluster(core::Topology::detect(), options_with("echo '" + lines + "'; echo"));
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->complete);
  EXPECT_TRUE(warns(*record, "quick"));
  EXPECT_EQ(missing_views("pc-cluster", *record, {{"with MPI", true}, {"with --hosts", false}}),
            Names());
  EXPECT_EQ(record->environment.at("libraries").at("MPFR"), MPFR_VERSION_STRING);
  for (const char* name :
       {"memcpy", "pc_cluster.product.dgemm.n1000", "pc_cluster.product.triple_loop.n1000",
        "pc_cluster.inside.tcp.bytes1", "pc_cluster.inside.unix_socket.bytes4194304",
        "pc_cluster.inside.shm.bytes1024", "pc_cluster.parallel.exact.bits128.n64.ranks1",
        "pc_cluster.parallel.loop.bits1024.n64.ranks1", "pc_cluster.inside.mpi.bytes8"}) {
    const Result* result = record->find(name);
    ASSERT_NE(result, nullptr) << name;
    EXPECT_GT(*result->value, 0) << name;
  }
  // A library is faster than the loop on every machine.
  EXPECT_LT(*record->find("pc_cluster.product.dgemm.n1000")->value,
            *record->find("pc_cluster.product.triple_loop.n1000")->value);
  EXPECT_EQ(to_json(record_from_json(to_json(*record))), to_json(*record));
}

TEST(PcCluster, GoesOnWithoutALauncherThatFails) {
  const auto record =
      run_pc_cluster(core::Topology::detect(), options_with("echo 'cannot start' >&2; exit 1"));
  EXPECT_TRUE(record->complete);
  EXPECT_TRUE(skips(*record, "MPI inside the node", "cannot start"));
  EXPECT_NE(record->find("pc_cluster.inside.tcp.bytes8"), nullptr);
}

TEST(PcCluster, RefusesHostsThatDoNotAnswerBeforeItMeasures) {
  const std::string same = to_json(LinkSamples{.reason = "they run on one host"}).dump();
  for (const auto& [script, part] :
       {std::pair<std::string, std::string>{"echo 'no route to host b' >&2; exit 1",
                                            "no route to host b"},
        {"echo '" + same + "'; echo", "they run on one host"}}) {
    PcClusterOptions options = options_with(script);
    options.hosts = {"a", "b"};
    Hooks hooks;
    hooks.progress = [](const std::string& what, double, double) { FAIL() << what; };
    try {
      run_pc_cluster(core::Topology::detect(), options, hooks);
      FAIL() << part;
    } catch (const core::UsageError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(part), std::string::npos) << text;
      EXPECT_NE(text.find("mpirun --host a,b -n 2 hostname"), std::string::npos) << text;
    }
  }
}

TEST(PcCluster, KeepsWhatALinkGaveBeforeItWasLost) {
  const std::string before =
      to_json(LinkSamples{.way = "tcp", .bytes = 8, .samples = {1e-4}}).dump();
  const std::string then = to_json(LinkSamples{.reason = "host b is silent"}).dump();
  const std::string product =
      to_json(LinkSamples{.way = "loop", .samples = {2}, .bits = 128, .ranks = 2}).dump();
  const std::string cpu =
      to_json(LinkSamples{.way = "tcp", .samples = {1e-3}, .cpu_s_per_byte = 1e-9}).dump();
  PcClusterOptions options{.quick = true, .hosts = {"a", "b"}, .budget_seconds = 1};
  options.link_program = [=, calls = 0](const std::vector<std::string>& hosts,
                                        const LinkRequest& request) mutable {
    // Both hosts answer at first.
    const std::string lines = request.task == LinkTask::products ? product : before + "\n" + cpu;
    const bool asks = !hosts.empty() && ++calls == 1;
    return core::HelperProgram{
        .name = "the launcher",
        .command = {
            "sh", "-c",
            "echo '" + lines + "'; " + (asks ? "echo" : "echo '" + then + "'; exec sleep 60")}};
  };
  const auto record = run_pc_cluster(core::Topology::detect(), options);
  EXPECT_TRUE(record->complete);
  EXPECT_NE(record->find("pc_cluster.between.tcp.bytes8"), nullptr);
  EXPECT_TRUE(skips(*record, "messages between the hosts", "host b is silent"));
  ASSERT_NE(record->find("pc_cluster.parallel_between.loop.bits128.n64.ranks2"), nullptr);
  EXPECT_EQ(record->find("pc_cluster.cpu_between.tcp")->value, 1e-9);
}

TEST(LoopProduct, IsTheSameOnAnyNumberOfRanks) {
  const auto a = matmul::random_matrix(5, 5, 200, 2, 1), b = matmul::random_matrix(5, 5, 200, 3, 2);
  for (const int ranks : {1, 2, 3, 7}) {
    const std::function<bool(comm::Comm&)> rank = [&](comm::Comm& comm) {
      double seconds = 0;
      const matmul::Matrix c = loop_product(comm, a, b, &seconds);
      if (comm.rank() != 0) return true;
      mpfr_t sum, term;
      mpfr_inits2(200, sum, term, nullptr);
      bool same = seconds > 0;
      for (int i = 0; i < 5; ++i) {
        mpfr_set_zero(sum, 1);
        for (int k = 0; k < 5; ++k) {
          mpfr_mul(term, a.at(i, k), b.at(k, 4 - i), MPFR_RNDN);
          mpfr_add(sum, sum, term, MPFR_RNDN);
        }
        same = same && mpfr_equal_p(sum, c.at(i, 4 - i)) != 0;
      }
      mpfr_clears(sum, term, nullptr);
      return same;
    };
    EXPECT_TRUE(
        *comm::launch_result<bool>({.ranks = ranks, .transport = comm::TransportKind::shm}, rank))
        << ranks;
  }
}

TEST(PcCluster, KeepsWhatItHasWhenStopped) {
  Hooks hooks;
  bool stop = false;
  hooks.progress = [&](const std::string& what, double, double) {
    stop = stop || what == "operations of MPFR";
  };
  hooks.stop_requested = [&] { return stop; };
  const auto record =
      run_pc_cluster(core::Topology::detect(), {.quick = true, .budget_seconds = 1}, hooks);
  EXPECT_FALSE(record->complete);
  EXPECT_NE(record->find("pc_cluster.product.dgemm.n1000"), nullptr);
  EXPECT_EQ(record->find("pc_cluster.inside.tcp.bytes8"), nullptr);
}

TEST(PcCluster, RefusesOptionsThatCannotBe) {
  const core::Topology topology = core::Topology::detect();
  EXPECT_THROW(run_pc_cluster(topology, {.hosts = {"a"}}), core::UsageError);
  EXPECT_THROW(run_pc_cluster(topology, {.hosts = {"a", "b", "c"}}), core::UsageError);
  EXPECT_THROW(run_pc_cluster(topology, {.hosts = {"a", ""}}), core::UsageError);
  EXPECT_THROW(run_pc_cluster(topology, {.hosts = {"a", "--b"}}), core::UsageError);
  EXPECT_THROW(run_pc_cluster(topology, {.watch_seconds = -1}), core::UsageError);
  EXPECT_THROW(run_pc_cluster(topology, {.watch_seconds = 1e9}), core::UsageError);
}

}  // namespace

namespace {

TEST(MatrixProducts, AreTheSameInBothWays) {
  constexpr int kSize = 10;
  MatrixProducts products(12);
  EXPECT_GT(products.dgemm_seconds(kSize), 0);
  const std::vector<double> by_dgemm = products.c();
  EXPECT_GT(products.dgemm_seconds(12), 0);  // leaves something else in C
  EXPECT_GT(products.triple_loop_seconds(kSize), 0);
  for (std::size_t i = 0; i < kSize * kSize; ++i)
    EXPECT_NEAR(products.c()[i], by_dgemm[i], 1e-12 * by_dgemm[i]) << i;
}

}  // namespace

namespace {

TEST(MpfrOperations, TakeLongerWithMoreBits) {
  const core::Topology topology = core::Topology::detect();
  core::PinnedPool pool(topology.pu_os_indices());
  for (std::size_t operation = 0; operation < mpfr_operations().size(); ++operation) {
    const double few = mpfr_seconds(pool, 1, operation, 64, 1e-4);
    const double many = mpfr_seconds(pool, 1, operation, 65536, 1e-4);
    EXPECT_GT(few, 0);
    EXPECT_GT(many, 10 * few) << mpfr_operations()[operation].name;
  }
  EXPECT_GT(mpfr_seconds(pool, pool.size(), 0, 512, 1e-4), 0);
}

}  // namespace

}  // namespace tabane::lab
