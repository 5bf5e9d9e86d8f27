#include "tabane/team/memory_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <span>

#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/team/fork.h"

namespace tabane::team {
namespace {

using core::kKiB, core::kMiB;
constexpr std::size_t kHuge = 2 * kMiB;

constexpr const char* kSmaps =
    "55d0c0000000-55d0c0200000 r-xp 00001000 fe:00 247278       /usr/bin/a name with (blanks)\n"
    "Size:               2048 kB\n"
    "Rss:                 100 kB\n"
    "Anonymous:             4 kB\n"
    "VmFlags: rd ex mr mw me \n"
    "55d0c1100000-55d0c2000000 rw-p 00000000 00:00 0                          [heap]\n"
    "Anonymous:         15000 kB\n"
    "AnonHugePages:      4096 kB\n"
    "NewThing:            123 fathoms\n"
    "a line of the future\n"
    "VmFlags: rd wr mr mw me ac hg \n"
    "7f0000000000-7f0000400000 rw-s 00000000 00:01 42             /dev/zero (deleted)\n"
    "Anonymous:             0 kB\n"
    "VmFlags: rd wr sh mr mw me ms\n";

TEST(ParseMemoryMap, GivesPlaceKindAndAnonymousBytesOfEachMapping) {
  const auto map = parse_memory_map(kSmaps);
  ASSERT_EQ(map.size(), 3U);
  EXPECT_EQ(map[0].name, "/usr/bin/a name with (blanks)");
  EXPECT_TRUE(map[0].of_file);
  EXPECT_FALSE(map[0].writable);
  EXPECT_EQ(map[0].anonymous, 4 * kKiB);
  EXPECT_EQ(map[1].begin, 0x55d0c1100000U);
  EXPECT_EQ(map[1].end, 0x55d0c2000000U);
  EXPECT_EQ(map[1].name, "[heap]");
  EXPECT_FALSE(map[1].of_file);
  EXPECT_TRUE(map[1].is_private);
  EXPECT_TRUE(map[1].writable);
  EXPECT_EQ(map[1].anonymous, 15000 * kKiB);
  EXPECT_EQ(map[1].huge, 4096 * kKiB);
  EXPECT_FALSE(map[2].is_private);
}

TEST(ParseMemoryMap, KnowsFlagsAsWholeWords) {
  const auto map = parse_memory_map(kSmaps);
  EXPECT_TRUE(map.at(1).has_flag("hg"));
  EXPECT_TRUE(map.at(1).has_flag("rd"));
  EXPECT_FALSE(map.at(1).has_flag("nh"));
  EXPECT_TRUE(map.at(2).has_flag("ms"));  // the last one, without a blank after it
  EXPECT_FALSE(map.at(2).has_flag("s"));
}

TEST(ParseMemoryMap, SkipsWhatIsNotWellFormed) {
  EXPECT_TRUE(parse_memory_map("").empty());
  EXPECT_TRUE(parse_memory_map("Anonymous: 12 kB\n").empty());
  EXPECT_TRUE(parse_memory_map("abc\n12-\nf-1 rw-p 0 0:0 0\n10-20\nzz-zz rw-p 0 0:0 0\n").empty());
  const auto map = parse_memory_map("1000-2000 rw-p 0 00:00 0\nAnonymous: many kB\nAnonHugePages:");
  ASSERT_EQ(map.size(), 1U);
  EXPECT_EQ(map[0].anonymous, 0U);
  EXPECT_TRUE(map[0].name.empty());
}

Mapping plain(std::uintptr_t begin, std::size_t bytes) {
  Mapping mapping;
  mapping.begin = begin;
  mapping.end = begin + bytes;
  mapping.is_private = mapping.writable = true;
  mapping.flags = "rd wr mr mw me ac";
  return mapping;
}

TEST(PreparableRange, IsTheWholeHugePagesInside) {
  const Range range = preparable_range(plain(kHuge + 4096, 3 * kHuge), 0, kHuge);
  EXPECT_EQ(range.begin, 2 * kHuge);
  EXPECT_EQ(range.end, 4 * kHuge);
  EXPECT_EQ(preparable_range(plain(kHuge, kHuge), 0, kHuge).size(), kHuge);
  EXPECT_EQ(preparable_range(plain(kHuge + 4096, 2 * kHuge - 8192), 0, kHuge).size(), 0U);
  EXPECT_EQ(preparable_range(plain(kHuge, 0), 0, kHuge).size(), 0U);
}

TEST(PreparableRange, IsEmptyBelowTheLeastSizeAndWithoutHugePages) {
  EXPECT_GT(preparable_range(plain(kHuge, 4 * kMiB), 4 * kMiB, kHuge).size(), 0U);
  EXPECT_EQ(preparable_range(plain(kHuge, 4 * kMiB - 4096), 4 * kMiB, kHuge).size(), 0U);
  EXPECT_EQ(preparable_range(plain(kHuge, 4 * kMiB), 0, 0).size(), 0U);
}

TEST(PreparableRange, IsEmptyForWhatMustStayAsItIs) {
  const auto size_of = [](Mapping mapping) { return preparable_range(mapping, 0, kHuge).size(); };
  const Mapping good = plain(kHuge, 8 * kMiB);
  ASSERT_EQ(size_of(good), 8 * kMiB);
  Mapping mapping = good;
  mapping.is_private = false;
  EXPECT_EQ(size_of(mapping), 0U);
  mapping = good;
  mapping.writable = false;
  EXPECT_EQ(size_of(mapping), 0U);
  mapping = good;
  mapping.of_file = true;
  EXPECT_EQ(size_of(mapping), 0U);
  for (const char* name : {"[stack]", "[vdso]", "/memfd:x"}) {
    mapping = good;
    mapping.name = name;
    EXPECT_EQ(size_of(mapping), 0U) << name;
  }
  for (const char* flag : {"gd", "lo", "dc", "ht", "pf"}) {
    mapping = good;
    mapping.flags += std::string(" ") + flag;
    EXPECT_EQ(size_of(mapping), 0U) << flag;
  }
  for (const char* name : {"[heap]", "[anon:pool]"}) {
    mapping = good;
    mapping.name = name;
    EXPECT_EQ(size_of(mapping), 8 * kMiB) << name;
  }
}

TEST(PreparableBytes, AreResidentSmallPagesThatFitIntoWholeHugePages) {
  Mapping mapping = plain(kHuge + 4096, 4 * kHuge);  // three whole huge pages inside
  mapping.anonymous = kMiB;
  EXPECT_EQ(preparable_bytes(mapping, 0, kHuge), kMiB);
  mapping.anonymous = 4 * kHuge;
  EXPECT_EQ(preparable_bytes(mapping, 0, kHuge), 3 * kHuge);
  mapping.huge = 2 * kHuge;
  EXPECT_EQ(preparable_bytes(mapping, 0, kHuge), kHuge);
  mapping.huge = 3 * kHuge;  // only the ends are small
  EXPECT_EQ(preparable_bytes(mapping, 0, kHuge), 0U);
}

TEST(OwnMemoryMap, HoldsAMappingOfThisProcessAndWhatItTouched) {
  const std::size_t bytes = 16 * core::page_bytes();
  auto* const pages = static_cast<char*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  // Advice of its own keeps the mapping from being merged with a neighbour.
  ASSERT_EQ(madvise(pages, bytes, MADV_DONTDUMP), 0);
  pages[0] = pages[3 * core::page_bytes()] = 1;
  const auto at = reinterpret_cast<std::uintptr_t>(pages);
  const Mapping* found = nullptr;
  const auto map = own_memory_map();
  for (const Mapping& mapping : map) {
    if (mapping.begin <= at && at < mapping.end) found = &mapping;
  }
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->is_private);
  EXPECT_TRUE(found->writable);
  if (found->begin == at && found->end == at + bytes) {
    EXPECT_EQ(found->anonymous, 2 * core::page_bytes());
  }
  munmap(pages, bytes);
}

core::Region small_region(std::size_t bytes) {
  core::MemoryOptions options;
  options.pages = core::PageSize::small;
  return core::Region(bytes, options);
}

// A value that depends on the place, so that a swapped page shows.
std::uint64_t pattern(std::size_t i) { return i * 0x9e3779b97f4a7c15U + 1; }

void fill(std::span<std::uint64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = pattern(i);
}

std::size_t count_wrong(std::span<const std::uint64_t> words) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < words.size(); ++i) wrong += words[i] != pattern(i);
  return wrong;
}

