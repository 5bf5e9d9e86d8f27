#include "tabane/lab/probes/rank_link.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/lab/campaign/campaign.h"

namespace tabane::lab {
namespace {

// Two ranks of a launcher that is invented.
core::HelperProgram shell(const std::string& script) {
  return {.name = "the launcher", .command = {"sh", "-c", script}};
}

std::string line(const char* way, int bytes) {
  return to_json({.way = way, .bytes = static_cast<std::uint64_t>(bytes), .samples = {1e-6, 2e-6}})
      .dump();
}

TEST(AskLink, GetsSamplesAndLeavesOutWhatALauncherSays) {
  std::vector<LinkSamples> got;
  ask_link(
      shell("echo welcome; echo '" + line("tcp", 8) + "'; echo '" + line("mpi", 16) +
            "'; echo; echo more; cat"),
      [&](const LinkSamples& one) {
        got.push_back(one);
        return true;
      },
      [] {});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].way, "mpi");
  EXPECT_EQ(got[1].bytes, 16u);
  EXPECT_EQ(got[1].samples, (std::vector<double>{1e-6, 2e-6}));
}

TEST(AskLink, SaysWhatTheLauncherSaidWhenItFailed) {
  try {
    ask_link(
        shell("echo ------ >&2; echo 'ssh: connect to host b: No route to host' >&2; exit 255"),
        [](const LinkSamples&) { return true; }, [] {});
    FAIL();
  } catch (const core::LostError& error) {
    EXPECT_STREQ(error.what(), "the launcher has ended: ssh: connect to host b: No route to host");
  }
}

TEST(AskLink, EndsAProgramThatIgnoresIt) {
  int calls = 0;
  EXPECT_THROW(
      ask_link(
          shell("trap '' TERM; while :; do sleep 1; done"), [](const LinkSamples&) { return true; },
          [&] {
            if (++calls == 2) throw Stopped();
          }),
      Stopped);
}

}  // namespace
}  // namespace tabane::lab
