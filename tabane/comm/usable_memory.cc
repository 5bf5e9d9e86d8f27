#include "tabane/comm/usable_memory.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/machine_name.h"

namespace tabane::comm {

double usable_memory() {
  return core::usable_memory_bytes().value_or(std::numeric_limits<double>::infinity());
}

double usable_memory_of_all(comm::Comm& comm) {
  std::array<char, 64> own{};
  const std::string name = core::machine_name();
  std::copy_n(name.begin(), std::min(name.size(), own.size()), own.begin());
  std::vector<char> names(own.size() * static_cast<std::size_t>(comm.size()));
  comm::all_gather(comm, own, names);
  int here = 0;
  for (auto at = names.begin(); at != names.end(); at += own.size()) {
    here += std::equal(own.begin(), own.end(), at) ? 1 : 0;
  }
  return comm.size() * comm::all_reduce(comm, usable_memory() / here, comm::Operation::min);
}

}  // namespace tabane::comm
