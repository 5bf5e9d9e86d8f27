// Tables and charts of the study process-thread from points that are known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/views_test.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::lab::process_thread {
namespace {

constexpr std::uint64_t kSmall = std::uint64_t{1} << 26, kLarge = std::uint64_t{1} << 28;

// Teams that choose the second best: their samples, and which predictions held.
Point automatic_point(double seconds, std::vector<double> held) {
  return {.factors = automatic_factors("malloc-large", "glibc"),
          .samples = {seconds, seconds, seconds},
          .beside = {{"sample_s", {0.2, 0.2, 0.2}}, {"held", std::move(held)}}};
}

Point shape_point(Shape shape, double seconds) {
  return {.factors = shape_factors("malloc-large", "glibc", shape),
          .samples = {seconds, seconds, seconds},
          .beside = {{"requests", {1000, 1000, 1000}}}};
}

void add_forks(Points& points, std::uint64_t bytes, const char* memory, double one, double serial,
               double tree) {
  const std::pair<const char*, double> ways[] = {
      {"one", one}, {"serial", serial}, {"tree", tree}, {"threads", serial}, {"one thread", 3e-5}};
  for (const auto& [way, seconds] : ways)
    points.add({.factors = fork_factors(way, bytes, kPieces[0], memory),
                .block = 1,
                .samples = {seconds}});
}

// Threads give 1.25 with two workers, processes 2; forks take 1e-10 s per byte.
Points known(double two_threads = 1.6, std::vector<double> held = {1, 1, 1}) {
  Points points;
  points.declare(mining_factors("", "", {}));
  points.add(shape_point({1, 1}, 2));
  points.add(shape_point({1, 2}, two_threads));
  points.add(shape_point({2, 1}, 1));
  points.add(shape_point({2, 2}, 1.05));
  points.add(automatic_point(1.25, std::move(held)));
  for (const std::uint64_t bytes : {kSmall, kLarge}) {
    const double t = static_cast<double>(bytes) * 1e-10;
    add_forks(points, bytes, "as allocated", t, 8 * t, 4 * t);
  }
  add_forks(points, kLarge, "prepared", 0.001, 0.01, 0.01);
  return points;
}

// What is second best.
Result known_choice(core::Interval predicted = {1.0, 1.1}) {
  Result choice;
  choice.value = predicted.low;
  choice.interval = predicted;
  choice.factors = shape_factors("malloc-large", "glibc", {2, 2});
  choice.details = {{"reason", "because"}, {"sample_s", 0.01}};
  return choice;
}

Record shown(const Points& points, const std::vector<Result>& choices = {known_choice()}) {
  Record record;
  record.name = "process-thread";
  add_views(record, points, choices, 2);
  return record;
}

TEST(ProcessThreadViews, SpeedupIsOverOneWorker) {
  const Record record = shown(known());
  keep_page(record);
  EXPECT_EQ(row_of(view_of(record, "time and speed-up"), 1),
            (std::vector<std::string>{"2", "1.60 s", "1.25", "1.00 s", "2.00", "–", "–", "–"}));
  EXPECT_EQ(row_of(view_of(record, "time and speed-up"), 2).back(), "2 x 2");
  const auto* curves = find_content<Curves>(record, "process_thread.efficiency.malloc-large");
  ASSERT_NE(curves, nullptr);
  EXPECT_EQ(curves->series[0].y, (std::vector<double>{1, 0.625}));
}

TEST(ProcessThreadViews, ComparisonStandsBesideTheReport) {
  EXPECT_EQ(row_of(view_of(shown(known()), "Threads only against"), 0),
            (std::vector<std::string>{"malloc, from 256 KiB", "glibc", "2.00 ms", "1.60 ms",
                                      "1.00 ms", "2 x 1", "1.60", "9.30"}));
}

TEST(ProcessThreadViews, EachAllocatorHasACurveOfThreadsAndOneOfProcesses) {
  Points points = known();
  for (const auto& [shape, seconds] :
       {std::pair{Shape{1, 1}, 4.0}, {Shape{1, 2}, 1.0}, {Shape{2, 1}, 2.0}}) {
    Point point = shape_point(shape, seconds);
    point.factors.set("allocator", "jemalloc");
    points.add(point);
  }
  const Record record = shown(points);
  const auto* curves = find_content<Curves>(record, "process_thread.allocators.malloc-large");
  ASSERT_NE(curves, nullptr);
  ASSERT_EQ(curves->series.size(), 4u);
  EXPECT_EQ(curves->series[1].name, "glibc, processes");
  EXPECT_EQ(curves->series[2].name, "jemalloc, threads");
  EXPECT_EQ(curves->series[2].y, (std::vector<double>{1, 4}));  // over its own one worker
  EXPECT_EQ(curves->series[3].y, std::vector<double>{2});
  EXPECT_EQ(curves->series[2].colour, curves->series[3].colour);
  EXPECT_NE(curves->series[1].colour, curves->series[2].colour);
}

TEST(ProcessThreadViews, SharesAreNumbersNextToTheReports) {
  Points points = known();
  for (const auto& [shape, seconds] :
       {std::pair{Shape{1, 1}, 2.0}, {Shape{1, 2}, 1.5}, {Shape{2, 1}, 1.0}}) {
    Point point = shape_point(shape, seconds);
    point.factors.set("workload", "malloc-10");
    points.add(point);
  }
  const Record record = shown(points);
  const auto texts = texts_of(record, "Shares of large chunks");
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], (std::vector<std::string>{"10 %", "large chunks", "2.00 ms", "1.33", "2.00",
                                                "1.50", "–", "–"}));
  EXPECT_EQ(texts[1], (std::vector<std::string>{"100 %", "large chunks", "2.00 ms", "1.25", "2.00",
                                                "1.60", "1.14", "10.6"}));
  const auto* curves = find_content<Curves>(record, "process_thread.shares");
  ASSERT_NE(curves, nullptr);
  EXPECT_EQ(curves->series[0].x, (std::vector<double>{10, 100}));
  EXPECT_EQ(curves->series[0].y, (std::vector<double>{1.5, 1.6}));
  // Shares between have no charts of their own.
  EXPECT_EQ(record.find_view("process_thread.scaling.malloc-10"), nullptr);
}

