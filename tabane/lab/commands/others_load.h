// How busy other programs keep this machine while commands are measured.
#pragma once

#include <optional>

#include "tabane/core/system_files.h"

namespace tabane::lab {

// From construction on.
class OthersLoad {
 public:
  explicit OthersLoad(core::SystemFiles files = core::SystemFiles());

  // PUs that were busy on average, or taken by other virtual machines, but for this process and the
  // commands that it has waited for. The system counts in ticks of 10 ms, so of shorter times it
  // says little. Null if it does not tell.
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

}  // namespace tabane::lab
