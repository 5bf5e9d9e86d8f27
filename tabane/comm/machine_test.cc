#include "tabane/comm/machine.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm::sim {
namespace {

constexpr const char* kLeast = "send.latency = 5 + 0.1 x\nsend.occupancy = 1\n";

std::string refusal(const std::string& text) {
  return core::text_of_error<core::UsageError>([&] { Machine::parse(text, "m.txt"); });
}

TEST(Law, IsASumOfProducts) {
  const Law law = Law::parse("3.1 - 0.1 lg +5e-2 x +0.02 x lg + 2 hop + 7 p + 1e-3 op");
  EXPECT_NEAR(law.at({100, 8, 3, 4000}), 3.1 - 0.3 + 5 + 6 + 6 + 56 + 4, 1e-12);
  EXPECT_EQ(Law::parse("10.6").at({1e6, 512, 9, 9}), 10.6);
  EXPECT_EQ(Law::parse(law.format()).format(), law.format());
  EXPECT_EQ(law.format(), "3.1 - 0.1 lg + 0.05 x + 0.02 x lg + 2 hop + 7 p + 0.001 op");
}

TEST(Law, IsTheLargestOfItsSums) {
  const Law law = Law::parse("2 op | 3 x | 1 + 5 x - 400");
  EXPECT_EQ(law.at({10, 1, 0, 100}), 200);
  EXPECT_EQ(law.at({100, 1, 0, 100}), 300);
  EXPECT_EQ(law.at({300, 1, 0, 100}), 1101);
  EXPECT_EQ(law.format(), "2 op | 3 x | 1 + 5 x - 400");
  EXPECT_THROW(Law::parse("1 - 1 x | 2 x - 3"), core::UsageError);  // at x = 1.2
  EXPECT_THROW(Law::parse("1 op |"), core::UsageError);
}

TEST(Machine, IsReadAsItIsWritten) {
  const std::string text = std::string("# mine\nname = cluster\r\nshape = 4x8  # torus\n\n") +
                           kLeast + "compute = 0.5 op\ncompute.dgemm = 0.1 op + 0.01 x\n";
  const Machine machine = Machine::parse(text, "m.txt");
  EXPECT_EQ(machine.name, "cluster");
  EXPECT_EQ(machine.ranks(), 32);
  EXPECT_EQ(machine.send_latency.at({100}), 15);
  EXPECT_FALSE(machine.barrier.is_given());
  EXPECT_NEAR(machine.compute.at("dgemm").at({100, 1, 0, 10}), 2, 1e-12);
  EXPECT_EQ(Machine::parse(machine.format(), "x").format(), machine.format());
  for (const Preset& preset : presets()) {
    EXPECT_EQ(Machine::parse(preset.text, preset.name).format(), preset.text) << preset.name;
  }
}

TEST(Machine, CountsHopsRoundTheTorus) {
  const Machine machine = machine_named("ap1000:4x8", 32);
  EXPECT_EQ(machine.hops(0, 0), 0);
  EXPECT_EQ(machine.hops(0, 7), 1);
  EXPECT_EQ(machine.hops(3, 3 + 4), 4);
  EXPECT_EQ(machine.hops(0, 3 * 8), 1);
  EXPECT_EQ(machine.hops(0, 2 * 8 + 4), 6);
}

TEST(Machine, TakesItsShapeFromTheRanks) {
  EXPECT_EQ(machine_named("ap1000", 12).rows, 3);
  EXPECT_EQ(machine_named("ap1000", 7).columns, 7);
}

TEST(Machine, NamesTheLineAndWhatIsLegal) {
  EXPECT_NE(refusal("\nsped = 3\n").find("m.txt, line 2: no key 'sped': give one of name, shape"),
            std::string::npos);
  for (const auto& [line, part] :
       {std::pair{"barrier", "give KEY = LAW"},
        {"barrier = ", "a number from 0"},
        {"barrier = much", "a number from 0"},
        {"barrier = -3", "a number from 0"},
        {"barrier = 3 - 1 lg", "is below 0"},
        {"barrier = 1 p - 2 lg", "is below 0 for 0 bytes, 3 ranks"},
        {"barrier = 21 + 0.1 p - 5 lg", "is below 0 for 0 bytes, 27 ranks"},
        {"barrier = 1e12", "1e+09"},
        {"barrier = 3 y", "'y' is no variable: give a number, then any of x, lg, p, hop, op"},
        {"barrier = 1\nbarrier = 2", "line 4: barrier is given twice"},
        {"shape = 4", "no shape"},
        {"shape = 4x-2", "no shape"},
        {"shape = 4.5x2", "no shape"},
        {"shape = 100x100", "at most 4096"},
        {"broadcast.latency = 3", "or neither"}}) {
    const std::string text = refusal(std::string(kLeast) + line + "\n");
    EXPECT_NE(text.find(part), std::string::npos) << line << ": " << text;
    EXPECT_TRUE(text.starts_with("m.txt")) << text;
  }
  EXPECT_NE(refusal("name = a\n").find("send.latency and send.occupancy"), std::string::npos);
}

TEST(Machine, Scales) {
  Machine machine = Machine::parse(std::string(kLeast) + "compute.a = 4 op\ncompute = 1 op\n", "m");
  scale(machine, "setup=2, byte=0.5,compute=3");
  EXPECT_EQ(machine.format(),
            "name = m\nsend.latency = 10 + 0.05 x\nsend.occupancy = 2\n"
            "compute = 3 op\ncompute.a = 12 op\n");
  scale(machine, "compute.a=0");
  EXPECT_EQ(machine.compute.at("a").at({0, 1, 0, 5}), 0);
  machine.send_latency = Law::parse("8192 - 2 hop");
  EXPECT_EQ(core::text_of_error<core::UsageError>([&] { scale(machine, "setup=0.5"); }),
            "'send.latency = 4096 - 2 hop' is below 0 for 0 bytes, 2 ranks and 4096 hops: a cost "
            "cannot be");
  machine.send_latency = Law::parse("1");
  for (const char* const bad : {"setup", "setup=-1", "setup=x", "barrier=2", "=2"}) {
    EXPECT_NE(core::text_of_error<core::UsageError>([&] { scale(machine, bad); }), "") << bad;
  }
}

}  // namespace
}  // namespace tabane::comm::sim
