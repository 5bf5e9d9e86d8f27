#include "tabane/tools/encrypt/manifest_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/bytes_test.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;

StreamSeal seal_of(unsigned key) {
  StreamSeal seal{.header = counting(100), .keys = {}, .chunk_bytes = 4096};
  std::ranges::copy(counting(32, key), seal.keys.key.bytes().begin());
  return seal;
}

class ManifestFile : public testing::Test {
 protected:
  ManifestHash write(unsigned files, bool commit = true) const {
    ManifestFileWriter writer(directory, seal_of(1), {.tree_id = {}, .generation = files});
    ManifestEntry entry;
    writer.add(entry);
    entry.kind = EntryKind::file;
    for (unsigned i = 0; i < files; ++i) {
      entry.path = std::to_string(10000 + i);
      writer.add(entry);
    }
    return commit ? writer.commit(true) : ManifestHash{};
  }

  // Returns the number of entries.
  unsigned read(unsigned key, ManifestHash& root) const {
    const core::Descriptor file(::open(place.c_str(), O_RDONLY | O_CLOEXEC));
    Bytes header(100);
    EXPECT_EQ(core::read_all(file.get(), header.data(), header.size(), "test"), header.size());
    EXPECT_EQ(header, counting(100));
    ManifestFileReader reader(file.get(), seal_of(key));
    unsigned entries = 0;
    for (ManifestEntry entry; reader.next(entry);) ++entries;
    EXPECT_EQ(reader.head().generation + 1, entries);
    root = reader.root();
    return entries;
  }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path place = folder / kManifestName;
  const core::SharedDescriptor directory =
      std::make_shared<const core::Descriptor>(core::open_directory(folder.path()));
};

TEST_F(ManifestFile, ComesBackWithItsRootWhichIsTheSumOfTheFile) {
  for (const unsigned files : {0u, 3u, 2000u}) {
    const ManifestHash written = write(files);
    ManifestHash seen{};
    EXPECT_EQ(read(1, seen), files + 1);
    EXPECT_EQ(seen, written);
    crypto::Sha256Stream sum;
    sum.put(from_text(core::read_file(place)));
    EXPECT_EQ(sum.finish(), written);
    EXPECT_EQ(parse_manifest_hash(crypto::hexadecimal(written)), written);
  }
  EXPECT_EQ(fs::status(place).permissions(), fs::perms{0600});
}

TEST_F(ManifestFile, StaysAsItWasUntilTheNewOneIsWhole) {
  const ManifestHash first = write(5);
  write(9, false);
  ManifestHash seen{};
  EXPECT_EQ(read(1, seen), 6u);
  EXPECT_EQ(seen, first);
  EXPECT_NE(write(9), first);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST_F(ManifestFile, IsRefusedWithAnyBitFlippedCutOrWithAnotherKey) {
  write(300);
  ManifestHash seen{};
  EXPECT_THROW(read(2, seen), DamageError);
  const std::string good = core::read_file(place);
  for (std::size_t bit = 8 * 100; bit < 8 * good.size(); bit += 4001) {
    core::write_file(place, good);
    core::flip_bits(place, bit / 8, 1 << bit % 8);
    EXPECT_THROW(read(1, seen), DamageError) << bit;
  }
  for (std::size_t bytes = 100; bytes < good.size(); bytes += 501) {
    core::write_file(place, good.substr(0, bytes));
    EXPECT_THROW(read(1, seen), DamageError) << bytes;
  }
  core::write_file(place, good + '\0');
  EXPECT_THROW(read(1, seen), DamageError);
}

}  // namespace
}  // namespace tabane::encrypt
