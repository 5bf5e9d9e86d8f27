// The processor as /proc/cpuinfo and /sys/devices/system/cpu describe it.
#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "tabane/core/vector_registers.h"
#include "tabane/lab/environment_groups.h"
#include "tabane/lab/environment_keys.h"

namespace tabane::lab {
namespace {

constexpr const char* kCpu = "/sys/devices/system/cpu";

Json instruction_sets(const std::vector<std::string>& flags) {
  constexpr std::array<std::string_view, 12> kPrefixes = {
      "sse4", "avx", "fma", "f16c", "bmi", "aes", "vaes", "vpclmul", "sha", "amx", "sve", "asimd"};
  constexpr std::array<std::string_view, 11> kNames = {
      "sse2", "ssse3",        "popcnt",      "adx",   "erms",   "fsrm",
      "gfni", "constant_tsc", "nonstop_tsc", "pmull", "atomics"};
  std::string kept;
  for (const std::string& flag : flags) {
    const bool wanted = std::any_of(kPrefixes.begin(), kPrefixes.end(),
                                    [&](std::string_view p) { return flag.starts_with(p); }) ||
                        std::find(kNames.begin(), kNames.end(), flag) != kNames.end();
    if (wanted) kept += (kept.empty() ? "" : " ") + flag;
  }
  return flags.empty() ? Json(nullptr) : Json(kept);
}

bool is_cpu_directory(const std::string& name) {
  return name.size() > 3 && name.starts_with("cpu") &&
         std::all_of(name.begin() + 3, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::vector<double> frequencies_mhz(const core::SystemFiles& files) {
  std::vector<double> mhz = of_every_cpu(files, "/cpufreq/scaling_cur_freq");
  for (double& value : mhz) value /= 1000;
  if (!mhz.empty()) return mhz;
  std::istringstream cpuinfo(files.text("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    if (const auto value = core::leading_number(line.substr(line.find(':') + 1)))
      mhz.push_back(*value);
  }
  return mhz;
}

Json boost(const core::SystemFiles& files) {
  if (const auto on = files.number(std::string(kCpu) + "/cpufreq/boost")) return *on != 0;
  if (const auto off = files.number(std::string(kCpu) + "/intel_pstate/no_turbo")) return *off == 0;
  return nullptr;
}

Json mitigations(const core::SystemFiles& files) {
  const std::string directory = std::string(kCpu) + "/vulnerabilities";
  const std::vector<std::string> names = files.names(directory);
  std::string active;
  for (const std::string& name : names) {
    const auto state = files.text(directory + "/" + name);
    if (!state || *state == "Not affected") continue;
    active += (active.empty() ? "" : "; ") + name + ": " + *state;
  }
  if (names.empty()) return nullptr;
  return active.empty() ? "not affected" : active;
}

}  // namespace

std::optional<std::string> cpu_model(const core::SystemFiles& files) {
  for (const char* key : {"model name", "Model Name", "Processor", "cpu model"}) {
    if (auto model = files.field("/proc/cpuinfo", key)) return model;
  }
  const auto implementer = files.field("/proc/cpuinfo", "CPU implementer");
  const auto part = files.field("/proc/cpuinfo", "CPU part");
  if (!implementer || !part) return std::nullopt;
  return "implementer " + *implementer + ", part " + *part;
}

std::vector<std::string> cpu_flags(const core::SystemFiles& files) {
  auto line = files.field("/proc/cpuinfo", "flags");
  if (!line) line = files.field("/proc/cpuinfo", "Features");
  std::istringstream words(line.value_or(""));
  std::vector<std::string> flags;
  for (std::string flag; words >> flag;) flags.push_back(flag);
  return flags;
}

std::vector<double> of_every_cpu(const core::SystemFiles& files, const std::string& file) {
  std::vector<double> values;
  for (const std::string& name : files.names(kCpu)) {
    if (!is_cpu_directory(name)) continue;
    if (const auto value = files.number(std::string(kCpu) + "/" + name + file)) {
      values.push_back(*value);
    }
  }
  return values;
}

Json processor_group(const core::SystemFiles& files) {
  const std::string cpu = kCpu;
  const std::string frequency = cpu + "/cpu0/cpufreq";
  const auto info = [&](const char* key) { return files.field("/proc/cpuinfo", key); };
  const auto mhz = [&](const char* file) {
    auto khz = files.number(frequency + "/" + file);
    return khz ? Json(*khz / 1000) : Json(nullptr);
  };
  const std::vector<double> now = frequencies_mhz(files);
  const std::vector<std::string> flags = cpu_flags(files);
  const auto idle_states = files.names(cpu + "/cpu0/cpuidle").size();
  Json group;
  group["model"] = or_null(cpu_model(files));
  group["vendor"] = or_null(info("vendor_id"));
  group["family"] = or_null(info("cpu family"));
  group["model number"] = or_null(info("model"));
  group["stepping"] = or_null(info("stepping"));
  group["microcode"] = or_null(info("microcode"));
  group["instruction sets"] = instruction_sets(flags);
  const std::string disabled = core::vector_registers().disabled();
  group[key::kVectorsDisabled.name] = disabled.empty() ? "none" : disabled;
  group["SMT"] = or_null(files.text(cpu + "/smt/control"));
  group["SMT active"] = [&]() -> Json {
    const auto active = files.number(cpu + "/smt/active");
    return active ? Json(*active != 0) : Json(nullptr);
  }();
  group["frequency driver"] = or_null(files.text(frequency + "/scaling_driver"));
  group[key::kGovernor.name] = or_null(files.text(frequency + "/scaling_governor"));
  group["energy preference"] = or_null(files.text(frequency + "/energy_performance_preference"));
  group["minimum MHz"] = mhz("cpuinfo_min_freq");
  group["maximum MHz"] = mhz("cpuinfo_max_freq");
  group["base MHz"] = mhz("base_frequency");
  group["boost"] = boost(files);
  group[key::kLowestMhz.name] = now.empty() ? Json(nullptr) : Json(*std::ranges::min_element(now));
  group[key::kHighestMhz.name] = now.empty() ? Json(nullptr) : Json(*std::ranges::max_element(now));
  group["idle driver"] = or_null(files.text(cpu + "/cpuidle/current_driver"));
  group["idle states"] = idle_states > 0 ? Json(idle_states) : Json(nullptr);
  group["mitigations"] = mitigations(files);
  return group;
}

}  // namespace tabane::lab
