#include "tabane/workloads/aes_dir/sha256.h"

#include <gtest/gtest.h>

#include "tabane/workloads/aes_dir/test_bytes.h"

namespace tabane::workloads::aes_dir {
namespace {

std::string sum_of(const std::vector<std::string>& pieces) {
  Sha256Stream sum;
  for (const std::string& piece : pieces) sum.put(from_text(piece));
  return hex(sum.finish());
}

TEST(Sha256Stream, GivesTheSumsOfTheStandard) {  // FIPS 180-4, examples
  EXPECT_EQ(sum_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of({"abc"}), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum_of({"a", "", "bc"}), sum_of({"abc"}));
}

}  // namespace
}  // namespace tabane::workloads::aes_dir