TEST(PrivateMemory, CountsTouchedPagesOfPrivateRegions) {
  const PrivateMemory before = private_memory();
  core::Region region = small_region(32 * kMiB);
  region.touch();
  const core::Region untouched(32 * kMiB);
  const PrivateMemory after = private_memory();
  // Reading the map itself takes and gives back some pages.
  EXPECT_GE(after.small_page_bytes, before.small_page_bytes + 31 * kMiB);
  EXPECT_LT(after.small_page_bytes, before.small_page_bytes + 40 * kMiB);
  EXPECT_LE(after.preparable_bytes, after.small_page_bytes);
  if (core::huge_page_bytes() == 0) {
    EXPECT_EQ(after.preparable_bytes, 0U);
  } else {
    EXPECT_GE(after.preparable_bytes,
              before.preparable_bytes + 31 * kMiB - 2 * core::huge_page_bytes());
  }
}

TEST(PrepareForFork, KeepsTheContentAndSaysWhatBecameHuge) {
  const core::Region region = small_region(32 * kMiB);
  fill(region.as<std::uint64_t>());
  ASSERT_EQ(region.huge_bytes().value_or(0), 0U);
  const Preparation done = prepare_for_fork();
  EXPECT_EQ(count_wrong(region.as<std::uint64_t>()), 0U);
  EXPECT_GE(done.bytes, region.huge_bytes().value_or(0));
  if (done.bytes == 0) {
    EXPECT_FALSE(done.remark.empty());
    GTEST_SKIP() << done.remark;
  }
  EXPECT_GT(region.huge_bytes().value_or(0), 0U);
}

