#include "tabane/tools/scg/problem.h"

#include <gtest/gtest.h>

#include <limits>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/scg/mesh_test.h"

namespace tabane::scg {
namespace {

std::string refusal(const Problem& problem) {
  return core::text_of_error<core::UsageError>([&] { check(problem); });
}

Values array(std::size_t rows, std::size_t columns, double value) {
  return {.array = {rows, columns, std::vector<double>(rows * columns, value)}, .name = "a.npy"};
}

Problem small() {
  Problem problem;
  problem.rows = 2;
  problem.columns = 3;
  return problem;
}
Problem with_k(double k) {
  Problem problem;
  problem.k.constant = k;
  return problem;
}

TEST(Problem, IsRefusedWithWhatIsWrongAndWhere) {
  EXPECT_EQ(refusal(Problem()), "");
  Problem problem;
  problem.rows = 0;
  EXPECT_NE(refusal(problem).find("0 x 400 has no unknowns"), std::string::npos);
  EXPECT_EQ(refusal(with_k(0)), "k: 0 is not a positive number from 1e-300 to 1e+300");
  EXPECT_EQ(refusal(with_k(-1)), "k: -1 is not a positive number from 1e-300 to 1e+300");
  problem = small();
  problem.f.constant = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal(problem), "f: inf is not a finite number");
  problem.f = array(3, 2, 1);
  EXPECT_EQ(refusal(problem), "f: a.npy has 3 x 2 numbers; expected 2 x 3");
  problem = small();
  problem.k = array(2, 3, 1);
  EXPECT_EQ(refusal(problem), "");
  problem.k.array.values[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal(problem),
            "k: a.npy, row 1, column 2: nan is not a positive number from 1e-300 to 1e+300");
  problem.k.array.values[5] = 0;
  EXPECT_EQ(refusal(problem),
            "k: a.npy, row 1, column 2: 0 is not a positive number from 1e-300 to 1e+300");
}

TEST(Problem, KnowsUOnOneSideAtLeast) {
  Problem problem = small();
  for (Side& side : problem.sides) side.condition = Condition::neumann;
  EXPECT_NE(refusal(problem).find("four Neumann sides"), std::string::npos);
  problem.sides[kEast] = {.values = array(1, 2, 1)};
  EXPECT_EQ(refusal(problem), "");
  problem.sides[kEast] = {.values = array(1, 3, 1)};
  EXPECT_EQ(refusal(problem), "boundary east: a.npy has 1 x 3 numbers; expected 1 x 2");
}

TEST(Problem, HasDirichletSidesAWholeSquareAwayAndNeumannSidesHalfOfOne) {
  Problem problem{.rows = 3, .columns = 3};
  EXPECT_DOUBLE_EQ(mesh_width(problem), 0.25);
  EXPECT_DOUBLE_EQ(x_of(problem, 2), 0.75);
  problem.sides[kWest].condition = Condition::neumann;
  EXPECT_DOUBLE_EQ(mesh_width(problem), 1 / 3.5);
  EXPECT_DOUBLE_EQ(x_of(problem, 0), 0.5 / 3.5);
  EXPECT_DOUBLE_EQ(y_of(problem, 0), 1 / 3.5);
  EXPECT_FALSE(is_uniform(problem));
}

TEST(Faces, ConductTheMeanOfBothSides) {
  Problem problem{.rows = 1, .columns = 2, .k = array(1, 2, 1)};
  problem.k.array.values[1] = 3;
  problem.sides[kSouth].condition = Condition::neumann;
  EXPECT_DOUBLE_EQ(faces_of(problem, 0, 0).east, 1.5);  // 2 / (1 / 1 + 1 / 3)
  EXPECT_DOUBLE_EQ(faces_of(problem, 0, 1).west, 1.5);
  EXPECT_EQ(faces_of(problem, 0, 1).east, 3);
  EXPECT_EQ(faces_of(problem, 0, 1).south, 0);
  problem.mean = FaceMean::arithmetic;
  EXPECT_DOUBLE_EQ(faces_of(problem, 0, 0).east, 2);
}

TEST(Faces, DoNotOverflowWhereKIsHuge) {
  const Problem problem{.rows = 1, .columns = 2, .k = {1e200}};
  EXPECT_DOUBLE_EQ(faces_of(problem, 0, 0).east, 1e200);
}

TEST(RightSide, HoldsWhatIsKnownOfTheSides) {
  Problem problem{.rows = 1, .columns = 1, .k = {2}, .f = {8}};
  problem.sides[kNorth].values = {5};
  problem.sides[kEast] = {Condition::neumann, {3}};
  const double h = mesh_width(problem);
  EXPECT_DOUBLE_EQ(h, 1 / 1.5);
  EXPECT_DOUBLE_EQ(right_side_of(problem, 0, 0, faces_of(problem, 0, 0)), h * h * 8 + 10 + 3 * h);
}

template <class F>
std::string refusal(F f) {
  return core::text_of_error<core::UsageError>(f);
}

TEST(Values, AreNumbersOrFiles) {
  EXPECT_EQ(values_named("-f", "-2.5e3").constant, -2500);
  const core::ScratchFolder scratch("scg-inputs");
  const std::filesystem::path file = scratch / "a.npy";
  solver::write_npy(file, 2, 3, std::vector<double>{1, 2, 3, 4, 5, 6});
  const Values values = values_named("-f", file.string());
  EXPECT_FALSE(values.is_constant());
  EXPECT_EQ(values.at(1, 0), 4);
  Problem problem{.k = values};
  take_size_from_arrays(problem);
  EXPECT_EQ(problem.rows, 2U);
  EXPECT_EQ(problem.columns, 3U);
}

TEST(Values, AreRefusedWithTheOptionAndTheFile) {
  const std::string text = refusal([] { values_named("-k", "no.npy"); });
  EXPECT_NE(text.find("-k: \"no.npy\" is neither a number nor a file"), std::string::npos) << text;
  const core::ScratchFolder scratch("scg-inputs");
  const std::filesystem::path file = scratch / "a.npy";
  core::write_file(file, "something else");
  EXPECT_NE(refusal([&] { values_named("-k", file.string()); }).find("not an NPY file"),
            std::string::npos);
  solver::write_npy(file, 0, 3, {});
  EXPECT_NE(refusal([&] { values_named("-k", file.string()); }).find("holds no numbers"),
            std::string::npos);
}

TEST(Boundary, NamesSides) {
  Problem problem;
  set_boundary(problem, "west=1,east=neumann,south=neumann:-0.5");
  EXPECT_EQ(problem.sides[kWest].values.constant, 1);
  EXPECT_EQ(problem.sides[kWest].condition, Condition::dirichlet);
  EXPECT_EQ(problem.sides[kEast].condition, Condition::neumann);
  EXPECT_EQ(problem.sides[kEast].values.constant, 0);
  EXPECT_EQ(problem.sides[kSouth].values.constant, -0.5);
  EXPECT_EQ(problem.sides[kNorth].condition, Condition::dirichlet);
  for (const char* text : {"", "west", "up=1", "west=1,", "west=neumannx", "west="}) {
    EXPECT_NE(refusal([&] { set_boundary(problem, text); }), "") << text;
  }
  EXPECT_EQ(refusal([&] { set_boundary(problem, "west=1,east=0,west=2"); }),
            "--boundary west is given twice; give it once");
}

}  // namespace
}  // namespace tabane::scg
