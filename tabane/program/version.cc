#include "tabane/program/version.h"

#include <gnu/libc-version.h>

#include "tabane/lab/record_head.h"

namespace tabane::program {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

}  // namespace

std::string version_text() {
  std::string text = "tabane " + lab::version() + "\n";
  text += std::string("compiler   ") + kCompiler + ", " TABANE_BUILD_TYPE "\n";
  text += "built with hwloc " TABANE_HWLOC_VERSION ", Highway " TABANE_HWY_VERSION
          ", fmt " TABANE_FMT_VERSION ", CLI11 " TABANE_CLI11_VERSION "\n";
  text += std::string("libc       glibc ") + gnu_get_libc_version();
  return text;
}

}  // namespace tabane::program