TEST(ProcessThreadViews, MemoryIsNextToSpeed) {
  Record record;
  record.name = "process-thread";
  for (const auto& [shape, bytes] : {std::pair{Shape{1, 2}, 0x1p20}, {Shape{2, 1}, 0x1.8p20}}) {
    Result result;
    result.name = "process_thread.memory.x";
    result.value = bytes;
    result.factors = shape_factors("malloc-large", "glibc", shape);
    record.results.push_back(result);
  }
  add_views(record, known(), {}, 2);
  EXPECT_EQ(row_of(view_of(record, "Memory and speed"), 0),
            (std::vector<std::string>{"malloc, from 256 KiB", "glibc", "1 MiB", "1.5 MiB", "2 x 1",
                                      "1.50", "1.60"}));
}

TEST(ProcessThreadViews, GainOverThreadsIsAResultOfThePublishedName) {
  const Record record = shown(known());
  const std::string name = "process_thread.gain.malloc-large.glibc";
  ASSERT_NE(record.find(name), nullptr);
  EXPECT_DOUBLE_EQ(*record.find(name)->value, 1.6);
  ASSERT_NE(published("process-thread").find(name), nullptr);
  EXPECT_EQ(published("process-thread").find(name)->unit, record.find(name)->unit);
}

TEST(ProcessThreadViews, ChoiceIsHeldAgainstTheBest) {
  const Record record = shown(known());
  const View& view = view_of(record, "The chosen");
  const auto row = row_of(view, 0);
  EXPECT_EQ(row[2], "2 x 2");
  EXPECT_EQ(row[5], "2 x 1");
  EXPECT_EQ(row[7], "1.25");  // the sample is part of the chosen one's time
  EXPECT_EQ(row[8], "200 ms");
  EXPECT_EQ(row[9], "3 of 3");
  EXPECT_NE(view.note.find("in 0 of 1 cases"), std::string::npos) << view.note;
  EXPECT_NE(view.note.find("Of 3 predictions 3 held"), std::string::npos) << view.note;
}

