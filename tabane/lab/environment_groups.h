// The groups of the environment, one function each; read_environment() puts them together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/system_files.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

Json processor_group(const core::SystemFiles& files);
Json memory_group(const core::SystemFiles& files);
Json kernel_group(const core::SystemFiles& files);
Json process_group(const core::SystemFiles& files);
Json system_group(const core::SystemFiles& files);

std::optional<std::string> cpu_model(const core::SystemFiles& files);
// The flags of the first CPU, as /proc/cpuinfo names them.
std::vector<std::string> cpu_flags(const core::SystemFiles& files);
// A number that every CPU has under /sys/devices/system/cpu/cpuN; CPUs that do not tell are left
// out.
std::vector<double> of_every_cpu(const core::SystemFiles& files, const std::string& file);

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A whole number, written without a decimal point.
inline Json count_or_null(const std::optional<double>& value) {
  return value ? Json(static_cast<std::int64_t>(*value)) : Json(nullptr);
}

}  // namespace tabane::lab
