#include "tabane/tools/encrypt/manifest_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/encrypt/bytes_test.h"
#include "tabane/tools/encrypt/manifest_fuzz_test.h"

namespace tabane::encrypt {
namespace {

ManifestEntry directory(const std::string& path) {
  ManifestEntry entry;
  entry.path = path;
  entry.mode = 0755;
  return entry;
}

ManifestEntry file(const std::string& path, std::uint64_t bytes = 5, unsigned seed = 1) {
  ManifestEntry entry = directory(path);
  entry.kind = EntryKind::file;
  entry.mode = 04640;
  entry.seconds = -7;
  entry.nanoseconds = 999'999'999;
  entry.sealed.bytes = bytes;
  std::ranges::copy(counting(kFileSaltBytes, seed), entry.sealed.salt.begin());
  std::ranges::copy(counting(crypto::kTagBytes, seed + 100), entry.sealed.last_tag.begin());
  return entry;
}

ManifestEntry link(const std::string& path, const std::string& target) {
  ManifestEntry entry = directory(path);
  entry.kind = EntryKind::link;
  entry.target = target;
  return entry;
}

std::vector<ManifestEntry> some_tree() {
  return {directory(""),  directory("a"), file("a/x", 70000, 2), link("a/y", "../b"),
          file("a-b"),    directory("d"), directory("d/e"),      file("d/e/\xff\n name"),
          file("z", 0, 9)};
}

std::vector<ManifestEntry> tree_with_parts() {
  std::vector<ManifestEntry> entries = some_tree();
  entries[1].attributes = {{"system.posix_acl_default", "list"}};
  entries[2].sparse = entries[2].has_names = true;
  entries[4].same_as = "a/x";
  entries[4].attributes = {{"user.a", std::string("\0\n", 2)}, {"user.b", ""}};
  return entries;
}

constexpr ManifestHead kWithParts{.has_parts = true, .attributes = true};

Bytes written(const ManifestHead& head, const std::vector<ManifestEntry>& entries) {
  Bytes plain;
  ManifestWriter writer(head, sink_into(plain));
  for (const ManifestEntry& entry : entries) writer.add(entry);
  writer.finish();
  return plain;
}

struct Read {
  ManifestHead head;
  std::vector<ManifestEntry> entries;
};

Read read(const Bytes& plain) {
  ManifestReader reader(source_of(plain));
  Read result{.head = reader.head(), .entries = {}};
  ManifestEntry entry;
  while (reader.next(entry)) result.entries.push_back(entry);
  return result;
}

std::string refusal(const Bytes& plain) {
  return core::text_of_error<DamageError>([&] { read(plain); });
}

TEST(ManifestFormat, PutsWhatLiesBelowADirectoryBehindIt) {
  const std::vector<std::string> sorted = {"",    "a",   "a/b", "a/b/c", "a/b-",
                                           "a\n", "a-b", "a0",  "b",     "\xff"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      const int order = compare_paths(sorted[i], sorted[j]);
      EXPECT_EQ(order < 0, i < j) << sorted[i] << " " << sorted[j];
      EXPECT_EQ(order == 0, i == j) << sorted[i] << " " << sorted[j];
    }
  }
}

TEST(ManifestFormat, GivesBackEveryEntry) {
  ManifestHead head{.tree_id = {}, .generation = 77, .hidden_names = false};
  std::ranges::copy(counting(kTreeIdBytes, 50), head.tree_id.begin());
  EXPECT_EQ(read(written(head, some_tree())).entries, some_tree());
  EXPECT_EQ(read(written(head, some_tree())).head, head);

  head.hidden_names = true;
  std::vector<ManifestEntry> hidden = some_tree();
  for (ManifestEntry& entry : hidden) {
    if (entry.kind == EntryKind::file) entry.stored_name.fill(std::byte{7});
  }
  EXPECT_EQ(read(written(head, hidden)).entries, hidden);

  EXPECT_EQ(read(written(kWithParts, tree_with_parts())).entries, tree_with_parts());
  EXPECT_EQ(read(written(kWithParts, tree_with_parts())).head, kWithParts);
  EXPECT_EQ(read(written({.has_parts = true}, some_tree())).entries, some_tree());
}

// The bytes that tabane/tools/encrypt/sealed-format.md gives.
TEST(ManifestFormat, WritesTheBytesOfTheSpecification) {
  ManifestHead head{.tree_id = {}, .generation = 1, .hidden_names = false};
  std::ranges::copy(counting(kTreeIdBytes, 0), head.tree_id.begin());
  const Bytes plain = written(head, {directory(""), link("l", "t")});
  EXPECT_EQ(hex(plain),
            "54424e4d414e4902000102030405060708090a0b0c0d0e0f0100000000000000"
            "0001"
            "00ed0100000000000000000000000000"
            "000301"
            "6ced0100000000000000000000000000"
            "000174"
            "000200000000000000"
            "0000000000000000");
}

TEST(ManifestFormat, TakesPathsAndManifestsThatAreLargerThanItsBuffers) {
  std::vector<ManifestEntry> entries = {directory("")};
  std::string deep = "d";
  for (int i = 0; i < 3; ++i) {
    entries.push_back(directory(deep));
    deep += "/" + std::string(100'000, static_cast<char>('a' + i));
  }
  entries.push_back(link("l", std::string(kMostPathBytes, 't')));
  for (int i = 0; i < 5000; ++i) entries.push_back(file("m" + std::to_string(10000 + i)));
  const Bytes plain = written({}, entries);
  EXPECT_GT(plain.size(), std::size_t{1} << 20);
  EXPECT_EQ(read(plain).entries, entries);
  EXPECT_EQ(fuzz_manifest(plain), "");
}

TEST(ManifestFormat, RefusesEveryCut) {
  for (const Bytes& plain : {written({}, some_tree()), written(kWithParts, tree_with_parts())}) {
    for (std::size_t bytes = 0; bytes < plain.size(); ++bytes) {
      const std::string what = refusal(Bytes(plain.begin(), plain.begin() + std::ptrdiff_t(bytes)));
      EXPECT_EQ(what, "at byte " + std::to_string(bytes) + ": the manifest ends too early");
    }
    Bytes longer = plain;
    longer.push_back(std::byte{0});
    EXPECT_EQ(refusal(longer), "at byte " + std::to_string(plain.size()) +
                                   ": something follows the end of the manifest");
  }
}

// A manifest of the root and one more entry, whose bytes begin at 52.
TEST(ManifestFormat, NamesTheOffsetOfWhatCannotBe) {
  const Bytes good = written({}, {directory(""), file("f")});
  constexpr std::size_t kEntry = 51, kPath = kEntry + 1;
  struct Case {
    std::size_t at;
    unsigned value;
    std::size_t told;
    const char* what;
  };
  const std::size_t end = good.size() - 17;
  for (const Case& c :
       std::vector<Case>{{0, 'X', 0, "not a manifest"},
                         {7, 3, 7,
                          "a manifest in a version of the format that this tabane does not read: "
                          "it says 3, and 2 can be read here; use the tabane that wrote it"},
                         {32, 2, 32, "a flag of the manifest is not known here"},
                         {33, 2, 34, "the first entry is not the root"},
                         {kEntry, 4, kEntry, "an entry of a kind that is not known here"},
                         {kPath, 0, kPath, "the path is not legal"},
                         {kPath + 1, '/', kPath, "the path is not legal"},
                         {kPath + 1, '.', kPath, "the path is not legal"},
                         {kPath + 1, 0, kPath, "the path is not legal"},
                         {kPath + 3, 0x10, kPath + 2, "the mode is not legal"},
                         {kPath + 17, 0x7f, kPath + 14, "the time is not legal"},
                         {end + 1, 3, end + 1, "the number of entries does not fit"},
                         {end + 9, 6, end + 9, "the number of bytes does not fit"}}) {
    Bytes bad = good;
    bad[c.at] = static_cast<std::byte>(c.value);
    EXPECT_EQ(refusal(bad), "at byte " + std::to_string(c.told) + ": " + c.what);
  }
}

TEST(ManifestFormat, RefusesPartsThatCannotBe) {
  const std::string unknown = "a part of the entry is not known here";
  const std::string first = "the first name of the file is not legal";
  const std::string attribute = "an extended attribute is not legal";
  const auto refuse = [](ManifestEntry entry, ManifestHead head = kWithParts) {
    const std::string what = refusal(written(head, {directory(""), entry}));
    return what.substr(what.find(": ") + 2);
  };
  const auto with = [](ManifestEntry entry, const std::vector<Attribute>& attributes) {
    entry.attributes = attributes;
    return entry;
  };
  ManifestEntry bad = directory("d");
  bad.sparse = true;
  EXPECT_EQ(refuse(bad), unknown);
  EXPECT_EQ(refuse(with(link("l", "t"), {{"user.a", ""}})), unknown);
  EXPECT_EQ(refuse(with(file("f"), {{"user.a", ""}}), {.has_parts = true}), unknown);
  bad = file("f");
  bad.has_names = true;
  bad.same_as = "a";
  EXPECT_EQ(refuse(bad), unknown);
  bad.has_names = false;
  for (const char* name : {"f", "g", "/a", "../a", "a/../b", "a//b"}) {
    bad.same_as = name;
    EXPECT_EQ(refuse(bad), first) << name;
  }
  for (const char* name : {"", "user.", "security.capability", "trusted.x", "system.x", "User.a"}) {
    EXPECT_EQ(refuse(with(file("f"), {{name, ""}})), attribute) << name;
  }
  EXPECT_EQ(refuse(with(file("f"), {{"user.b", ""}, {"user.a", ""}})), attribute);
  EXPECT_EQ(refuse(with(file("f"), {{"user.a", ""}, {"user.a", ""}})), attribute);
  EXPECT_EQ(refuse(with(file("f"), {{std::string("user.\0", 6), ""}})), attribute);
  const std::string half(kMostAttributeBytes / 2, 'v');
  EXPECT_EQ(refuse(with(file("f"), {{"user.a", half}, {"user.b", half}})), attribute);
  Bytes alone = written({}, {directory("")});
  alone[32] = std::byte{8};  // attributes without parts
  EXPECT_EQ(refusal(alone), "at byte 32: a flag of the manifest is not known here");
}

TEST(ManifestFormat, RefusesLengthsThatCannotBe) {
  const Bytes good = written({}, {directory(""), directory("f")});
  const auto with_length = [&](const std::string& digits) {
    Bytes bad(good.begin(), good.begin() + 52);
    const Bytes length = from_hex(digits);
    bad.insert(bad.end(), length.begin(), length.end());
    bad.insert(bad.end(), good.begin() + 53, good.end());
    return refusal(bad);
  };
  EXPECT_EQ(with_length("01"), "");
  for (const char* digits : {"8100", "ffffff7f", "8180808001", "ffffffffffffffffff7f"}) {
    EXPECT_EQ(with_length(digits), "at byte 52: the length of the path is not legal") << digits;
  }
}

TEST(ManifestFormat, RefusesPathsOutOfOrder) {
  const auto refuse_last = [](const std::vector<ManifestEntry>& entries) -> std::string {
    PathOrder order;
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
      EXPECT_EQ(order.refuse(entries[i].kind, entries[i].path), nullptr) << entries[i].path;
    }
    const char* what = order.refuse(entries.back().kind, entries.back().path);
    return what == nullptr ? "" : what;
  };
  const ManifestEntry root = directory("");
  EXPECT_EQ(refuse_last({file("a")}), "the first entry is not the root");
  EXPECT_EQ(refuse_last({root, root}), "the path is not legal");
  const std::string order = "the path does not come behind the one before it";
  EXPECT_EQ(refuse_last({root, file("a"), file("a")}), order);
  EXPECT_EQ(refuse_last({root, file("b"), file("a")}), order);
  EXPECT_EQ(refuse_last({root, directory("a"), file("a-"), file("a/b")}), order);
  const std::string place = "the path is in no directory that came before it";
  EXPECT_EQ(refuse_last({root, file("a"), file("a/b")}), place);
  EXPECT_EQ(refuse_last({root, file("a/b")}), place);
  EXPECT_EQ(refuse_last({root, directory("a"), directory("a/b"), file("a/bc/d")}), place);
  EXPECT_EQ(refuse_last({root, directory("a"), directory("a/b"), file("a/c")}), "");
  for (const char* path : {"/a", "a/", "a//b", "a/..", "./a"}) {
    EXPECT_EQ(refuse_last({root, directory("a"), file(path)}), "the path is not legal") << path;
  }
}

TEST(FuzzManifest, AcceptsOnlyWhatTheWriterWouldWrite) {
  const Bytes originals[] = {written({}, some_tree()), written(kWithParts, tree_with_parts())};
  std::mt19937_64 random(12);
  std::map<std::string, int> seen;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = originals[i % 2];
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) {
      const std::size_t at = random() % bytes.size();
      if (random() % 8 == 0) {
        bytes.resize(at + 1);
      } else if (random() % 2 == 0) {
        flip(bytes, 8 * at + random() % 8);
      } else {
        bytes[at] = static_cast<std::byte>(random() % 4);
      }
    }
    const std::string refused = fuzz_manifest(bytes);
    ++seen[refused.substr(refused.find(':') + 1)];
  }
  EXPECT_GT(seen.size(), 14u);  // nearly each thing that can be wrong
  EXPECT_GT(seen[""], 0);       // changes of what is free: times, salts, names
  for (int i = 0; i < 2000; ++i) {
    EXPECT_NE(fuzz_manifest(random_bytes(random() % 300, random)), "");
  }
}

}  // namespace
}  // namespace tabane::encrypt
