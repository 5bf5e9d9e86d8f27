#include "tabane/tools/encrypt/manifest_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tabane/tools/encrypt/bytes_test.h"

namespace tabane::encrypt {
namespace {

Salt salt_of(unsigned number) {
  Salt salt;
  std::ranges::copy(counting(kFileSaltBytes, number), salt.begin());
  return salt;
}

// Files of the root by name, with the number of their salt.
using Files = std::map<std::string, unsigned>;

Bytes manifest_of(const Files& files) {
  Bytes plain;
  ManifestWriter writer({}, sink_into(plain));
  ManifestEntry entry;
  writer.add(entry);
  entry.kind = EntryKind::file;
  for (const auto& [name, number] : files) {
    entry.path = name;
    entry.sealed.salt = salt_of(number);
    writer.add(entry);
  }
  writer.finish();
  return plain;
}

Tree tree_of(const Files& files) {
  Tree tree;
  tree.names.append("", 1);
  tree.directories.push_back({.parent = 0, .name_at = 0});
  for (const auto& [name, number] : files) {
    tree.files.push_back({.name_at = tree.names.size(), .bytes = 0, .directory = 0});
    tree.names.append(name.c_str(), name.size() + 1);
  }
  return tree;
}

// What `now` is, held against a manifest of `sealed`.
std::vector<TreeDifference> differences(const Files& sealed, const Files& now) {
  const Bytes plain = manifest_of(sealed);
  const Tree tree = tree_of(now);
  DifferenceFinder finder;
  ManifestReader first(source_of(plain));
  merge(first, tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
    if (found == nullptr) {
      finder.add(Difference::missing, listed->path);
    } else if (found->kind() == EntryKind::file) {
      const Salt salt = salt_of(now.at(found->path()));
      if (listed == nullptr) {
        finder.add(Difference::added, found->path(), salt);
      } else if (listed->sealed.salt != salt) {
        finder.add(Difference::rolled_back, found->path(), salt);
      }
    }
  });
  if (finder.wants_look_up()) {
    ManifestReader second(source_of(plain));
    ManifestEntry entry;
    while (second.next(entry)) finder.look_up(entry);
  }
  return finder.take();
}

using Found = std::vector<TreeDifference>;

TEST(ManifestCompare, NamesWhatWasDoneToATree) {
  const Files sealed = {{"a", 1}, {"b", 2}, {"c", 3}};
  struct Case {
    const char* what;
    Files now;
    Found expected;
  };
  for (const Case& c : std::vector<Case>{
           {"nothing", sealed, {}},
           {"deleted", {{"a", 1}, {"c", 3}}, {{Difference::missing, "b", ""}}},
           {"added", {{"a", 1}, {"b", 2}, {"bb", 9}, {"c", 3}}, {{Difference::added, "bb", ""}}},
           {"copied", {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 1}}, {{Difference::added, "d", "a"}}},
           {"renamed", {{"b", 2}, {"c", 3}, {"z", 1}}, {{Difference::renamed, "z", "a"}}},
           {"exchanged",
            {{"a", 2}, {"b", 1}, {"c", 3}},
            {{Difference::exchanged, "a", "b"}, {Difference::exchanged, "b", "a"}}},
           {"one over another",
            {{"a", 1}, {"b", 1}, {"c", 3}},
            {{Difference::exchanged, "b", "a"}}},
           {"moved over another",
            {{"b", 1}, {"c", 3}},
            {{Difference::missing, "a", ""}, {Difference::exchanged, "b", "a"}}},
           {"rolled back", {{"a", 1}, {"b", 8}, {"c", 3}}, {{Difference::rolled_back, "b", ""}}},
           {"renamed and copied",
            {{"b", 2}, {"c", 3}, {"y", 1}, {"z", 1}},
            {{Difference::renamed, "y", "a"}, {Difference::added, "z", "a"}}}}) {
    EXPECT_EQ(differences(sealed, c.now), c.expected) << c.what;
  }
}

TEST(ManifestCompare, MergesWhateverIsLongerOrEmpty) {
  const Files none, some = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(differences(none, none), Found{});
  EXPECT_EQ(differences(none, some),
            (Found{{Difference::added, "a", ""}, {Difference::added, "b", ""}}));
  EXPECT_EQ(differences(some, none),
            (Found{{Difference::missing, "a", ""}, {Difference::missing, "b", ""}}));
}

TEST(ManifestCompare, TellsEveryKindInASentenceOfItsOwn) {
  std::map<std::string, int> texts, names;
  for (const Difference kind :
       {Difference::missing, Difference::added, Difference::other_kind, Difference::renamed,
        Difference::exchanged, Difference::rolled_back, Difference::changed}) {
    ++texts[text_of({kind, "here", ""})];
    ++names[std::string(name_of(kind))];
  }
  EXPECT_EQ(texts.size(), 7u);
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(text_of({Difference::renamed, "b", "a"}), "was renamed: it is 'a'");
}

}  // namespace
}  // namespace tabane::encrypt
