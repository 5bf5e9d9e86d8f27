#include "tabane/tools/encrypt/identity.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/crypto/keys.h"
#include "tabane/tools/encrypt/slot_vectors_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::text_of_error;

// Bob of RFC 7748, by the reference of BIP 173.
const std::string kRecipient = "tabane1m60dkltm0hqmf56mv8pweep4xulcxs7gtduxwnddl3lpgmug9d8sx9p30r";
const std::string kIdentity =
    "TABANE-SECRET-KEY-1TK4SSLNZF29YK70P079C8QQWUEHNHVFFYCVTDLGU979J0LUGUR4S9W8WCX";

class Pairs : public testing::Test {
 protected:
  std::string file(const std::string& content, fs::perms mode = fs::perms{0600}) const {
    return core::replace_file(path("pair"), content, mode);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  const core::ScratchFolder folder_{"tabane-test"};
};

TEST_F(Pairs, HaveTheTextsOfThePublishedVector) {
  EXPECT_EQ(text_of(crypto::x25519_public(vectors::secret())), kRecipient);
  EXPECT_EQ(parse_recipient(kRecipient), crypto::x25519_public(vectors::secret()));
  const IdentityFile read = read_identity_file(file("# mine\n\n  " + kIdentity + "\r\n"));
  ASSERT_EQ(read.identities.size(), 1u);
  EXPECT_EQ(hex(read.identities[0].secret.bytes()), hex(vectors::secret().bytes()));
  EXPECT_EQ(text_of(read.identities[0].recipient), kRecipient);
  EXPECT_EQ(read.warning, "");
}

TEST_F(Pairs, AreMadeForTheirOwnerAloneAndDifferEachTime) {
  const Recipient made = write_new_identity(path("one"));
  struct stat seen {};
  ASSERT_EQ(stat(path("one").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 07777u, 0600u);
  EXPECT_EQ(read_identity_file(path("one")).identities.at(0).recipient, made);
  EXPECT_TRUE(core::read_file(path("one")).starts_with("# public key: " + text_of(made) + "\n"));
  EXPECT_NE(write_new_identity(path("two")), made);
  EXPECT_THROW(write_new_identity(path("one")), core::SystemError);
  EXPECT_EQ(read_identity_file(path("one")).identities.at(0).recipient, made);
}

TEST_F(Pairs, RecipientsComeFromTextOrFromTheLinesOfAFile) {
  const std::string other = text_of(write_new_identity(path("other")));
  EXPECT_EQ(read_recipients(kRecipient).size(), 1u);
  const auto read = read_recipients(file("# bob\n" + kRecipient + "\n\n" + other));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(text_of(read[0]), kRecipient);
  EXPECT_EQ(text_of(read[1]), other);
}

TEST_F(Pairs, IdentitiesThatOthersCanReadAreReadWithAWarning) {
  EXPECT_NE(read_identity_file(file(kIdentity, fs::perms{0640})).warning.find("chmod 600"),
            std::string::npos);
}

TEST_F(Pairs, MalformedRecipientsAreRefusedWithTheReason) {
  const struct {
    std::string what, text, reason;
  } cases[] = {
      {"empty", "", "not a recipient"},
      {"another kind", "age1m60dkltm0hqmf56mv8pweep4xulcxs7gtduxwnddl3lpgmug9d8s0dmj33",
       "not a recipient"},
      {"a character changed", "tabane1p60dkltm0hqmf56mv8pweep4xulcxs7gtduxwnddl3lpgmug9d8sx9p30r",
       "checksum"},
      {"the last character missing", kRecipient.substr(0, kRecipient.size() - 1), "checksum"},
      {"mixed cases", "TABANE" + kRecipient.substr(6), "checksum"},
      {"a prefix that goes on", "tabane1x1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", "checksum"},
      {"31 bytes", "tabane1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq86pp05", "length"},
      {"the point 0", "tabane1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqasxkqs",
       "small order"},
      {"a point of order 8", "tabane1ur4h5lpmgxu2u9jku0a0r87ydtdqnr0tnsetrlvxvgz3vh6fhqqqtv3kjh",
       "small order"},
      {"an identity", kIdentity, "secret"},
  };
  for (const auto& one : cases) {
    const std::string told = text_of_error<core::UsageError>([&] { parse_recipient(one.text); });
    EXPECT_NE(told.find(one.reason), std::string::npos) << one.what << ": " << told;
  }
}

// Their shared secret is that of another text, but a slot is bound to the text.
TEST_F(Pairs, RecipientsThatNoIdentityHasAreRefused) {
  Recipient with_highest_bit = parse_recipient(kRecipient);
  with_highest_bit.back() |= std::byte{0x80};
  Recipient of_9{}, largest{};  // 2^255 - 19 + 9; 2^255 - 19 - 3
  of_9.fill(std::byte{0xff});
  of_9.back() = std::byte{0x7f};
  largest = of_9;
  of_9.front() = std::byte{0xf6};
  largest.front() = std::byte{0xea};
  for (const Recipient& recipient : {with_highest_bit, of_9}) {
    const std::string told =
        text_of_error<core::UsageError>([&] { parse_recipient(text_of(recipient)); });
    EXPECT_NE(told.find("no identity"), std::string::npos) << told;
  }
  EXPECT_EQ(parse_recipient(text_of(largest)), largest);
}

TEST_F(Pairs, SecretsGivenInPlaceOfTheirFilesAreNotShown) {
  const std::string digits = hex(vectors::secret().bytes());
  for (const std::string& secret :
       {kIdentity, "# public key: " + kRecipient + "\n" + kIdentity + "\n", kIdentity.substr(0, 60),
        digits, upper(digits) + "\n", digits.substr(1)}) {
    for (const auto& read :
         {std::function<void()>([&] { read_identity_file(secret); }),
          std::function<void()>([&] { read_recipients(secret); }),
          std::function<void()>([&] { crypto::read_key_file(secret, 32); }),
          std::function<void()>([&] { crypto::read_passphrase_file(secret); })}) {
      const std::string told = text_of_error<core::UsageError>(read);
      EXPECT_NE(told.find("a secret key where the name of its file is wanted"), std::string::npos);
      EXPECT_EQ(told.find(secret.substr(20, 20)), std::string::npos) << told;
    }
  }
  const std::string told =
      text_of_error([] { crypto::read_passphrase_file("correct horse battery"); });
  EXPECT_NE(told.find("no such file"), std::string::npos) << told;
  EXPECT_EQ(told.find("horse"), std::string::npos) << told;
}

TEST_F(Pairs, MalformedFilesAreRefusedWithTheirNameAndLineWithoutShowingASecret) {
  const std::string cut = kIdentity.substr(0, kIdentity.size() - 2);
  for (const auto& [content, reason] : std::initializer_list<std::pair<std::string, std::string>>{
           {"\n" + cut + "\n", "line 2: the identity is mistyped"},
           {"#\n\nhello\n", "line 3: not an identity"},
           {kRecipient, "line 1: a recipient"},
           {"# nothing\n", "no identity"},
           {std::string(70000, '#'), "larger than"}}) {
    const std::string told =
        text_of_error<core::UsageError>([&] { read_identity_file(file(content)); });
    EXPECT_NE(told.find(path("pair")), std::string::npos) << told;
    EXPECT_NE(told.find(reason), std::string::npos) << told;
    EXPECT_EQ(told.find(cut.substr(20)), std::string::npos);
  }
  const std::string told = text_of_error<core::UsageError>(
      [&] { read_recipients(file(kRecipient + "\n" + kIdentity)); });
  EXPECT_NE(told.find("line 2: an identity"), std::string::npos) << told;
  EXPECT_NE(
      text_of_error<core::UsageError>([&] { read_recipients(file("")); }).find("no recipient"),
      std::string::npos);
  EXPECT_THROW(read_recipients(path("absent")), core::SystemError);
  EXPECT_THROW(read_identity_file(path("absent")), core::SystemError);
}

}  // namespace
}  // namespace tabane::encrypt
