#include "tabane/tools/scg/inputs.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/scratch_folder.h"

namespace tabane::scg {
namespace {

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return "";
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
  EXPECT_TRUE(take_size_from_arrays(problem));
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
