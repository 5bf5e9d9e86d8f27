// Time that others took from this program while it measured: a control group that was stopped,
// other virtual machines on the same processor.
#pragma once

#include <optional>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/system_files.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// From construction to warnings(). What the system does not tell is taken as none.
class StolenTime {
 public:
  explicit StolenTime(const core::SystemFiles& files = core::SystemFiles());
  std::vector<Warning> warnings() const;

 private:
  struct Jiffies {
    double stolen = 0, all = 0;  // of all CPUs together
  };
  static std::optional<Jiffies> read_jiffies(const core::SystemFiles& files);

  core::SystemFiles files_;
  std::optional<core::CgroupThrottling> throttled_;
  std::optional<Jiffies> jiffies_;
};

}  // namespace tabane::lab
