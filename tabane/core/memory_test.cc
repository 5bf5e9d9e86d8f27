#include "tabane/core/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

std::size_t pages(const std::map<int, std::size_t>& per_node) {
  std::size_t sum = 0;
  for (const auto& [node, count] : per_node) sum += count;
  return sum;
}

// A node of this machine that has memory, as the kernel numbers it.
unsigned some_node() {
  const auto machine = Topology::detect();
  for (const NumaNode& node : machine.numa_nodes()) {
    if (node.bytes > 0) return node.os_index;
  }
  return machine.numa_nodes().front().os_index;
}

TEST(CacheLineBytes, AreThoseOfTheFirstCache) {
  EXPECT_EQ(cache_line_bytes() & (cache_line_bytes() - 1), 0u);
  const auto first = Topology::detect().cache(1);
  if (!first || first->line_bytes == 0) GTEST_SKIP() << "hwloc knows no line";
  EXPECT_EQ(cache_line_bytes(), first->line_bytes);
}

TEST(PageBytes, IsAPowerOfTwoThatDividesTheHugePage) {
  EXPECT_GE(page_bytes(), 4096u);
  EXPECT_EQ(page_bytes() & (page_bytes() - 1), 0u);
  EXPECT_EQ(huge_page_bytes() % page_bytes(), 0u);
  EXPECT_TRUE(!huge_pages_possible() || huge_page_bytes() > page_bytes());
}

TEST(Region, IsZeroedWritableAndMadeOfWholePages) {
  Region region(page_bytes() + 1);
  ASSERT_EQ(region.size(), 2 * page_bytes());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % page_bytes(), 0u);
  for (const int value : region.as<int>()) ASSERT_EQ(value, 0);
  std::ranges::fill(region.as<int>(), 7);
  EXPECT_EQ(region.as<int>().back(), 7);
  EXPECT_EQ(region.as<int>().size(), region.size() / sizeof(int));
}

TEST(Region, OfNoBytesOrTooManyIsRefused) {
  EXPECT_THROW(Region(0), UsageError);
  EXPECT_THROW(Region(SIZE_MAX), SystemError);
  EXPECT_THROW(Region(SIZE_MAX / 4), SystemError);
}

TEST(Region, MovesItsMapping) {
  Region a(page_bytes());
  std::byte* const data = a.data();
  data[0] = std::byte{42};
  Region b(std::move(a));
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.size(), 0u);
  EXPECT_EQ(b.data(), data);
  Region c(3 * page_bytes());
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.size(), page_bytes());
  EXPECT_EQ(c.data()[0], std::byte{42});
}

TEST(Region, AskedForHugePagesIsAlignedToThem) {
  if (huge_page_bytes() == 0) GTEST_SKIP() << "this system has no transparent huge pages";
  const Region region(1, {.nodes = {}, .pages = PageSize::huge});
  EXPECT_EQ(region.size(), huge_page_bytes());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % huge_page_bytes(), 0u);
}

TEST(Region, WastesNoHugePage) {
  const std::size_t huge = huge_page_bytes();
  if (huge == 0) GTEST_SKIP() << "this system has no transparent huge pages";
  const MemoryOptions options{.nodes = {}, .pages = PageSize::huge_if_large};
  EXPECT_EQ(Region(huge / 2 - 1, options).size(), huge / 2);
  EXPECT_EQ(Region(huge / 2, options).size(), huge);
}

TEST(Region, TellsTheHugeBytesOfItsOwnMappingOnly) {
  const std::size_t huge = huge_page_bytes();
  if (huge == 0) GTEST_SKIP() << "this system has no transparent huge pages";
  Region large(2 * huge, {.nodes = {}, .pages = PageSize::huge});
  Region small(2 * huge, {.nodes = {}, .pages = PageSize::small});
  Region untouched(2 * huge, {.nodes = {}, .pages = PageSize::huge});
  large.touch();
  small.touch();
  if (!large.huge_bytes()) GTEST_SKIP() << "this system does not tell";
  EXPECT_LE(*large.huge_bytes(), large.size());
  EXPECT_EQ(small.huge_bytes(), std::size_t{0});
  EXPECT_EQ(untouched.huge_bytes(), std::size_t{0});
}

TEST(Region, TouchMakesEveryPageAndKeepsTheContents) {
  Region region(5 * page_bytes());
  region.data()[page_bytes()] = std::byte{9};
  if (const auto before = region.pages_per_node()) {
    EXPECT_EQ(pages(*before), 5u);
    EXPECT_EQ(before->at(-1), 4u);
  }
  region.touch();
  EXPECT_EQ(region.data()[page_bytes()], std::byte{9});
  if (const auto after = region.pages_per_node()) {
    EXPECT_EQ(pages(*after), 5u);
    EXPECT_EQ(after->count(-1), 0u);
  }
}

TEST(Region, AsksAboutMorePagesThanOneQueryHolds) {
  const std::size_t count = 16384 + 3;
  const Region region(count * page_bytes(), {.nodes = {}, .pages = PageSize::small});
  const auto per_node = region.pages_per_node();
  ASSERT_EQ(per_node.has_value(), numa_calls_available());
  if (!per_node) return;
  EXPECT_EQ(*per_node, (std::map<int, std::size_t>{{-1, count}}));
}

TEST(Region, BoundToANodeIsThere) {
  const unsigned node = some_node();
  for (const MemoryPolicy policy :
       {MemoryPolicy::bind, MemoryPolicy::interleave, MemoryPolicy::preferred}) {
    Region region(4 * page_bytes(), {.policy = policy, .nodes = {node}});
    region.touch();
    const auto per_node = region.pages_per_node();
    if (per_node && policy != MemoryPolicy::preferred) {
      EXPECT_EQ(*per_node, (std::map<int, std::size_t>{{static_cast<int>(node), 4}}));
    }
  }
}

TEST(Region, WithoutABindingHasNoNodes) {
  EXPECT_THROW(Region(1, {.policy = MemoryPolicy::first_touch, .nodes = {0}}), UsageError);
  EXPECT_THROW(Region(1, {.policy = MemoryPolicy::bind, .nodes = {}}), UsageError);
}

TEST(Region, RefusesNodesThatDoNotExistAndNamesThem) {
  for (const unsigned node : {1023u, 1024u, 60'000u}) {
    try {
      const Region region(1, {.policy = MemoryPolicy::bind, .nodes = {node}});
      ADD_FAILURE() << node;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(node)), std::string::npos);
    }
  }
}

TEST(ProcessMemoryPolicy, AcceptsNodesThatExistAndRefusesOthers) {
  set_process_memory_policy({.policy = MemoryPolicy::interleave, .nodes = {some_node()}});
  set_process_memory_policy({});
  EXPECT_THROW(set_process_memory_policy({.policy = MemoryPolicy::bind, .nodes = {1023}}),
               UsageError);
  EXPECT_THROW(set_process_memory_policy({.policy = MemoryPolicy::bind, .nodes = {}}), UsageError);
}

}  // namespace
}  // namespace tabane::core