TEST(PrepareForFork, LeavesMemoryThatBothSidesCanGoOnWriting) {
  core::Region region = small_region(8 * kMiB);
  const auto words = region.as<std::uint64_t>();
  fill(words);
  prepare_for_fork();
  const pid_t child = fork_child([&] {
    const bool right = count_wrong(words) == 0;
    std::memset(words.data(), 0, words.size_bytes() / 2);
    return right && words.back() == pattern(words.size() - 1) && words[0] == 0 ? 0 : 1;
  });
  EXPECT_EQ(wait_for_child(child), 0);
  EXPECT_EQ(count_wrong(words), 0U);
  words[7] = 7;
  EXPECT_EQ(words[7], 7U);
}

TEST(PrepareForFork, TakesTheHeapToo) {
  // Many pieces below the size from which malloc makes a mapping of its own.
  std::vector<std::vector<std::uint64_t>> pieces(512, std::vector<std::uint64_t>(4096));
  for (auto& piece : pieces) fill(piece);
  const std::uint64_t small_before = private_memory().small_page_bytes;
  const Preparation done = prepare_for_fork();
  for (const auto& piece : pieces) EXPECT_EQ(count_wrong(piece), 0U);
  if (done.bytes == 0) GTEST_SKIP() << done.remark;
  EXPECT_LT(private_memory().small_page_bytes, small_before);
}

TEST(PrepareForFork, HasNothingLeftToDoTheSecondTime) {
  const core::Region region = small_region(16 * kMiB);
  fill(region.as<std::uint64_t>());
  const Preparation first = prepare_for_fork();
  if (first.bytes == 0 || first.left_bytes > 0) GTEST_SKIP() << first.remark;
  const std::size_t huge = region.huge_bytes().value_or(0);
  const Preparation second = prepare_for_fork();
  EXPECT_LT(second.bytes, kMiB * 8);
  EXPECT_EQ(region.huge_bytes().value_or(0), huge);
}

TEST(PrepareForFork, LeavesRegionsBelowTheLeastSize) {
  const core::Region region = small_region(8 * kMiB);
  fill(region.as<std::uint64_t>());
  prepare_for_fork(std::uint64_t{1} << 40);
  EXPECT_EQ(region.huge_bytes().value_or(0), 0U);
}

TEST(PrepareForFork, DoesNotFillEmptyMemory) {
  const core::Region region = small_region(256 * kMiB);
  region.data()[0] = std::byte{1};
  region.data()[region.size() / 2] = std::byte{2};
  const PrivateMemory before = private_memory();
  prepare_for_fork();
  const PrivateMemory after = private_memory();
  EXPECT_EQ(region.huge_bytes().value_or(0), 0U);
  EXPECT_EQ(region.data()[region.size() / 2], std::byte{2});
  EXPECT_LT(after.small_page_bytes + after.huge_page_bytes,
            before.small_page_bytes + before.huge_page_bytes + 32 * kMiB);
}

TEST(PrepareForFork, LeavesMemoryThatChildrenDoNotInherit) {
  const core::Region region = small_region(8 * kMiB);
  fill(region.as<std::uint64_t>());
  ASSERT_EQ(madvise(region.data(), region.size(), MADV_DONTFORK), 0);
  prepare_for_fork();
  EXPECT_EQ(region.huge_bytes().value_or(0), 0U);
  EXPECT_EQ(count_wrong(region.as<std::uint64_t>()), 0U);
}

}  // namespace
}  // namespace tabane::team
