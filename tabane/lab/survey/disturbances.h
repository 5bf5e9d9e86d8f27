// What may spoil a measurement: as warnings of its record, which surveys and studies report alike,
// and as the load that others put on the machine.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/system_files.h"
#include "tabane/core/topology.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Time that others took from this program while it measured, from construction to warnings(): a
// control group that was stopped, other virtual machines on the same processor. What the system
// does not report counts as none.
class StolenTime {
 public:
  explicit StolenTime(const core::SystemFiles& files = core::SystemFiles());
  std::vector<Warning> warnings() const;

 private:
  core::SystemFiles files_;
  std::optional<core::CgroupThrottling> throttled_;
  std::optional<std::array<double, 8>> ticks_;
};

// How busy other programs keep this machine while commands are measured, from construction on.
class OthersLoad {
 public:
  explicit OthersLoad(core::SystemFiles files = core::SystemFiles());

  // PUs that were busy on average, or taken by other virtual machines, but for this process and the
  // commands that it has waited for. The system counts in ticks of 10 ms, so of shorter times it
  // says little. Null if it does not report it.
  std::optional<double> busy_pus() const;

 private:
  struct Ticks {
    double busy = 0, own = 0, all = 0;  // of all PUs together
    double pus = 0;
  };
  std::optional<Ticks> read() const;

  core::SystemFiles files_;
  std::optional<Ticks> start_;
};

// Warnings that follow from the environment alone, before anything is measured. own_tasks: how many
// of those that ran at the start are not others': this program, and the other ranks.
std::vector<Warning> environment_warnings(const Environment& environment,
                                          const core::Topology& topology, int own_tasks = 1);

// Warnings that follow from what was measured: PUs slower than others, drift, outliers, bimodal
// series. Of points of a study only where more than a third scatter.
std::vector<Warning> measurement_warnings(const Record& record);

// All of these, from construction, before anything is measured, to tell().
class Disturbances {
 public:
  // Adds what the environment and the machine say: other programs, a quota, frequencies.
  // own_tasks: as environment_warnings().
  Disturbances(Record& record, const Environment& environment, const core::Topology& topology,
               int own_tasks = 1);
  // Adds what others took meanwhile, and what the samples show: drift, outliers, few runs.
  void tell(Record& record) const;

 private:
  StolenTime stolen_;
};

}  // namespace tabane::lab
