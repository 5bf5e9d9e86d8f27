// What the threads of a command wait for, from looks at undisturbed runs.
#pragma once

#include <optional>

#include "tabane/tools/explain/evidence.h"

namespace tabane::lab::explain {

// Shares of the wall time that go away if nobody waits for this.
struct Waits {
  double width = 1;      // threads that can work at once
  double busy = 0;       // share of looks with work, or threads that wait for each other
  double serial = 0;     // one thread works, always the same, while others wait or do not exist
  double imbalance = 0;  // some threads have more work than others
  double locks = 0;      // threads with as much work wait for each other
  double disk = 0, pipe = 0, network = 0, sleep = 0;
  double others = 0;  // threads that want to run wait for a PU
  double looks = 0;
};

// pus: that the command may use. Null for fewer than 10 looks.
std::optional<Waits> waits_of(const Observed& observed, int pus);

}  // namespace tabane::lab::explain
