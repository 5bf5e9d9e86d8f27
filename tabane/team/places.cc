#include "tabane/team/places.h"

#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"

namespace tabane::team {
namespace {

struct Known {
  std::mutex mutex;
  std::vector<unsigned> binding;
  std::optional<core::Topology> topology;
  int busy_pus = 1;
  using Request = std::tuple<core::PlacementPolicy, int, int>;
  std::optional<Request> request;
  core::Placement plan;
};

Known& known() {
  static Known one;
  return one;
}

const core::Topology& read_again_if_changed(Known& now) {
  std::vector<unsigned> binding = core::thread_binding();
  if (!now.topology || binding != now.binding) {
    now.request.reset();
    now.topology = core::Topology::detect();
    now.busy_pus = core::busy_pus_within(core::read_cgroup_limits(core::SystemFiles()),
                                         static_cast<int>(now.topology->pus().size()));
    now.binding = std::move(binding);
  }
  return *now.topology;
}

}  // namespace

core::Topology known_topology() {
  Known& now = known();
  const std::lock_guard lock(now.mutex);
  return read_again_if_changed(now);
}

int busy_pus() {
  Known& now = known();
  const std::lock_guard lock(now.mutex);
  read_again_if_changed(now);
  return now.busy_pus;
}

core::Placement plan_places(core::PlacementPolicy policy, int processes, int threads) {
  Known& now = known();
  const std::lock_guard lock(now.mutex);
  const core::Topology& topology = read_again_if_changed(now);
  const Known::Request request{policy, processes, threads};
  if (now.request != request) {
    now.plan = core::plan_placement(
        topology, topology.is_this_machine() ? policy : core::PlacementPolicy::none, processes,
        threads);
    now.request = request;
  }
  return now.plan;
}

}  // namespace tabane::team
