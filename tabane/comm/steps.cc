#include "tabane/comm/steps.h"

#include <algorithm>

#include "tabane/comm/collectives.h"

namespace tabane::comm {

double StepTable::mean_seconds(std::size_t step) const {
  double sum = 0;
  for (const std::vector<StepTime>& rank : ranks) sum += rank.at(step).seconds;
  return ranks.empty() ? 0 : sum / static_cast<double>(ranks.size());
}

double StepTable::most_seconds(std::size_t step) const {
  double most = 0;
  for (const std::vector<StepTime>& rank : ranks) most = std::max(most, rank.at(step).seconds);
  return most;
}

std::uint64_t StepTable::most_times(std::size_t step) const {
  std::uint64_t most = 0;
  for (const std::vector<StepTime>& rank : ranks) most = std::max(most, rank.at(step).times);
  return most;
}

double StepTable::seconds_of_slowest() const {
  double most = 0;
  for (const std::vector<StepTime>& rank : ranks) {
    double sum = 0;
    for (const StepTime& step : rank) sum += step.seconds;
    most = std::max(most, sum);
  }
  return most;
}

Steps::Steps(Comm& comm, std::initializer_list<const char*> names)
    : comm_(comm), names_(names), own_(names.size()) {
  since_ = comm.now();  // the first look at a clock may calibrate it
}

void Steps::stop_current() {
  const double now = comm_.now();
  if (current_ != kNone) own_[static_cast<std::size_t>(current_)].seconds += now - since_;
  since_ = now;
}

void Steps::enter(int step) {
  stop_current();
  current_ = step;
  ++own_[static_cast<std::size_t>(step)].times;
  comm_.set_phase(names_[static_cast<std::size_t>(step)]);
}

void Steps::leave(int outer) {
  stop_current();
  current_ = outer;
  comm_.set_phase(outer != kNone ? names_[static_cast<std::size_t>(outer)] : "");
}

StepTable Steps::gather() const {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  std::vector<StepTime> all(comm_.rank() == 0 ? ranks * own_.size() : 0);
  comm::gather(comm_, own_, all, 0);
  StepTable table;
  table.names.assign(names_.begin(), names_.end());
  const auto steps = static_cast<std::ptrdiff_t>(own_.size());
  for (auto from = all.begin(); from != all.end(); from += steps) {
    table.ranks.emplace_back(from, from + steps);
  }
  return table;
}

}  // namespace tabane::comm
