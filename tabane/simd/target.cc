#include "tabane/simd/target.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/target.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

std::int64_t target_bit() { return HWY_TARGET; }

unsigned lanes_bytes() {
  const hwy::HWY_NAMESPACE::ScalableTag<double> d;
  return static_cast<unsigned>(hwy::HWY_NAMESPACE::Lanes(d) * sizeof(double));
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(target_bit);
HWY_EXPORT(lanes_bytes);

std::int64_t disabled_targets(const core::VectorRegisters& registers) {
  std::int64_t targets = 0;
#if HWY_ARCH_X86
  // A lower bit is a better target: those below SSE4 need the registers of AVX, those below AVX2
  // the registers of AVX-512.
  if (registers.has_avx && !registers.avx_enabled) targets |= HWY_SSE4 - 1;
  if (registers.has_avx512 && !registers.avx512_enabled) targets |= HWY_AVX2 - 1;
#else
  static_cast<void>(registers);
#endif
  return targets;
}

hwy::ChosenTarget& safe_target() {
  static hwy::ChosenTarget& chosen = []() -> hwy::ChosenTarget& {
    // Not called for nothing: a program may have disabled targets of its own.
    const std::int64_t targets = disabled_targets(core::vector_registers());
    if (targets != 0) hwy::DisableTargets(targets);
    learn_habits();
    chosen_target.store(&hwy::GetChosenTarget(), std::memory_order_release);
    return hwy::GetChosenTarget();
  }();
  return chosen;
}

namespace {

// Highway's answer. Asking it makes the library choose anew, without regard to what is disabled,
// so the choice is put right.
std::int64_t supported_targets() {
  hwy::ChosenTarget& chosen = safe_target();
  const std::int64_t targets = hwy::SupportedTargets();
  chosen.Update(targets);
  return targets & HWY_TARGETS;
}

void use_targets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  supported_targets();
}

// One bit each, the best first.
std::vector<std::int64_t> single_targets() {
  std::vector<std::int64_t> single;
  for (std::int64_t left = supported_targets(); left != 0; left &= left - 1)
    single.push_back(left & -left);
  return single;
}

}  // namespace

std::string target_name() { return hwy::TargetName(TABANE_DISPATCH(target_bit)()); }

unsigned vector_bytes() { return TABANE_DISPATCH(lanes_bytes)(); }

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const std::int64_t target : single_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

ScopedTarget::ScopedTarget(const std::string& name) {
  std::string legal;
  for (const std::int64_t target : single_targets()) {
    if (name == hwy::TargetName(target)) {
      use_targets(target);
      return;
    }
    legal += (legal.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
  }
  throw core::UsageError("no SIMD target '" + name + "' on this machine; there is " + legal);
}

ScopedTarget::~ScopedTarget() { use_targets(0); }

}  // namespace tabane::simd
#endif
