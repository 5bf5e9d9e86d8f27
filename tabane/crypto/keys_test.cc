#include "tabane/crypto/keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tabane/core/error.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/crypto/bytes_test.h"

namespace tabane::crypto {
namespace {

namespace fs = std::filesystem;

class FilesOfKeys : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

  std::string file(const std::string& content, fs::perms mode = fs::perms{0600}) const {
    return core::replace_file(path("key"), content, mode);
  }

  std::string read_key(const std::string& content, std::size_t bytes) const {
    return hex(read_key_file(file(content), bytes).key.bytes().first(bytes));
  }

  std::string refusal(const std::string& content, std::size_t bytes) const {
    return core::text_of_error<core::UsageError>([&] { read_key_file(file(content), bytes); });
  }

  std::string passphrase(const std::string& content) const {
    return hex(read_passphrase_file(file(content)).passphrase.bytes());
  }

  const core::ScratchFolder folder_{"tabane-test"};
  const fs::path directory_ = folder_.path();
};

TEST_F(FilesOfKeys, AreRawBytesOrHexadecimalDigitsOfEitherCase) {
  for (const std::size_t n : {16, 32}) {
    const std::string digits = hex(counting(n, 0xa5));
    EXPECT_EQ(read_key(as_text(counting(n, 0xa5)), n), digits);
    EXPECT_EQ(read_key(digits, n), digits);
    EXPECT_EQ(read_key(upper(digits), n), digits);
    EXPECT_EQ(read_key(digits + " \t\r\n\n", n), digits);
  }
}

TEST_F(FilesOfKeys, AreRawEvenWhenTheirBytesAreAlmostDigitsOrWhiteSpace) {
  for (const std::string raw : {"0123456789abcdeg", "               \n"}) {
    EXPECT_EQ(read_key(raw, 16), hex(from_text(raw)));
  }
}

TEST_F(FilesOfKeys, ThatMayBeHalfAKeyInHexadecimalAreRefused) {
  for (const std::size_t n : {16, 32}) {
    const std::string digits = hex(counting(n / 2, 0xa5));
    for (const std::string& text : {digits, upper(digits), digits.substr(1) + "\n"}) {
      const std::string message = refusal(text, n);
      EXPECT_NE(message.find("half of a key"), std::string::npos) << text;
      EXPECT_NE(message.find("xxd -p"), std::string::npos) << text;
      EXPECT_EQ(message.find(text.substr(0, 8)), std::string::npos) << text;
    }
  }
}

TEST_F(FilesOfKeys, OfZerosAreWeak) {
  for (const std::size_t n : {16, 32}) {
    for (const std::string& zeros : {std::string(n, '\0'), std::string(2 * n, '0')}) {
      EXPECT_NE(read_key_file(file(zeros), n).weakness.find(path("key")), std::string::npos);
    }
    std::string one(n, '\0');
    one.back() = 1;
    EXPECT_EQ(read_key_file(file(one), n).weakness, "");
  }
}

TEST_F(FilesOfKeys, OfPassphrasesWarnIfOthersCanReachThem) {
  EXPECT_EQ(read_passphrase_file(file("secret", fs::perms{0600})).warning, "");
  const std::string warning = read_passphrase_file(file("secret", fs::perms{0644})).warning;
  EXPECT_NE(warning.find("chmod 600 " + path("key")), std::string::npos);
}

TEST(WeaknessOf, IsToldOfShortPassphrases) {
  EXPECT_NE(weakness_of(Passphrase::of(from_text("1234567"))), "");
  EXPECT_EQ(weakness_of(Passphrase::of(from_text("12345678"))), "");
}

TEST_F(FilesOfKeys, OfAnyOtherLengthAreRefusedWithTheirNameAndTheLegalLengths) {
  for (const std::size_t n : {0, 1, 15, 16, 31, 33, 63, 65, 128, 1000}) {
    const std::string text = refusal(std::string(n, 'a'), 32);
    EXPECT_NE(text.find(path("key")), std::string::npos) << n;
    EXPECT_NE(text.find("32 raw bytes"), std::string::npos) << n;
    EXPECT_NE(text.find("64 hexadecimal digits"), std::string::npos) << n;
  }
  EXPECT_NE(refusal(std::string(17, 'a'), 16).find("32 hexadecimal digits"), std::string::npos);
}

TEST_F(FilesOfKeys, WithWhatIsNoDigitAreRefusedWithoutShowingIt) {
  const std::string digits = hex(counting(32, 0xa5));
  for (const char wrong : {'g', 'G', '/', ':', '@', '`', '\0', '\n'}) {
    for (const std::size_t at : {0, 1, 62}) {
      std::string text = digits;
      text[at] = wrong;
      const std::string message = refusal(text, 32);
      EXPECT_FALSE(message.empty()) << wrong << at;
      EXPECT_EQ(message.find(digits.substr(8, 8)), std::string::npos);
    }
  }
  EXPECT_FALSE(refusal("\n" + digits, 32).empty());
}

TEST_F(FilesOfKeys, ThatOthersCanReachAreReadWithAWarning) {
  const std::string content(32, 'k');
  EXPECT_EQ(read_key_file(file(content, fs::perms{0600}), 32).warning, "");
  EXPECT_EQ(read_key_file(file(content, fs::perms{0400}), 32).warning, "");
  for (const unsigned mode : {0640u, 0604u, 0644u, 0620u}) {
    const KeyFile read = read_key_file(file(content, static_cast<fs::perms>(mode)), 32);
    EXPECT_NE(read.warning.find("chmod 600 " + path("key")), std::string::npos) << mode;
    EXPECT_EQ(as_text(read.key.bytes()), content);
  }
}

TEST_F(FilesOfKeys, ThatCannotBeReadAreNamed) {
  try {
    read_key_file(path("absent"), 32);
    ADD_FAILURE();
  } catch (const core::SystemError& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_NE(std::string(error.what()).find(path("absent")), std::string::npos);
  }
  EXPECT_THROW(read_key_file(directory_.string(), 32), core::SystemError);
}

TEST_F(FilesOfKeys, MayBePipes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string digits = hex(counting(32));
  ASSERT_EQ(write(ends[1], digits.data(), digits.size()), 64);
  close(ends[1]);
  const KeyFile read = read_key_file("/dev/fd/" + std::to_string(ends[0]), 32);
  close(ends[0]);
  EXPECT_EQ(hex(read.key.bytes()), digits);
  EXPECT_EQ(read.warning, "");
}

TEST_F(FilesOfKeys, AreMadeForTheirOwnerAloneAndDifferEachTime) {
  write_new_key_file(path("one"));
  write_new_key_file(path("two"));
  struct stat status;
  ASSERT_EQ(stat(path("one").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 32);
  EXPECT_EQ(status.st_mode & 07777 & ~0600u, 0u);
  const KeyFile one = read_key_file(path("one"), 32), two = read_key_file(path("two"), 32);
  EXPECT_EQ(one.warning, "");
  EXPECT_NE(hex(one.key.bytes()), hex(two.key.bytes()));
}

TEST_F(FilesOfKeys, AreNeverReplaced) {
  const std::string there = file("do not lose me");
  fs::create_symlink(path("nowhere"), path("link"));
  for (const std::string& taken : {there, path("link")}) {
    try {
      write_new_key_file(taken);
      ADD_FAILURE();
    } catch (const core::SystemError& error) {
      EXPECT_EQ(error.code(), EEXIST);
      EXPECT_NE(std::string(error.what()).find(taken), std::string::npos);
    }
  }
  EXPECT_EQ(fs::file_size(there), 14u);
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

TEST_F(FilesOfKeys, OfPassphrasesGiveTheirFirstLine) {
  const std::string expected = hex(from_text("open sesame "));
  EXPECT_EQ(passphrase("open sesame "), expected);
  EXPECT_EQ(passphrase("open sesame \n"), expected);
  EXPECT_EQ(passphrase("open sesame \r\n"), expected);
  EXPECT_EQ(passphrase("open sesame \nsecond line\n"), expected);
}

TEST_F(FilesOfKeys, OfPassphrasesHaveOneTo1024Bytes) {
  EXPECT_EQ(passphrase(std::string(1024, 'p')).size(), 2048u);
  EXPECT_EQ(passphrase(std::string(1024, 'p') + "\r\nmore").size(), 2048u);
  EXPECT_THROW(passphrase(""), core::UsageError);
  EXPECT_THROW(passphrase("\nsecond"), core::UsageError);
  EXPECT_THROW(passphrase("\r\n"), core::UsageError);
  EXPECT_THROW(passphrase(std::string(1025, 'p')), core::UsageError);
  EXPECT_THROW(passphrase(std::string(1025, 'p') + "\n"), core::UsageError);
  EXPECT_THROW(passphrase(std::string(5000, 'p')), core::UsageError);
  EXPECT_THROW(read_passphrase_file(path("absent")), core::SystemError);
}

TEST(Passphrase, LeavesNothingWhereItWasMovedFrom) {
  Passphrase one = Passphrase::of(from_text("first"));
  Passphrase two = std::move(one);
  EXPECT_TRUE(one.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(as_text(two.bytes()), "first");
  Passphrase three = Passphrase::of(from_text("a longer one"));
  three = std::move(two);
  EXPECT_TRUE(two.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(as_text(three.bytes()), "first");
}

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

class KeyFilesTest : public testing::Test {
 protected:
  KeyFilesTest() {
    fs::create_directories(root / "in/deep");
    for (const char* name : {"in/deep/key", "other", "public"}) core::write_file(root / name, name);
    fs::create_symlink("in/deep/key", root / "link");
    files.add((root / "link").string());
    files.add((root / "public").string(), false);
    files.add((root / "missing").string());
    files.add(std::string("/dev/null"));
    files.add(std::optional<std::string>());
  }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path root = folder.path();
  KeyFiles files;
};

TEST_F(KeyFilesTest, AreKnownByAnyName) {
  fs::create_hard_link(root / "in/deep/key", root / "alias");
  for (const char* name : {"in/deep/key", "link", "alias", "public"}) {
    EXPECT_THROW(files.require_none("--json", root / name), core::UsageError) << name;
  }
  for (const char* name : {"other", "missing", "in"}) files.require_none("--json", root / name);
  files.require_none("--json", "/dev/null");
  const core::Descriptor deep = core::open_directory(root / "in/deep");
  const core::Descriptor top = core::open_directory(root);
  ASSERT_NE(files.find(deep.get(), "key"), nullptr);
  EXPECT_EQ(*files.find(deep.get(), "key"), root / "link");
  EXPECT_EQ(files.find(top.get(), "link"), nullptr);  // what a file would replace
  EXPECT_EQ(files.find(top.get(), "other"), nullptr);
}

TEST_F(KeyFilesTest, ThatAreSecretAreFoundInATree) {
  for (const char* place : {"in", "in/deep", "in/deep/key", ""}) {
    EXPECT_EQ(files.inside(root / place), Paths{(root / "link").string()}) << place;
  }
  EXPECT_EQ(files.inside(root / "other"), Paths{});
  EXPECT_EQ(files.inside(root / "missing"), Paths{});
}

}  // namespace
}  // namespace tabane::crypto