TEST(ProcessThreadViews, ShareOfPredictionsThatHeldIsAResult) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const Record record = shown(known(1.6, {0, 1, unknown}));
  EXPECT_EQ(row_of(view_of(record, "The chosen"), 0)[9], "1 of 2");
  const Result* share = record.find("process_thread.choice.predictions_held");
  ASSERT_NE(share, nullptr);
  EXPECT_EQ(share->value, 0.5);
}

TEST(ProcessThreadViews, NoPredictionIsSaidToBeNone) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  Result choice = known_choice();
  choice.value.reset();
  choice.interval.reset();
  const Record record = shown(known(1.6, {unknown, unknown, unknown}), {choice});
  EXPECT_EQ(row_of(view_of(record, "The chosen"), 0)[3], "not known");
  EXPECT_EQ(row_of(view_of(record, "The chosen"), 0)[9], "none made");
  EXPECT_EQ(record.find("process_thread.choice.predictions_held"), nullptr);
  EXPECT_NE(view_of(record, "The chosen").note.find("No time was predicted"), std::string::npos);
}

TEST(ProcessThreadViews, ForksAreExtrapolatedFromTheirLine) {
  const Record record = shown(known());
  const View& view = view_of(record, "One fork");
  // 1e-10 s a byte: 107 ms per GiB.
  EXPECT_NE(view.note.find("107 ms"), std::string::npos) << view.note;
  EXPECT_NE(view.note.find("10.7 s"), std::string::npos) << view.note;
  EXPECT_NE(view.note.find("whole seconds above 100 GB"), std::string::npos) << view.note;
  EXPECT_EQ(row_of(view, 1)[6], "26.8");
  EXPECT_EQ(row_of(view, 0)[6], "–");  // never 0 for what was not measured
  EXPECT_EQ(row_of(view, 1)[7], "30.0 µs");
}

TEST(ProcessThreadViews, ForksAreHeldAgainstHugePages) {
  Points points = known();
  for (const auto& [pages, seconds, huge] :
       {std::tuple{kSmallPages, 8e-3, 0.0}, {kHugePages, 1e-3, 0.75}})
    points.add({.factors = fork_factors("one", kLarge, kPieces[2], pages),
                .samples = std::vector<double>(6, seconds),
                .beside = {{"huge_page_bytes", std::vector<double>(6, huge * kLarge)}}});
  EXPECT_EQ(row_of(view_of(shown(points), "over the size of pages"), 0),
            (Names{"256 MiB", "8.00 ms [8.00, 8.00]", "1.00 ms [1.00, 1.00]", "8.00", "75 %"}));
}

TEST(ProcessThreadViews, NothingMeasuredShowsNothing) {
  const Record record = shown({}, {});
  EXPECT_TRUE(record.views.empty());
  EXPECT_TRUE(record.results.empty());
}

TEST(ProcessThreadViews, LawSlowerThanOneWorkerIsNoFit) {
  const Record record = shown(known(4.5));
  EXPECT_NE(view_of(record, "Speed-up over one worker: malloc, from 256 KiB (glibc)")
                .note.find("No such law fits threads, so none is drawn."),
            std::string::npos);
  const auto* curves = find_content<Curves>(record, "process_thread.scaling.malloc-large");
  ASSERT_NE(curves, nullptr);
  const auto laws = std::count_if(curves->series.begin(), curves->series.end(),
                                  [](const Curve& curve) { return curve.role == Role::fitted; });
  EXPECT_EQ(laws, 1);  // of the processes
}

