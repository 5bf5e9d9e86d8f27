#include "tabane/comm/transport/sim/fiber.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tabane::comm::sim {
namespace {

TEST(Fiber, GoesOnWhereItWas) {
  std::string trace;
  Fiber main;
  std::unique_ptr<Fiber> a, b;
  a = std::make_unique<Fiber>([&] {
    trace += "a1 ";
    a->switch_to(*b);
    trace += "a2 ";
    a->switch_to(main, true);
  });
  b = std::make_unique<Fiber>([&] {
    trace += "b1 ";
    b->switch_to(*a, true);
  });
  main.switch_to(*a);
  EXPECT_EQ(trace, "a1 b1 a2 ");
}

TEST(Fiber, HandlesItsOwnExceptions) {
  std::string caught;
  Fiber main;
  std::unique_ptr<Fiber> other;
  other = std::make_unique<Fiber>([&] {
    try {
      throw 2;
    } catch (int) {
      other->switch_to(main);
      try {
        throw;
      } catch (int number) {
        caught += std::to_string(number);
      }
    }
    other->switch_to(main, true);
  });
  try {
    throw 1;
  } catch (int) {
    main.switch_to(*other);
    try {
      throw;
    } catch (int number) {
      caught += std::to_string(number);
    }
    main.switch_to(*other);
  }
  EXPECT_EQ(caught, "12");
}

}  // namespace
}  // namespace tabane::comm::sim
