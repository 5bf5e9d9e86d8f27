#include "tabane/tools/tune/collectives.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

TEST(CommandLine, LeavesOutWhatIsFalseZeroOrEmpty) {
  const std::string line = CommandLine("tabane tune x")
                               .add("--quick", true)
                               .add("--loud", false)
                               .add("--files", std::vector<int>{10, 100})
                               .add("--sizes", std::vector<int>{})
                               .add("-n", 4)
                               .add("--runs", 0)
                               .add("--dir", std::string("/tmp"))
                               .add("--text", std::string());
  EXPECT_EQ(line, "tabane tune x --quick --files 10,100 -n 4 --dir /tmp");
}

}  // namespace
}  // namespace tabane::lab
