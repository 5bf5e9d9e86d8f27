#include "tabane/lab/campaign/progress.h"

#include <algorithm>
#include <numeric>

namespace tabane::lab {

Progress::Progress(Hooks hooks, std::vector<double> planned_seconds, core::Clock& clock)
    : hooks_(std::move(hooks)),
      planned_(std::move(planned_seconds)),
      clock_(clock),
      start_(clock.now()) {
  total_ = std::accumulate(planned_.begin(), planned_.end(), total_);
}

void Progress::tell(const std::string& what, double share_of_step) {
  const double planned = step_ < planned_.size() ? planned_[step_] : 0;
  const double worked = finished_ + std::clamp(share_of_step, 0.0, 1.0) * planned;
  const double pace = worked > 1 ? elapsed_seconds() / worked : 1;
  hooks_.progress(what, worked / total_, (total_ - worked) * pace);
}

void Progress::show(const std::string& what, double share_of_step) {
  tell(what, share_of_step);
  if (hooks_.stop_requested()) throw Stopped();
}

void Progress::next_step() {
  if (step_ < planned_.size()) finished_ += planned_[step_++];
}

}  // namespace tabane::lab
