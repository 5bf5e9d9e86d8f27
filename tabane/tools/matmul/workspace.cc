#include "tabane/tools/matmul/workspace.h"

#include <algorithm>
#include <utility>

namespace tabane::matmul {

core::Region Workspace::take(std::size_t bytes) {
  const auto smaller = [](const core::Region& a, const core::Region& b) {
    return a.size() < b.size();
  };
  std::sort(kept_.begin(), kept_.end(), smaller);
  const auto fits = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const core::Region& each) { return each.size() >= bytes; });
  core::Region region;
  if (fits != kept_.end()) {
    region = std::move(*fits);
    kept_.erase(fits);
    return region;
  }
  if (!kept_.empty()) kept_.pop_back();  // too small: a larger one takes its place
  return core::Region(bytes, {.pages = core::PageSize::huge});
}

void Workspace::give(core::Region region) { kept_.push_back(std::move(region)); }

}  // namespace tabane::matmul