// One worker takes 2 s, two take 1.6 s as threads and 1 s as processes.
TEST(ProcessThreadViews, LawIsSaidInWords) {
  const Record record = shown(known());
  EXPECT_EQ(view_of(record, "Speed-up over one worker: malloc, from 256 KiB (glibc)").note,
            "At 2 workers: threads 1.25; processes 2.00. At 4 workers: teams 1.90. Dashed: the "
            "scalability law, fitted up to one worker per PU (2): for threads, 60 % of the work "
            "cannot be divided; for processes, all work can be divided.");
}

TEST(ProcessThreadViews, PageBeginsWithWhatWasFound) {
  const auto& said = shown(known()).sentences;
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(
      said[0],
      "The largest gain from processes: 1.60 times as fast, with malloc, from 256 KiB (glibc); "
      "the report, with 72 workers: 9.30.");
  EXPECT_NE(said[1].find("holds 256 MiB in 4 KiB pieces takes 26.8 ms"), std::string::npos);
  EXPECT_NE(said[1].find("and 1.00 ms once"), std::string::npos);
  EXPECT_NE(said[2].find("within 10 % of the best in 0 of 1 cases"), std::string::npos);
}

TEST(ProcessThreadViews, ChosenShapeIsFramed) {
  const Record record = shown(known());
  const auto figures = make_figures(record);
  ASSERT_EQ(figures.size(), 5u);
  EXPECT_EQ(figures[4].id, "process_thread_allocators_malloc_large");
  EXPECT_EQ(figures[0].id, "process_thread_forks");
  EXPECT_EQ(figures[1].id, "process_thread_scaling_malloc_large");
  EXPECT_EQ(figures[2].id, "process_thread_efficiency_malloc_large");
  EXPECT_EQ(figures[3].id, "process_thread_shapes_malloc_large");
  const auto* matrix = find_content<Matrix>(record, "process_thread.shapes.malloc-large");
  ASSERT_TRUE(matrix != nullptr && matrix->framed);
  EXPECT_EQ(matrix->rows[matrix->framed->row] + matrix->columns[matrix->framed->column], "22");
  EXPECT_NE(figures[3].caption.find("because"), std::string::npos);
}

// The fastest by its median is not the one with the most in turn, which the matrix shows.
TEST(ProcessThreadViews, MostSpeedupIsThatOfTheMatrix) {
  Point one = shape_point({1, 1}, 0), three = shape_point({3, 1}, 0);
  one.samples = {1, 2, 9};
  three.samples = {0.9, 1.0, 9};  // 2.00 by the medians, 1.11 in turn
  Points points;
  points.declare(mining_factors("", "", {}));
  points.add(one);
  points.add(three);
  points.add(shape_point({1, 3}, 1.1));
  const Record record = shown(points, {});
  const View* view = record.find_view("process_thread.shapes.malloc-large");
  ASSERT_NE(view, nullptr);
  double most = 0;
  for (const auto& row : std::get<Matrix>(view->content).values)
    for (const auto& value : row) most = std::max(most, value.value_or(0));
  EXPECT_NE(view->note.find(fmt::format("at most {:.2f}, with 1 x 3", most)), std::string::npos)
      << view->note;
}

TEST(ProcessThreadViews, LawHasTheColourOfItsPoints) {
  const Record record = shown(known());
  const auto* curves = find_content<Curves>(record, "process_thread.scaling.malloc-large");
  ASSERT_NE(curves, nullptr);
  ASSERT_EQ(curves->series.size(), 5u);
  EXPECT_EQ(curves->series[1].role, Role::fitted);
  EXPECT_EQ(curves->series[0].colour, curves->series[1].colour);
  EXPECT_NE(curves->series[0].colour, curves->series[2].colour);
}

}  // namespace
}  // namespace tabane::lab::process_thread
