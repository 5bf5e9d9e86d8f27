#include "tabane/program/command.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <cstring>
#include <filesystem>
#include <string_view>

#include "tabane/core/loadable_module.h"
#include "tabane/lab/record_head.h"

// Of the program; each module has a function of the same name, see cmake/Verbs.cmake.
extern "C" const char* tabane_build();

namespace tabane::program {
namespace {

// It is the program that users trust, so only what came with it is loaded.
std::filesystem::path directory() {
  const std::filesystem::path program = core::this_program();
  core::ModulePlaces places = core::module_places();
  places.installed = program.parent_path();
  return core::module_directory(program, places);
}

}  // namespace

const Verb& load_verb(const char* module, const char* name) {
  const std::filesystem::path file = directory() / fmt::format("tabane_{}.so", module);
  constexpr const char* kRemedy = "build all of tabane (make build), or install it again";
  if (!std::filesystem::exists(file)) {
    throw core::Error("{} is missing: {}", file.string(), kRemedy);
  }
  void* const loaded = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (loaded == nullptr) {
    const std::string_view why = dlerror();
    throw core::Error("{} cannot be loaded: {}: {}", file.string(), why, kRemedy);
  }
  const auto build = reinterpret_cast<decltype(tabane_build)*>(dlsym(loaded, "tabane_build"));
  // As C++ compilers on Unix name a variable of a namespace.
  const void* const verb =
      dlsym(loaded, fmt::format("_ZN6tabane7program{}{}E", std::strlen(name), name).c_str());
  if (build == nullptr || verb == nullptr || std::strcmp(build(), tabane_build()) != 0) {
    throw core::Error("{} is of another build than this program: {}", file.string(), kRemedy);
  }
  return *static_cast<const Verb*>(verb);
}

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
