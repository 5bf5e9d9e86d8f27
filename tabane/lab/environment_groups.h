// The groups of the environment, one function each; read_environment() puts them together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/record.h"
#include "tabane/lab/system_files.h"

namespace tabane::lab {

Json processor_group(const SystemFiles& files);
Json memory_group(const SystemFiles& files);
Json kernel_group(const SystemFiles& files);
Json process_group(const SystemFiles& files);
Json system_group(const SystemFiles& files);

std::optional<std::string> cpu_model(const SystemFiles& files);
// The flags of the first CPU, as /proc/cpuinfo names them.
std::vector<std::string> cpu_flags(const SystemFiles& files);
// A number that every CPU has under /sys/devices/system/cpu/cpuN; CPUs that do not tell are left
// out.
std::vector<double> of_every_cpu(const SystemFiles& files, const std::string& file);

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A whole number, written without a decimal point.
inline Json count_or_null(const std::optional<double>& value) {
  return value ? Json(static_cast<std::int64_t>(*value)) : Json(nullptr);
}

}  // namespace tabane::lab
