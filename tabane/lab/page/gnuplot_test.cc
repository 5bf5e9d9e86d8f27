#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tabane/lab/page/report.h"

namespace tabane::lab {
namespace {

// The "graph" height of the label of each mark.
std::vector<std::string> heights_of_marks(const std::vector<Mark>& marks) {
  Curves curves{{"run", ""}, {"time", "s"}, {{.name = "a", .x = {0, 100}, .y = {1, 2}}}};
  curves.marks = marks;
  Figure figure{.id = "x"};
  EXPECT_TRUE(plot(figure, curves, kWide));
  std::vector<std::string> heights;
  std::istringstream lines(figure.script);
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find(", graph 0.");
    if (line.starts_with("set label")) heights.push_back(line.substr(at + 8, 5));
  }
  return heights;
}

TEST(PlotOfCurves, PutsNamesOfMarksThatAreNearBelowEachOther) {
  EXPECT_EQ(heights_of_marks({{40, "looking"}, {80, "racing"}}),
            (std::vector<std::string>{"0.965", "0.965"}));
  EXPECT_EQ(heights_of_marks({{40, "looking"}, {42, "racing"}, {90, "proof"}}),
            (std::vector<std::string>{"0.965", "0.908", "0.965"}));
}

template <class Content>
std::string script_of(const Content& content, Format format = kWide) {
  Figure figure{.id = "x"};
  EXPECT_TRUE(plot(figure, content, format));
  return figure.script;
}

TEST(PlotOfCurves, HasWholeTicksOnAnAxisOfWholeNumbers) {
  const auto ticks = [](std::vector<double> x, Format format) {
    const std::vector<double> y(x.size(), 1);
    const std::string script = script_of(Curves{{"other cores at work", ""},
                                                {"latency", "ns"},
                                                {{.name = "a", .x = std::move(x), .y = y}}},
                                         format);
    const auto at = script.find("set xtics ");
    return at == std::string::npos ? "" : script.substr(at + 10, script.find('\n', at) - at - 10);
  };
  EXPECT_EQ(ticks({0, 1}, kWide), "1");
  EXPECT_EQ(ticks({0, 1, 8}, kWide), "1");
  EXPECT_EQ(ticks({0, 1, 8}, kNarrow), "2");
  EXPECT_EQ(ticks({0, 300}, kWide), "50");
  EXPECT_EQ(ticks({0, 0.5, 1}, kWide), "");
}

TEST(PlotOfCurves, HasTicksWhereAnAxisIsShort) {
  const auto ticks = [](double low, double high) {
    const std::string script = script_of(Curves{
        {"x", ""}, {"ratio", "ratio", true}, {{.name = "a", .x = {1, 2}, .y = {low, high}}}});
    const auto at = script.find("set ytics (");
    return std::count(script.begin() + long(at), script.begin() + long(script.find('\n', at)), ',');
  };
  EXPECT_GE(ticks(1, 1.01), 2);
  EXPECT_GE(ticks(1, 3), 2);
  EXPECT_LE(ticks(1e-9, 1e9), 8);
}

TEST(PlotOfBars, HasFewTicksWhereItIsNarrow) {
  const Bars bars{.unit = "ratio", .bars = {{.group = "a", .label = "b", .value = 1.3}}};
  EXPECT_NE(script_of(bars, kNarrow).find("set xtics 0.5\n"), std::string::npos);
  EXPECT_EQ(script_of(bars, kWide).find("set xtics"), std::string::npos);
}

TEST(PlotOfCurves, DrawsAFittedLineAboveTheCurves) {
  const Curve measured{.name = "a", .x = {1, 2}, .y = {1, 2}};
  Curve fitted = measured;
  fitted.role = Role::fitted;
  const std::string script = script_of(Curves{{"x", ""}, {"y", ""}, {measured, fitted, measured}});
  EXPECT_LT(script.find("data index 2"), script.find("data index 1"));
  EXPECT_NE(script.find("index 1 using 1:2 with lines lw 1.8 dt 2 lc rgb '#000000'"),
            std::string::npos);
}

TEST(PlotOfCurves, DrawsNoTwoOfManyCurvesAlike) {
  Curves curves{{"x", ""}, {"y", ""}, {}};
  for (int i = 0; i < 13; ++i)
    curves.series.push_back(
        {.name = "c" + std::to_string(i), .x = {0, 9}, .y = {1, 2}, .joined = false});
  const std::string script = script_of(curves);
  const std::regex look("points lw 1 pt [0-9]+ ps [0-9.]+ lc rgb '#[0-9a-f]+'");
  std::set<std::string> looks;
  for (std::sregex_iterator at(script.begin(), script.end(), look), end; at != end; ++at)
    looks.insert(at->str());
  EXPECT_EQ(looks.size(), 13u) << script;
}

TEST(RunGnuplot, SaysThatTheProgramIsMissing) {
  const Drawing drawing = run_gnuplot("x", "", "", "no-such-program-tabane");
  EXPECT_TRUE(drawing.missing);
  EXPECT_TRUE(drawing.svg.empty());
  EXPECT_NE(drawing.error.find("no-such-program-tabane"), std::string::npos);
}

TEST(RunGnuplot, SaysThatTheProgramFailed) {
  const Drawing drawing = run_gnuplot("x", "", "", "false");
  EXPECT_FALSE(drawing.missing);
  EXPECT_NE(drawing.error.find("x.gp"), std::string::npos);
}

TEST(RunGnuplot, SaysThatNothingWasWritten) {
  EXPECT_NE(run_gnuplot("x", "", "", "true").error.find("no x.svg"), std::string::npos);
}

// A program with this shell script, in a directory of its own.
class Program {
 public:
  explicit Program(const std::string& script) {
    std::string name = (std::filesystem::temp_directory_path() / "tabane-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory for a test");
    directory_ = name;
    std::ofstream(path()) << script;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  ~Program() { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ / "gnuplot"; }

 private:
  std::filesystem::path directory_;
};

TEST(RunGnuplot, KillsAProgramThatNeverEnds) {
  const Program program("#!/bin/sh\nexec sleep 1000\n");
  const Drawing drawing = run_gnuplot("x", "", "", program.path(), std::chrono::milliseconds(50));
  EXPECT_TRUE(drawing.hangs);
  EXPECT_FALSE(drawing.missing);
  EXPECT_NE(drawing.error.find("did not end within 0.05 s on x.gp"), std::string::npos)
      << drawing.error;
}

TEST(RunGnuplot, IsMissingOnlyIfThereIsNoSuchFile) {
  const Program no_interpreter("#!/no/such/shell\n"), exits_127("#!/bin/sh\nexit 127\n");
  EXPECT_FALSE(run_gnuplot("x", "", "", no_interpreter.path()).missing);
  EXPECT_FALSE(run_gnuplot("x", "", "", exits_127.path()).missing);
}

TEST(RunGnuplot, DrawsDataBesideTheScript) {
  const Drawing drawing =
      run_gnuplot("x", script_head("x", kWide, 400) + "plot data title 'curve'\n", "1 2\n2 3\n");
  if (drawing.missing) GTEST_SKIP() << drawing.error;
  EXPECT_EQ(drawing.error, "");
  EXPECT_NE(drawing.svg.find("curve"), std::string::npos);
}

constexpr const char* kSvg =
    "<?xml version=\"1.0\"?>\n<svg width=\"640\" height=\"400\" viewBox=\"0 0 640 400\">\n"
    "<title>Gnuplot</title><g id=\"gnuplot_canvas\">\n"
    "<rect x=\"0\" y=\"0\" width=\"640\" height=\"400\" fill=\"#ffffff\"/>\n"
    "<defs><circle id='gpDot' r='1'/></defs>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"currentColor\">\n</g>\n"
    "<g fill=\"none\" color=\"black\"><title>gnuplot_plot_1</title>"
    "<use xlink:href='#gpDot' color='rgb(  0, 114, 178)'/>"
    "<path stroke='rgb(  0,   0,   0)'/><path stroke='rgb(1,2,3)'/></g>\n</g>\n</svg>\n";

TEST(InlineSvg, ScalesAndTakesItsColoursFromThePage) {
  const std::string svg = inline_svg(kSvg, "fig", "a & b", "wide");
  EXPECT_TRUE(svg.starts_with(
      "<svg class=wide viewBox=\"0 0 640 400\" role=\"img\" aria-label=\"a &amp; b\">"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* gone : {"black", "#ffffff", "<title>", "<?xml", "width=\"640\"", "rgb("})
    EXPECT_EQ(svg.find(gone), std::string::npos) << gone;
  EXPECT_NE(svg.find("color='var(--c1,#0072b2)'"), std::string::npos);
  EXPECT_NE(svg.find("stroke='currentColor'"), std::string::npos);
  EXPECT_NE(svg.find("stroke='#010203'"), std::string::npos);
}

TEST(InlineSvg, GivesIdsOfItsOwn) {
  const std::string svg = inline_svg(kSvg, "fig", "", "wide");
  EXPECT_NE(svg.find("id='fig-gpDot'"), std::string::npos);
  EXPECT_NE(svg.find("href='#fig-gpDot'"), std::string::npos);
}

TEST(InlineSvg, IsEmptyForWhatGnuplotDidNotWrite) {
  EXPECT_EQ(inline_svg("", "fig", "", "wide"), "");
  EXPECT_EQ(inline_svg("<svg></svg>", "fig", "", "wide"), "");
}

}  // namespace
}  // namespace tabane::lab
