// PUs as people write them, "0-3,8", "0-15:2", "all", and the binding of a thread to them. Binding
// is the act; placement (placement.h) is the plan.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::core {

// Reads single indices, ranges a-b and strided ranges a-b:s, separated by commas; "all" gives a
// copy of `all`. Returns OS indices in the order written, without repetition. throws: UsageError
// that quotes the part not understood; indices above 65535 are refused.
std::vector<unsigned> parse_cpu_list(std::string_view text, std::span<const unsigned> all);

// Writes indices in ascending order as the shortest list of ranges: {0,1,2,8} gives "0-2,8".
std::string format_cpu_list(std::span<const unsigned> indices);

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
