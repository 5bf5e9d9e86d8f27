// Everything around a measurement that can change its result, as far as it can be read without
// rights.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "tabane/core/system_files.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

struct Environment {
  // All of it, as groups of readable names: processor, memory, kernel, process, system, network,
  // software, time, timer. What cannot be read is null.
  Json described = Json::object();

  // What warnings are made from; null: not known.
  std::optional<double> lowest_mhz, highest_mhz;  // of all CPUs, at the start
  std::optional<std::string> governor;
  std::string vectors_disabled;  // registers that the processor has and the system does not enable
  std::optional<std::string> huge_pages;
  std::optional<double> swap_used;  // bytes
  std::optional<double> numa_balancing;
  bool numa_calls = true;                                      // are available
  std::optional<std::string> clock_source, clock_sources;      // used, and all that there are
  std::optional<double> cpu_quota;                             // CPUs; null also if there is none
  std::optional<double> throttled_periods, throttled_seconds;  // of the control group
  std::optional<double> running;                               // tasks, at the start
  std::optional<bool> virtual_machine;
  std::optional<double> steal_share;  // of all CPU time since the start: other guests had the CPU
  std::string counter;                // that times are read from
  std::optional<double> tick_rate_change;    // of the counter, under load; null also if invariant
  bool optimised = true, sanitizer = false;  // this build
};

// root: prefix of /proc and /sys, for tests with recorded machines.
Environment read_environment(const std::string& root = "");

// Counts of all CPUs together since the start, in ticks: user nice system idle iowait irq softirq
// steal; guests are already part of user. Null if the system does not report them.
std::optional<std::array<double, 8>> cpu_ticks(const core::SystemFiles& files);

// Null if the system does not report it.
std::optional<std::string> cpu_model(const core::SystemFiles& files);

}  // namespace tabane::lab
