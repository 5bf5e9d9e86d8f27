#include "tabane/comm/transport/sim/fiber.h"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tabane/core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tabane::comm::sim {
namespace {

constexpr std::size_t kPageBytes = 64 * 1024;  // the largest page of the processors we know
constexpr std::size_t kStackBytes = 1 << 20;   // only what is used takes memory

std::span<std::byte> map_stack() {
  void* const memory = mmap(nullptr, kPageBytes + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw core::SystemError("mmap", "the stack of a rank", errno);
  auto* const begin = static_cast<std::byte*>(memory);
  if (mprotect(begin, kPageBytes, PROT_NONE) != 0) {
    const int code = errno;
    munmap(memory, kPageBytes + kStackBytes);
    throw core::SystemError("mprotect", "the stack of a rank", code);
  }
  return {begin + kPageBytes, kStackBytes};
}

[[maybe_unused]] std::span<const std::byte> stack_of_thread() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  return {static_cast<const std::byte*>(begin), bytes};
}

}  // namespace

Fiber::Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  bounds_ = stack_of_thread();
#endif
#if defined(__SANITIZE_THREAD__)
  sanitized_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(std::function<void()> f) : f_(std::move(f)), stack_(map_stack()), bounds_(stack_) {
#if defined(__SANITIZE_THREAD__)
  sanitized_ = __tsan_create_fiber(0);
#endif
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.data();
  context_.uc_stack.ss_size = stack_.size();
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  // It passes integers only.
  makecontext(&context_, reinterpret_cast<void (*)()>(start), 2,
              static_cast<unsigned>(std::uint64_t{self} >> 32), static_cast<unsigned>(self));
}

Fiber::~Fiber() {
  if (stack_.empty()) return;
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(sanitized_);
#endif
#if defined(__SANITIZE_ADDRESS__)
  // Its last functions never return, and what is mapped here next would be theirs.
  ASAN_UNPOISON_MEMORY_REGION(stack_.data(), stack_.size());
#endif
  munmap(stack_.data() - kPageBytes, kPageBytes + stack_.size());
}

void Fiber::start(unsigned high, unsigned low) {
  const std::uint64_t self = std::uint64_t{high} << 32 | low;
  auto* const fiber = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(self));
  fiber->arrive();
  fiber->f_();
  __builtin_unreachable();  // f does not return
}

// The exceptions that are in flight or being handled belong to a thread as the runtime sees it, but
// here to a fiber: its destructors and handlers may wait.
void Fiber::arrive() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
  std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), exceptions_.data(), exceptions_.size());
}

void Fiber::switch_to(Fiber& to, [[maybe_unused]] bool for_the_last_time) {
  std::memcpy(exceptions_.data(), static_cast<void*>(abi::__cxa_get_globals()), exceptions_.size());
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_the_last_time ? nullptr : &fake_stack_, to.bounds_.data(),
                                 to.bounds_.size());
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.sanitized_, 0);
#endif
  swapcontext(&context_, &to.context_);
  arrive();
}

}  // namespace tabane::comm::sim
