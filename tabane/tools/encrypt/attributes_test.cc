#include "tabane/tools/encrypt/attributes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tabane::encrypt {
namespace {

TEST(Modes, OfDecryptedFilesAreTheOwnersWithinTheUmask) {
  const ModePolicy policy{.opens = true, .mask = 022};
  EXPECT_EQ(output_mode(S_IFREG | 07777, policy), mode_t{0700});
  EXPECT_EQ(output_mode(0644, policy), mode_t{0600});
  EXPECT_EQ(output_mode(0477, policy), mode_t{0400});
  EXPECT_EQ(output_mode(0777, {.opens = true, .mask = 0277}), mode_t{0500});
}

TEST(Modes, OfSealedFilesAreTheInputsWithoutSpecialBits) {
  EXPECT_EQ(output_mode(S_IFREG | 07645, {.mask = 077}), mode_t{0645});
}

TEST(Modes, ArePreservedIfAsked) {
  for (const bool opens : {false, true}) {
    const ModePolicy policy{.opens = opens, .preserve = true, .mask = 077};
    EXPECT_EQ(output_mode(S_IFREG | 07777, policy), mode_t{07777});
    EXPECT_EQ(output_mode(0604, policy), mode_t{0604});
  }
}

TEST(Modes, KnowTheUmask) {
  for (const mode_t mask : {0000, 0022, 0077, 0777}) {
    const mode_t before = ::umask(mask);
    EXPECT_EQ(process_umask(), mask);
    ::umask(before);
  }
}

}  // namespace
}  // namespace tabane::encrypt
