#include "tabane/tools/slalom/solve.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "tabane/comm/launch.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::slalom {
namespace {

using Row = std::array<double, kFaces>;  // of the first patch of each face

class SolveLight : public testing::Test {
 protected:
  SolveLight() { core::write_file(geometry_, default_geometry_text()); }

  SolvedBox solve(int ranks, comm::GridShape grid, int patches, int block = 0) {
    const Problem problem{
        .geometry = geometry_, .patches = patches, .grid = grid, .block = block, .answer = answer_};
    return comm::launch_result<SolvedBox>(
               {.ranks = ranks, .transport = comm::TransportKind::shm},
               [&](comm::Comm& comm) { return slalom::solve(comm, problem); })
        .value();
  }
  // Radiosities by patch, as they stand in the answer.
  std::vector<std::array<double, kColours>> radiosities() const {
    std::istringstream file(core::read_file(answer_));
    std::string line;
    while (std::getline(file, line) && !line.empty()) continue;
    std::getline(file, line);  // header
    std::vector<std::array<double, kColours>> all;
    int number = 0, face = 0;
    std::array<double, kColours> light{};
    while (file >> number >> face >> light[0] >> light[1] >> light[2]) {
      EXPECT_EQ(number, static_cast<int>(all.size()) + 1);
      all.push_back(light);
    }
    return all;
  }
  void expect_radiosities(int patches, const std::array<Row, kColours>& due) const {
    const Region region = cut_into_patches(read_geometry(geometry_), patches);
    const auto found = radiosities();
    ASSERT_EQ(found.size(), static_cast<std::size_t>(patches));
    for (std::size_t q = 0; q < kColours; ++q) {
      for (std::size_t face = 0; face < kFaces; ++face) {
        EXPECT_NEAR(found[region.begin[face]][q], due[q][face], 1.01e-8);
      }
    }
  }

  core::ScratchFolder folder_{"slalom_test"};
  std::filesystem::path geometry_ = folder_ / "geom", answer_ = folder_ / "answer";
};

constexpr std::array<Row, kColours> kOf6{
    {{1.73185667, .82378659, .47228717, .72765026, .00914078, .69179332},
     {1.53095004, .00660003, .32985032, .51865355, .00660003, .48315572},
     {1.73185667, .00914078, .47228717, .72765026, .82378659, .69179332}}};
constexpr std::array<Row, kColours> kOf60{
    {{1.86834405, 1.00127463, .63871070, .77177367, .00962751, .97459800},
     {1.50033174, .00761128, .37194269, .43315428, .00761128, .55831482},
     {1.59057493, .00962751, .44051888, .52974304, 1.00127463, .65590866}}};

TEST_F(SolveLight, GivesTheReferencesRadiosities) {
  const SolvedBox answer = solve(1, {}, 6);
  EXPECT_TRUE(answer.solution.check.passed());
  EXPECT_LT(answer.solution.check.residual, 1e-14);
  expect_radiosities(6, kOf6);
  solve(1, {}, 60);
  expect_radiosities(60, kOf60);
}

TEST_F(SolveLight, GivesTheSameOnAnyGridWithAnyBlock) {
  for (const comm::GridShape grid : {comm::GridShape{2, 1}, {1, 2}, {2, 2}, {3, 3}, {1, 4}}) {
    for (int block : {0, 5, 17, 100}) {
      SCOPED_TRACE(testing::Message() << grid.rows << "x" << grid.columns << " of " << block);
      const SolvedBox answer = solve(grid.rows * grid.columns, grid, 60, block);
      EXPECT_TRUE(answer.solution.check.passed());
      expect_radiosities(60, kOf60);
    }
  }
}

TEST_F(SolveLight, HasMoreRanksThanBlocks) {
  EXPECT_TRUE(solve(9, {}, 6).solution.check.passed());
  expect_radiosities(6, kOf6);
  EXPECT_TRUE(solve(4, {4, 1}, 6).solution.check.passed());
  expect_radiosities(6, kOf6);
}

TEST_F(SolveLight, GivesTheSameOfMoreThanOneStrip) {
  const SolvedBox one = solve(1, {}, 1700, 96);
  EXPECT_TRUE(one.solution.check.passed());
  const auto due = radiosities();
  const SolvedBox several = solve(4, {2, 2}, 1700, 32);
  EXPECT_TRUE(several.solution.check.passed());
  const auto found = radiosities();
  ASSERT_EQ(found.size(), due.size());
  for (std::size_t i = 0; i < due.size(); ++i) {
    for (std::size_t q = 0; q < kColours; ++q) ASSERT_NEAR(found[i][q], due[i][q], 1.01e-8);
  }
}

TEST_F(SolveLight, TellsWhereTheTimeGoes) {
  const SolvedBox answer = solve(2, {}, 1000);
  const solver::Solution& solution = answer.solution;
  EXPECT_EQ(solution.rows, 2);  // a panel is shared
  EXPECT_EQ(solution.columns, 1);
  EXPECT_EQ(solution.operations,
            counted_operations(read_geometry(geometry_), 1000, Revision::r126));
  double seconds = 0;
  for (std::size_t step = 0; step < solution.steps.names.size(); ++step) {
    seconds += solution.steps.mean_seconds(step);
    EXPECT_GT(solution.steps.ranks[0][step].times, 0U) << solution.steps.names[step];
  }
  EXPECT_LE(seconds, solution.seconds * (1 + 1e-9));
  EXPECT_GT(solution.limit, 0);
}

TEST_F(SolveLight, WritesAPictureAndAnAnswerThatSaysWhatItHolds) {
  const Problem problem{
      .geometry = geometry_, .patches = 60, .answer = answer_, .picture = folder_ / "picture.png"};
  comm::launch({.ranks = 1, .transport = comm::TransportKind::shm},
               [&](comm::Comm& comm) { slalom::solve(comm, problem); });
  EXPECT_TRUE(core::read_file(folder_ / "picture.png").starts_with("\x89PNG"));
  const std::string text = core::read_file(answer_);
  EXPECT_TRUE(text.starts_with("60 patches:\n")) << text.substr(0, 200);
  EXPECT_NE(text.find("\n    13     2   0.00000   0.00000   0.00000 "), std::string::npos);
}

// The light comes from every face, and reflectivities differ from face to face and colour to
// colour: then x = epsilon + rho (mean of what is seen), so that between epsilons it is.
TEST_F(SolveLight, HoldsForAnyBox) {
  core::write_file(geometry_,
                   "2.5 1 7\n.1 .2 .3 .4 .5 .6\n.999 .999 .999 .999 .999 .999\n"
                   ".000001 .5 .9 .1 .7 .2\n1 2 3 4 5 6\n0 0 0 0 0 1\n6 5 4 3 2 1\n");
  const SolvedBox answer = solve(2, {}, 300);
  EXPECT_TRUE(answer.row_sums.passed());
  EXPECT_TRUE(answer.solution.check.passed());
  const auto found = radiosities();
  EXPECT_NEAR(found[0][2], 6, 1e-4);  // black: nothing but its own
  // Of nearly white walls, all light leaves by their 0.001: A x 0.001 = A epsilon on the mean.
  const Region region = cut_into_patches(read_geometry(geometry_), 300);
  double light = 0, area = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    light += found[i][1] * region.patches[i].area();
    area += region.patches[i].area();
  }
  // Sum A x = Sum A epsilon + 0.999 Sum A x, and face 6 has 7 x 2.5 of it.
  EXPECT_NEAR(light, 17.5 / 0.001, 1e-3);
}

