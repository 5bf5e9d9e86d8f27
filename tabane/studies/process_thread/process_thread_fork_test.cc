#include "tabane/studies/process_thread/process_thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/study/views_test.h"

namespace tabane::lab {
namespace {

using namespace process_thread;

Json prepare(const std::string& workload) {
  return {{"do", "prepare"},       {"workload", workload}, {"tasks", 5},
          {"requests", 50},        {"text_bytes", 20'000}, {"text_directory", ""},
          {"transactions", 10'000}};
}

Json measure(int processes, int threads) {
  return {{"do", "measure"}, {"processes", processes}, {"threads", threads}};
}

// Meters in this process, which has its own allocator only.
ProcessThreadMeters local_meters(std::vector<std::string> allocators) {
  return {.start = [](const std::string&) { return process_thread_meter(); },
          .allocators = std::move(allocators)};
}

TEST(ProcessThreadMeter, DoesEveryWorkloadInEveryShape) {
  const ProcessThreadMeter meter = process_thread_meter();
  for (const Workload& workload : workloads()) {
    const Json prepared = meter(prepare(workload.name));
    ASSERT_GT(prepared.at("requests").get<int>(), 0) << prepared.dump();
    for (const auto& [processes, threads] : {std::pair{1, 1}, {1, 2}, {2, 1}}) {
      const Json answer = meter(measure(processes, threads));
      ASSERT_FALSE(answer.contains("error")) << answer.dump();
      EXPECT_GT(answer["seconds"].get<double>(), 0);
      EXPECT_EQ(answer["fork_s"].get<double>() > 0, processes > 1) << workload.name;
      EXPECT_FALSE(answer.contains("choice"));
    }
  }
}

// The plain count is long: another meter is told what it has found.
TEST(ProcessThreadMeter, ChecksWordsAgainstWhatItIsTold) {
  const ProcessThreadMeter meter = process_thread_meter();
  Json request = prepare("words");
  const Json found = meter(request).at("expected");
  EXPECT_GT(found.at("words").get<int>(), 0);
  request["expected"] = found;
  EXPECT_EQ(meter(request).at("expected"), found);
  EXPECT_FALSE(meter(measure(1, 1)).contains("error"));
  request["expected"]["sum"] = found.at("sum").get<std::uint64_t>() / 2;
  meter(request);
  EXPECT_EQ(meter(measure(1, 1)).at("kind"), "verification");
}

TEST(ProcessThreadMeter, TellsHowLongWorkersThatMineTakeToStart) {
  const ProcessThreadMeter meter = process_thread_meter();
  const Json prepared = meter(prepare("mining-values"));
  EXPECT_EQ(prepared.at("requests"), 153 * 3) << prepared.dump();  // 4096 transactions a block
  for (const char* order : {"serial", "tree"}) {
    Json request = measure(4, 1);
    request["fork"] = order;
    const Json answer = meter(request);
    ASSERT_FALSE(answer.contains("error")) << answer.dump();
    EXPECT_GT(answer["start_s"].get<double>(), 0);
    EXPECT_GT(answer["fork_s"].get<double>(), 0);
    EXPECT_GT(answer["seconds"].get<double>(), answer["fork_s"].get<double>());
  }
  // What was prepared before is forgotten.
  meter(prepare("insert-10"));
  EXPECT_FALSE(meter(measure(1, 1)).contains("start_s"));
}

TEST(ProcessThreadMeter, AutomaticTellsItsChoice) {
  const ProcessThreadMeter meter = process_thread_meter();
  meter(prepare("insert-100"));
  const Json choice = meter(measure(0, 0)).at("choice");
  EXPECT_GE(choice["processes"].get<int>(), 1);
  EXPECT_FALSE(choice["reason"].get<std::string>().empty());
}

TEST(ProcessThreadMeter, ErrorsAreAnswersAndTheNextRequestWorks) {
  const ProcessThreadMeter meter = process_thread_meter();
  EXPECT_EQ(meter({{"do", "sing"}})["kind"], "usage");
  EXPECT_TRUE(meter(measure(1, 1)).contains("error"));  // nothing is prepared
  EXPECT_TRUE(meter(Json::object()).contains("error"));
  EXPECT_EQ(meter(prepare("dance"))["kind"], "usage");
  meter(prepare("insert-10"));
  EXPECT_EQ(meter(measure(-1, 1))["kind"], "usage");
  EXPECT_FALSE(meter(measure(2, 1)).contains("error"));
}

Json forks(bool children, bool prepare) {
  return {{"do", "forks"},      {"bytes", 8 << 20}, {"piece", 4096}, {"children", children},
          {"prepare", prepare}, {"fewest", 2},      {"most", 2},     {"budget_s", 100}};
}

TEST(ProcessThreadMeter, MeasuresForksAndAThreadOverMemory) {
  const ProcessThreadMeter meter = process_thread_meter();
  const Json answer = meter(forks(true, false));
  ASSERT_TRUE(answer.contains("measured")) << answer.dump();
  EXPECT_FALSE(answer.contains("refused")) << answer.dump();
  EXPECT_EQ(answer["measured"].size(), 1u);  // not prepared
  const Json& found = answer["measured"]["as allocated"];
  for (const char* way : {"one", "one thread", "serial", "tree", "threads"})
    EXPECT_EQ(found["seconds"][way].size(), 2u) << way;
  EXPECT_EQ(meter(forks(false, false))["measured"]["as allocated"]["seconds"].size(), 2u);
  EXPECT_GE(found["small_page_bytes"].get<std::uint64_t>() +
                found["huge_page_bytes"].get<std::uint64_t>(),
            std::uint64_t{8} << 20);
}

TEST(ProcessThreadMeter, HoldsMemoryInPagesOfTheSizeAskedFor) {
  const ProcessThreadMeter meter = process_thread_meter();
  const auto huge_bytes = [&](const char* pages) {
    Json request = forks(false, false);
    request["pages"] = pages;
    return meter(request)["measured"].at(pages).at("huge_page_bytes").get<std::uint64_t>();
  };
  const std::uint64_t small = huge_bytes(kSmallPages), huge = huge_bytes(kHugePages);
  EXPECT_LE(small, huge);
  if (small == huge) GTEST_SKIP() << "the system gave no huge pages";
}

// The memory of two processes that hold the same data is not twice that of one.
TEST(ProcessThreadMeter, TellsTheMemoryOfAllProcesses) {
  const ProcessThreadMeter meter = process_thread_meter();
  meter(prepare("mining-values"));
  const auto bytes_of = [&](int processes) {
    Json request = measure(processes, 1);
    request["do"] = "memory";
    return meter(request).at("bytes").get<double>();
  };
  // 54 ciphertexts of 2 components, 2 primes and 4096 words, and 153 of 3 components: 42 MB.
  const double one = bytes_of(1), four = bytes_of(4);
  EXPECT_GT(one, 10e6);
  EXPECT_GT(four, 10e6);
  EXPECT_LT(four, 3 * one);
  EXPECT_FALSE(meter(measure(1, 1)).contains("bytes"));
}

// What a meter would answer where the system refuses forks from a size on.
ProcessThreadMeters refusing_meters(double from_bytes) {
  const ProcessThreadMeter meter = process_thread_meter();
  return {.start = [=](const std::string&) -> ProcessThreadMeter {
            return [=](const Json& request) -> Json {
              if (request.at("do") != "forks" || request.at("bytes").get<double>() < from_bytes)
                return meter(request);
              return {{"measured", Json::object()}, {"refused", "fork: no memory"}};
            };
          },
          .allocators = {"glibc"}};
}

TEST(ProcessThreadStudy, TellsWhereForksAreRefused) {
  const auto study = [](double from_bytes) {
    return run_process_thread(core::Topology::detect(),
                              {.quick = true,
                               .workloads = {"malloc-10"},
                               .allocators = {"glibc"},
                               .runs = 1,
                               .most_fork_bytes = 3 << 20},
                              refusing_meters(from_bytes));
  };
  const Record refused = study(2 << 20);
  const Result* at = refused.find("process_thread.forks.refused_above");
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(at->value, 3 << 20);
  EXPECT_NE(published("process-thread").find(at->name), nullptr);
  const std::string& note = view_of(refused, "One fork, its end").note;
  EXPECT_NE(note.find("refused with 3 MiB: fork: no memory"), std::string::npos) << note;
  EXPECT_EQ(note.find("No fork was refused"), std::string::npos) << note;
  const auto* chart = find_content<Curves>(refused, "process_thread.forks");
  ASSERT_TRUE(chart != nullptr && chart->marks.size() == 1);
  EXPECT_EQ(chart->marks[0].at, 3 << 20);
  const Record all = study(1e18);
  EXPECT_EQ(all.find("process_thread.forks.refused_above"), nullptr);
  EXPECT_NE(all.find("process_thread.forks.one_thread.bytes3145728.piece4096.as_allocated"),
            nullptr);
  const std::string& other = view_of(all, "One fork, its end").note;
  EXPECT_NE(other.find("No fork was refused here, with up to 3 MiB"), std::string::npos) << other;
  EXPECT_NE(other.find("Linux "), std::string::npos) << other;
}

TEST(ReportTeam, IsTheReportsTable) {
  const std::string name = "process_thread.team.workers";
  int seen = 0;
  for (const Result& team : published("process-thread").results) {
    if (!team.name.starts_with(name)) continue;
    const Shape shape{static_cast<int>(*team.value),
                      static_cast<int>(*team.number_detail("threads"))};
    ++seen;
    EXPECT_EQ(std::to_string(shape.workers()), team.name.substr(name.size()));
    EXPECT_EQ(report_team(shape.workers()), shape);
  }
  EXPECT_EQ(seen, 10);
  EXPECT_EQ(report_team(23), std::nullopt);
}

TEST(TeamOfProcesses, IsTheReportsWhereThatHasSeveral) {
  EXPECT_EQ(team_of_processes(16), (Shape{2, 8}));
  EXPECT_EQ(team_of_processes(8), (Shape{8, 1}));  // the report: 1 x 8
  EXPECT_EQ(team_of_processes(23), (Shape{23, 1}));
}

TEST(PlanShapes, SmallMachineHasAllOfAtMostTwiceItsPus) {
  EXPECT_EQ(plan_shapes(1), (std::vector<Shape>{{1, 1}, {1, 2}, {2, 1}}));
  EXPECT_EQ(plan_shapes(2).size(), 8u);  // divisors of 1 … 4: 1 + 2 + 2 + 3
}

TEST(PlanShapes, LargeMachineHasTheReportsShapes) {
  const auto shapes = plan_shapes(72);
  const auto has = [&](Shape shape) {
    return std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
  };
  for (Shape shape :
       {Shape{1, 1}, {1, 8}, {2, 8}, {4, 6}, {8, 9}, {1, 72}, {72, 1}, {1, 144}, {144, 1}})
    EXPECT_TRUE(has(shape)) << shape.processes << " x " << shape.threads;
  for (Shape shape : shapes)
    EXPECT_LE(shape.workers(), 144) << shape.processes << " x " << shape.threads;
}

// With all allocators that there are meters for, of which glibc alone may be under one.
const Record& quick_study() {
  static const Record record =
      run_process_thread(core::Topology::detect(),
                         {.quick = true, .workloads = {"insert-100"}, .allocators = {}, .runs = 1},
                         local_meters({"glibc", "jemalloc"}));
  return record;
}

TEST(ProcessThreadStudy, MeasuresTheChosenShapeAmongOthers) {
  const Record& record = quick_study();
  EXPECT_TRUE(record.complete);
  EXPECT_FALSE(record.views.empty());
  EXPECT_TRUE(warns(record, "quick"));
  EXPECT_TRUE(warns(record, "few_runs"));
  const Result* choice = record.find("process_thread.choice.insert-100.glibc");
  if (choice == nullptr) GTEST_SKIP() << "another allocator is under this test";
  EXPECT_EQ(missing_views("process-thread", record,
                          {{"with two PUs", core::Topology::detect().pus().size() > 1},
                           {"with mining", false},
                           {"with mining on two PUs", false}}),
            Names());
  const std::string chosen = "process_thread.insert-100.glibc.processes" +
                             choice->factors.find("processes")->text() + ".threads" +
                             choice->factors.find("threads")->text();
  ASSERT_NE(record.find(chosen), nullptr) << chosen;
  EXPECT_EQ(record.find(chosen)->samples.size(), 1u);
  for (const char* seen : {"fork_s", "join_s", "requests", "order"})
    EXPECT_EQ(record.find(chosen)->beside.at(seen).size(), 1u) << seen;
  EXPECT_NE(record.find_view("process_thread.shapes.insert-100"), nullptr);
  const Result* memory = record.find("process_thread.memory.insert-100.glibc.processes1.threads" +
                                     std::to_string(core::Topology::detect().pus().size()));
  ASSERT_NE(memory, nullptr);
  EXPECT_GT(*memory->value, 1e6);
  const Result* automatic = record.find("process_thread.automatic.insert-100.glibc");
  ASSERT_NE(automatic, nullptr);
  EXPECT_EQ(automatic->beside.at("sample_s").size(), 1u);
  EXPECT_LE(automatic->beside.at("sample_s")[0], automatic->samples[0]);
}

TEST(PlanStarts, SmallMachineHasTreesOfSeveralForks) {
  const auto starts = plan_starts(2, false);
  const auto has = [&](const WorkerStart& start) {
    return std::ranges::find(starts, start) != starts.end();
  };
  EXPECT_TRUE(has({"threads", {1, 1}}) && has({"threads", {1, 8}}));
  for (const char* way : {"serial", "tree"})
    EXPECT_TRUE(has({way, {2, 1}}) && has({way, {8, 1}})) << way;
  EXPECT_EQ(plan_starts(2, true).size(), 3u);  // one, threads, a tree
  EXPECT_EQ(plan_starts(1, true).size(), 1u);
}

TEST(PlanStarts, LargeMachineHasTheReportsTeams) {
  const auto starts = plan_starts(72, false);
  for (const Shape shape : {Shape{2, 8}, {4, 6}, {4, 8}, {8, 5}, {8, 9}})
    EXPECT_NE(std::ranges::find(starts, WorkerStart{"tree", shape}), starts.end())
        << shape.processes << " x " << shape.threads;
  EXPECT_LE(starts.size(), 1 + 3 * 9u);
}

TEST(ProcessThreadStudy, MinesEncryptedTransactions) {
  ProcessThreadOptions options{.quick = true,
                               .workloads = {"mining-values", "mining-in-place"},
                               .allocators = {"glibc"},
                               .runs = 1,
                               .scale = 0.001};
  const Record record =
      run_process_thread(core::Topology::detect(), options, local_meters({"glibc"}));
  EXPECT_TRUE(record.complete);
  for (const char* program : {"values", "in-place"}) {
    const std::string name = std::string("process_thread.mining.") + program + ".glibc.threads";
    const Result* one = record.find(name + ".workers1.team_processes1");
    if (one == nullptr && !record.skipped.empty())
      GTEST_SKIP() << "another allocator is under this test";
    ASSERT_NE(one, nullptr) << name;
    for (const char* seen : {"start_s", "fork_s", "join_s", "requests", "order"})
      EXPECT_EQ(one->beside.at(seen).size(), 1u) << seen;
    EXPECT_NE(record.find_view(std::string("process_thread.mining.creation.") + program), nullptr);
  }
  EXPECT_EQ(missing_views("process-thread", record,
                          {{"", false},
                           {"with two PUs", false},
                           {"with mining", true},
                           {"with mining on two PUs", core::Topology::detect().pus().size() > 1}}),
            Names());
  EXPECT_EQ(record.find("process_thread.mining.transactions")->value, 1943);
  EXPECT_EQ(record.find("process_thread.mining.security")->value, 128);
  const auto& said = record.sentences;
  EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& sentence) {
    return sentence.find("1943 random transactions") != std::string::npos;
  }));
}

TEST(ProcessThreadStudy, ReturnsToEachWorkloadInALaterPass) {
  std::vector<std::string> visited;
  Hooks hooks;
  hooks.progress = [&](const std::string& what, double, double) {
    if (visited.empty() || visited.back() != what) visited.push_back(what);
  };
  ProcessThreadOptions options{
      .quick = true, .workloads = {"insert-100", "insert-10"}, .allocators = {"glibc"}, .runs = 2};
  const Record record =
      run_process_thread(core::Topology::detect(), options, local_meters({"glibc"}), hooks);
  EXPECT_EQ(std::count(visited.begin(), visited.end(), "insert-100"), 2);
  EXPECT_EQ(std::count(visited.begin(), visited.end(), "insert-10"), 2);
  const Result* one = record.find("process_thread.insert-100.glibc.processes1.threads1");
  if (one == nullptr) GTEST_SKIP() << "another allocator is under this test";
  EXPECT_EQ(one->samples.size(), 2u);
  const auto& requests = one->beside.at("requests");
  EXPECT_EQ(requests.front(), requests.back());  // the same work in both passes
}

TEST(ProcessThreadStudy, AllocatorThatIsNotUnderTheMeterIsLeftOut) {
  ASSERT_EQ(quick_study().skipped.size(), 1u);
  EXPECT_NE(quick_study().skipped[0].reason.find("instead"), std::string::npos);
}

TEST(MiningMemory, DatabasesThatDoNotFitAreRefusedByScale) {
  EXPECT_NO_THROW(require_mining_memory(0.001, 1));
  try {
    require_mining_memory(100, 1000);
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("--scale 100"), std::string::npos) << error.what();
  }
}

TEST(ProcessThreadStudy, StoppedStudyKeepsWhatItHas) {
  int asked = 0;
  Hooks hooks;
  hooks.stop_requested = [&] { return ++asked > 2; };
  const Record record =
      run_process_thread(core::Topology::detect(), {.quick = true}, local_meters({"glibc"}), hooks);
  EXPECT_FALSE(record.complete);
  EXPECT_FALSE(record.results.empty());
}

TEST(ProcessThreadStudy, RefusesWhatCannotBe) {
  const auto refused = [](ProcessThreadOptions options) {
    EXPECT_THROW(run_process_thread(core::Topology::detect(), options, local_meters({"glibc"})),
                 core::UsageError);
  };
  refused({.workloads = {"dance"}});
  refused({.runs = 1'000'000});
  refused({.text_bytes = 1, .text_directory = "/"});
  refused({.text_directory = "/nosuch"});
  refused({.scale = -1});
  refused({.most_fork_bytes = 1});
  refused({.most_fork_bytes = std::uint64_t{1} << 60});
  refused({.scale = std::numeric_limits<double>::quiet_NaN()});
  EXPECT_THROW(run_process_thread(core::Topology::synthetic("pack:2 core:4 pu:2"), {},
                                  local_meters({"glibc"})),
               core::UsageError);
}

}  // namespace
}  // namespace tabane::lab
