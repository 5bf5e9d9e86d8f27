// Binding is the act: it ties the calling thread to PUs. Placement (placement.h) is the plan.
#pragma once

#include <span>
#include <vector>

namespace tabane::core {

// Binds the calling thread to any of the PUs; no PUs: leaves it as it is.
// throws: SystemError naming the PUs.
void bind_this_thread(std::span<const unsigned> pus);
// The PUs that the calling thread may run on now, ascending.
std::vector<unsigned> thread_binding();

// Binds the calling thread for a scope and puts the old binding back.
class ScopedBinding {
 public:
  explicit ScopedBinding(std::span<const unsigned> pus);
  explicit ScopedBinding(unsigned pu);
  ~ScopedBinding();
  ScopedBinding(const ScopedBinding&) = delete;
  ScopedBinding& operator=(const ScopedBinding&) = delete;

 private:
  std::vector<unsigned> old_;
};

}  // namespace tabane::core
