// Highway's functions, found in its library when one of them is called first. Highway 1.0 measures
// the clock when it is loaded: 4 ms, twice what the rest of a start takes.
#include <dlfcn.h>
#include <hwy/targets.h>

#include "tabane/core/error.h"

namespace {

// mangled: as C++ compilers on Unix name it.
template <class Function>
Function* in_highway(const char* mangled) {
  static void* const library = dlopen("libhwy.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const found = library != nullptr ? dlsym(library, mangled) : nullptr;
  if (found == nullptr) throw tabane::core::Error(dlerror());
  return reinterpret_cast<Function*>(found);
}

}  // namespace

namespace hwy {

int64_t SupportedTargets() {
  static auto* const own = in_highway<int64_t()>("_ZN3hwy16SupportedTargetsEv");
  return own();
}

void DisableTargets(int64_t targets) {
  static auto* const own = in_highway<void(int64_t)>("_ZN3hwy14DisableTargetsEl");
  own(targets);
}

void SetSupportedTargetsForTest(int64_t targets) {
  static auto* const own = in_highway<void(int64_t)>("_ZN3hwy26SetSupportedTargetsForTestEl");
  own(targets);
}

ChosenTarget& GetChosenTarget() {
  static auto* const own = in_highway<ChosenTarget&()>("_ZN3hwy15GetChosenTargetEv");
  return own();
}

}  // namespace hwy
