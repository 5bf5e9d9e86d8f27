#include <gtest/gtest.h>

#include <regex>

#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Record measured() {
  Record record;
  record.results.push_back({.name = "memory.latency.l2", .what = "", .unit = "ns", .value = 4.25});
  record.results.push_back(
      {.name = "memory.bandwidth.read.l2.machine", .what = "", .unit = "B/s", .value = 226e9});
  Matrix latency{.unit = "ns", .rows = {"node 0", "node 1"}, .columns = {"node 0", "node 1"}};
  latency.values = {{90, 140}, {std::nullopt, 91}};
  record.views.push_back({.name = "numa.latency", .title = "", .content = latency});
  latency.unit = "B/s";
  latency.values = {{40e9, 20.5e9}, {std::nullopt, std::nullopt}};
  record.views.push_back({.name = "numa.bandwidth", .title = "", .content = latency});
  return record;
}

TEST(TopologyPicture, HasABoxForEachPart) {
  const auto machine =
      core::Topology::synthetic("pack:2 numa:1 l2:2(size=1MB) l1d:2(size=32KB) core:1 pu:2");
  const std::string svg = topology_svg(machine, {});
  EXPECT_EQ(count(svg, "class=\"node\" x"), 2u);
  EXPECT_EQ(count(svg, "class=\"cache\" x"), 4u + 8u);
  EXPECT_EQ(count(svg, "class=\"core\" x"), 8u);
  EXPECT_EQ(count(svg, "class=\"pu\" x"), 16u);
  EXPECT_EQ(count(svg, ">package "), 2u);
  EXPECT_EQ(svg.find(" ns"), svg.npos);  // nothing was measured
}

TEST(TopologyPicture, SaysWhatWasMeasured) {
  const auto machine = core::Topology::synthetic("pack:2 numa:1 l2:2(size=1MB) core:1 pu:1");
  const std::string svg = topology_svg(machine, measured());
  EXPECT_NE(svg.find("L2 977 KiB, 4.25 ns, 226 GB/s all<"), svg.npos) << svg;
  EXPECT_NE(svg.find(">to node 1: 140 ns, 20.5 GB/s<"), svg.npos);
  EXPECT_NE(svg.find(">to node 1: 91.0 ns<"), svg.npos);
  EXPECT_EQ(count(svg, ">to node 0: "), 1u);  // the other way was not measured
}

// 256 PUs are drawn below each other, not in one line.
TEST(TopologyPicture, OfAManyCoreMachineIsNoStrip) {
  const std::string svg =
      topology_svg(core::Topology::synthetic("pack:2 numa:1 l2:64 core:1 pu:2"), {});
  std::smatch size;
  ASSERT_TRUE(std::regex_search(svg, size, std::regex("width=\"(\\d+)\" height=\"(\\d+)\"")));
  EXPECT_LT(std::stoi(size[1]), 2 * std::stoi(size[2]));
  EXPECT_EQ(count(svg, "class=\"pu\" x"), 256u);
}

}  // namespace
}  // namespace tabane::lab
