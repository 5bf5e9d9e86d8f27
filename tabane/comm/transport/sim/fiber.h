// A function with a stack of its own, on the thread of whoever switches to it. A switch costs about
// a microsecond; between threads it would be a futex and a scheduler's decision.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <functional>
#include <span>

namespace tabane::comm::sim {

class Fiber {
 public:
  // The calling thread, as it is.
  Fiber();
  // f must not return: it ends with a switch for the last time. throws: core::SystemError if there
  // is no memory for a stack.
  explicit Fiber(std::function<void()> f);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves this one, which is running, for `to`; returns when somebody switches back.
  void switch_to(Fiber& to, bool for_the_last_time = false);

 private:
  static void start(unsigned high, unsigned low);
  void arrive();

  std::function<void()> f_;
  std::span<std::byte> stack_;  // of its own: with a guard page before it
  ucontext_t context_{};
  std::array<std::byte, 2 * sizeof(void*)> exceptions_{};  // the C++ runtime's, of this fiber
  // For the sanitizers: the stack, what they keep of it, and the fiber as ThreadSanitizer knows it.
  std::span<const std::byte> bounds_;
  void* fake_stack_ = nullptr;
  void* sanitized_ = nullptr;
};

}  // namespace tabane::comm::sim
