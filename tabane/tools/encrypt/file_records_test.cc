#include "tabane/tools/encrypt/file_records.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/manifest_compare.h"

namespace tabane::encrypt {
namespace {

FileRecord record_of(std::uint64_t number) {
  FileRecord record;
  record.sealed.bytes = number;
  record.sealed.salt.fill(static_cast<std::byte>(number));
  record.seconds = -static_cast<std::int64_t>(number);
  record.known = true;
  return record;
}

class Records : public testing::Test {
 protected:
  const core::ScratchFolder folder{"tabane-test"};
  const core::Descriptor place = core::open_directory(folder.path());
};

TEST_F(Records, AreTheSameInMemoryAndInAFile) {
  constexpr std::uint64_t kCount = 1000;
  for (const auto& [directory, most_in_memory] :
       {std::pair(place.get(), kCount), std::pair(place.get(), std::uint64_t{10}),
        std::pair(-1, std::uint64_t{10})}) {
    FileRecords records(kCount, directory, most_in_memory);
    for (std::uint64_t i = 0; i < kCount; i += 2) records.put(i, record_of(i));
    for (std::uint64_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(records.get(i), i % 2 == 0 ? record_of(i) : FileRecord{}) << i;
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

// KiB of memory that the process has used at most, or 0 if the system does not tell.
std::uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

bool forget_peak() {
  std::ofstream control("/proc/self/clear_refs");
  return static_cast<bool>(control << "5" << std::flush);
}

// The most that a directory of `files` files takes on its way: tree, records, manifest written
// and compared.
void walk_through(std::uint32_t files, int directory) {
  constexpr std::uint32_t kFilesOfDirectory = 1000;
  Tree tree;
  tree.names.append("", 1);
  tree.directories.push_back({.parent = 0, .name_at = 0});
  const auto named = [&tree](char kind, std::uint32_t i) {
    const std::uint64_t at = tree.names.size();
    const std::string name = kind + std::to_string(10'000'000 + i);
    tree.names.append(name.c_str(), name.size() + 1);
    return at;
  };
  for (std::uint32_t d = 0; d < files / kFilesOfDirectory; ++d) {
    tree.directories.push_back({.parent = 0, .name_at = named('d', d)});
  }
  for (std::uint32_t i = 0; i < files; ++i) {
    tree.files.push_back(
        {.name_at = named('f', i), .bytes = i, .directory = 1 + i / kFilesOfDirectory});
  }
  FileRecords records(files, directory, 1000);
  for (std::uint32_t i = 0; i < files; ++i) records.put(i, record_of(i));

  const core::Descriptor manifest(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ManifestWriter writer({}, [&](std::span<const std::byte> bytes) {
    core::write_all(manifest.get(), bytes.data(), bytes.size(), "manifest");
  });
  ManifestEntry entry;
  for (TreeWalk walk(tree); walk.next();) {
    entry.kind = walk.kind();
    entry.path = walk.path();
    if (entry.kind == EntryKind::file) entry.sealed = records.get(walk.index()).sealed;
    writer.add(entry);
  }
  writer.finish();

  ASSERT_EQ(::lseek(manifest.get(), 0, SEEK_SET), 0);
  ManifestReader reader([&](std::span<std::byte> place) {
    return core::read_all(manifest.get(), place.data(), place.size(), "manifest");
  });
  std::uint64_t same = 0;
  merge(reader, tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
    same += listed != nullptr && found != nullptr && listed->kind == found->kind();
  });
  EXPECT_EQ(same, tree.directories.size() + files);
}

// Ten million entries are to fit into 512 MiB: a million into a tenth of it.
TEST_F(Records, LetATreeOfAMillionFilesFitIntoATenthOf512MiB) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer has memory of its own for each byte";
#endif
  if (!forget_peak()) GTEST_SKIP() << "the system does not forget the peak";
  const std::uint64_t before = peak_kib();
  walk_through(1'000'000, place.get());
  EXPECT_LT(peak_kib() - before, 512 * 1024 / 10);
}

}  // namespace
}  // namespace tabane::encrypt
