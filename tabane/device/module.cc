#include "tabane/device/module.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tabane/core/loadable_module.h"
#include "tabane/core/units.h"

namespace tabane::device {
namespace {

constexpr const char* kModule = "libtabane_opencl.so";
constexpr const char* kDirectoryVariable = "TABANE_OPENCL_MODULE";

// throws: core::Error with the reason.
void* load() {
  const std::filesystem::path program = core::this_program();
  const char* const given = secure_getenv(kDirectoryVariable);
  const std::filesystem::path directory =
      given != nullptr ? given : core::module_directory(program, core::module_places());
  const std::filesystem::path file = directory / kModule;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    throw core::Error(
        "tabane's module for OpenCL, {}, is not in {}: build tabane where OpenCL's headers and ICD "
        "loader are (Debian: ocl-icd-opencl-dev), or give the module's directory by {}",
        kModule, directory.string(), kDirectoryVariable);
  }
  // A directory that the user has named is the user's choice.
  const std::string distrust = given != nullptr ? "" : core::distrust_of(file, program);
  if (!distrust.empty()) {
    throw core::Error(
        "tabane's module for OpenCL is not loaded: {}. If you trust it all the same, set {}={}",
        distrust, kDirectoryVariable, directory.string());
  }
  if (void* const loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return loaded;
  throw core::Error("tabane's module for OpenCL cannot be loaded: {}", dlerror());
}

template <class Entry>
Entry* entry(void* module, const char* name) {
  if (void* const found = dlsym(module, name)) return reinterpret_cast<Entry*>(found);
  throw core::Error("tabane's module for OpenCL is of another version: it has no {}", name);
}

// It stays loaded: drivers leave handlers behind that run at exit.
struct Module {
  Devices devices;
  decltype(tabane_opencl_open)* open = nullptr;

  Module() {
    try {
      start();
    } catch (const core::Error& error) {
      devices = {.list = {}, .reason = error.what()};
    }
  }

  void start() {
    void* const module = load();
    const std::string_view version = entry<const char>(module, "tabane_opencl_version");
    if (version != TABANE_VERSION) {
      throw core::Error(
          "tabane's module for OpenCL is of version {}, and this program of {}: give the directory "
          "of its own by {}",
          version, TABANE_VERSION, kDirectoryVariable);
    }
    open = entry<decltype(tabane_opencl_open)>(module, "tabane_opencl_open");
    entry<decltype(tabane_opencl_list)>(module, "tabane_opencl_list")(&devices.list);
    if (devices.list.empty()) throw core::Error("OpenCL knows of no device: no driver has one");
  }
};

const Module& module() {
  static const Module one;
  return one;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// The first for which it holds.
std::optional<std::size_t> first_where(const std::vector<Description>& list, const auto& holds) {
  const auto found = std::ranges::find_if(list, holds);
  if (found == list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - list.begin());
}

std::optional<std::size_t> find_device(const std::vector<Description>& list,
                                       std::string_view wanted) {
  if (wanted.empty()) {
    for (const Kind kind : {Kind::gpu, Kind::accelerator})
      if (const auto found = first_where(list, [&](const auto& d) { return d.kind == kind; }))
        return found;
    return 0;
  }
  std::size_t index = 0;
  const char* const end = wanted.data() + wanted.size();
  const auto [stopped, code] = std::from_chars(wanted.data(), end, index);
  if (stopped == end)
    return code == std::errc{} && index < list.size() ? std::optional(index) : std::nullopt;
  const std::string part = lower(wanted);
  return first_where(list, [&](const Description& description) {
    return lower(description.name).find(part) != std::string::npos ||
           lower(description.platform).find(part) != std::string::npos;
  });
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"GPU", "accelerator", "CPU", "device"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::other) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

std::string text_of(const Description& description) {
  return fmt::format("{} ({}), {} of {} units, {}", description.name, description.platform,
                     name_of(description.kind), description.compute_units,
                     core::format_bytes(description.memory_bytes));
}

const Devices& devices() { return module().devices; }

std::size_t choose_device(const Devices& devices, std::string_view wanted) {
  if (devices.list.empty()) throw core::UsageError("there is no OpenCL device: " + devices.reason);
  if (const auto found = find_device(devices.list, wanted)) return *found;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < devices.list.size(); ++i)
    lines.push_back(fmt::format("{}: {}", i, text_of(devices.list[i])));
  throw core::UsageError("there is no OpenCL device {}, only {}", wanted, fmt::join(lines, "; "));
}

std::unique_ptr<Device> open_device(std::size_t index) {
  const Module& loaded = module();
  TABANE_ASSERT(index < loaded.devices.list.size());
  return std::unique_ptr<Device>(loaded.open(index));
}

}  // namespace tabane::device
