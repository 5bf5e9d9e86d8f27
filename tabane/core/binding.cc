#include "tabane/core/binding.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "tabane/core/cpu_list.h"
#include "tabane/core/error.h"

namespace tabane::core {
namespace {

struct CpuSet {
  explicit CpuSet(std::size_t cpus)
      : set(CPU_ALLOC(cpus), [](cpu_set_t* s) { CPU_FREE(s); }), bytes(CPU_ALLOC_SIZE(cpus)) {
    CPU_ZERO_S(bytes, set.get());
  }
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set;
  std::size_t bytes;
};

}  // namespace

void bind_this_thread(std::span<const unsigned> pus) {
  if (pus.empty()) return;
  const CpuSet cpus(*std::max_element(pus.begin(), pus.end()) + std::size_t{1});
  for (const unsigned pu : pus) CPU_SET_S(pu, cpus.bytes, cpus.set.get());
  if (sched_setaffinity(0, cpus.bytes, cpus.set.get()) != 0) {
    throw SystemError("sched_setaffinity", "PUs " + format_cpu_list(pus), errno);
  }
}

std::vector<unsigned> thread_binding() {
  // The kernel refuses a set that is smaller than its own, whose size it does not report.
  for (std::size_t size = 1024; size <= (std::size_t{1} << 20); size *= 2) {
    const CpuSet cpus(size);
    if (sched_getaffinity(0, cpus.bytes, cpus.set.get()) == 0) {
      std::vector<unsigned> pus;
      for (std::size_t i = 0; i < size; ++i) {
        if (CPU_ISSET_S(i, cpus.bytes, cpus.set.get())) pus.push_back(static_cast<unsigned>(i));
      }
      return pus;
    }
    if (errno != EINVAL) break;
  }
  throw SystemError("sched_getaffinity", "", errno);
}

ScopedBinding::ScopedBinding(std::span<const unsigned> pus) : old_(thread_binding()) {
  bind_this_thread(pus);
}

ScopedBinding::ScopedBinding(unsigned pu) : ScopedBinding(std::span<const unsigned>(&pu, 1)) {}

ScopedBinding::~ScopedBinding() {
  try {
    bind_this_thread(old_);
  } catch (const Error&) {
    // The old PUs may have left the cpuset meanwhile; the thread then keeps what it has.
  }
}

}  // namespace tabane::core