// The dark colours are left as they are, and are written with as many digits as the others.
TEST_F(SolveLight, GivesDarkAndBrightColoursTheSameDigits) {
  std::string text = default_geometry_text();
  const auto replace = [&](const std::string& light, std::size_t from) {
    const std::size_t at = text.find("1.27", from);
    text.replace(at, 4, light);
    return at + light.size();
  };
  replace("1.27e9", replace("1.27", replace("1.27e-9", 0)));
  core::write_file(geometry_, text);
  EXPECT_TRUE(solve(2, {}, 60).solution.check.passed());
  const auto found = radiosities();
  for (std::size_t q = 0; q < kColours; ++q) {
    const double unit = std::array{1e-9, 1.0, 1e9}[q];
    EXPECT_NEAR(found[0][q] / unit, kOf60[q][0], 1.01e-8);
  }
}

TEST_F(SolveLight, WritesNothingThatFailsItsCheck) {
  std::string text = default_geometry_text();
  for (std::size_t at = 0; (at = text.find("1.27", at)) != std::string::npos; ++at) {
    text.replace(at, 4, "1e-322");  // where a double has few digits
  }
  core::write_file(geometry_, text);
  core::write_file(answer_, "of an earlier run");
  EXPECT_FALSE(solve(1, {}, 60).solution.check.passed());
  EXPECT_EQ(core::read_file(answer_), "of an earlier run");
}

TEST_F(SolveLight, FindsTheLargestInTime) {
  const Problem problem{.geometry = geometry_, .answer = answer_};
  const SearchLimits limits{.seconds = 60, .most = 300};
  const auto answer = comm::launch_result<SolvedBox>(
      {.ranks = 2, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
        return solve_largest(comm, problem, limits, [](const TimedRun&) {});
      });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->patches, 300);
  EXPECT_EQ(radiosities().size(), 300U);
}

TEST(Check, SaysWhatDoesNotFitBeforeAnythingStarts) {
  const Geometry box = parse_geometry(default_geometry_text(), "geom");
  EXPECT_NO_THROW(check(box, 2000, {2, 1}, 0, 1e9));
  EXPECT_THROW(check(box, 5, {1, 1}, 0, 1e9), core::UsageError);
  const std::string text = core::text_of_error([&] { check(box, 20000, {2, 1}, 0, 1e9); });
  const int most = most_patches(box, 1e9, {2, 1});
  EXPECT_NE(text.find("at most " + std::to_string(most) + " patches fit"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace tabane::slalom
