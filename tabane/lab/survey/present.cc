#include "tabane/lab/survey/present.h"

#include <algorithm>

namespace tabane::lab {

void present(Record& record) {
  std::vector<View> views;
  const auto add = [&](std::optional<View> view) {
    if (view) views.push_back(*std::move(view));
  };
  add(present_shares(record));
  add(present_roofline(record));
  add(present_memory_latency(record));
  add(present_memory_bandwidth(record));
  add(present_bandwidth_over_cores(record));
  add(present_loaded_latency(record));
  add(present_memcpy(record));
  add(present_core_to_core(record));
  for (View& view : present_numa(record)) add(std::move(view));
  add(present_ladder(record));
  add(present_core_rate(record));
  add(present_fork_cost(record));
  for (View& view : present_devices(record)) add(std::move(view));
  for (View& view : record.views) {
    const bool presented = std::any_of(views.begin(), views.end(),
                                       [&](const View& one) { return one.name == view.name; });
    if (!presented) views.push_back(std::move(view));
  }
  record.views = std::move(views);
}

}  // namespace tabane::lab
