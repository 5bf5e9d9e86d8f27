#include "tabane/simd/target.h"

#include <string_view>

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/target.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

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

namespace {
void use_targets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}
}  // namespace

std::string target_name() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(target_bit)()); }

unsigned vector_bytes() { return HWY_DYNAMIC_DISPATCH(lanes_bytes)(); }

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

ScopedTarget::ScopedTarget(const std::string& name) {
  std::string legal;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
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
