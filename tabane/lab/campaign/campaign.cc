#include "tabane/lab/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::lab {

namespace {

// "15 s", "12 minutes": a plan is no more precise.
std::string about(double seconds) {
  constexpr double kMinute = 60, kStep = 5;
  const double steps = kStep * std::round(seconds / kStep);
  if (steps < kMinute) return fmt::format("{:.0f} s", steps);
  return core::counted(static_cast<std::uint64_t>(std::round(seconds / kMinute)), "minute");
}

}  // namespace

StepProgress::StepProgress(Hooks hooks, std::vector<double> planned_seconds, core::Clock& clock)
    : hooks_(std::move(hooks)),
      planned_(std::move(planned_seconds)),
      clock_(clock),
      start_(clock.now()) {
  total_ = std::accumulate(planned_.begin(), planned_.end(), total_);
  constexpr double kLongSeconds = 10;
  if (total_ > kLongSeconds) hooks_.on_plan(fmt::format("it takes about {}", about(total_)));
}

void StepProgress::tell(const std::string& what, double share_of_step) {
  const double planned = step_ < planned_.size() ? planned_[step_] : 0;
  const double worked = finished_ + std::clamp(share_of_step, 0.0, 1.0) * planned;
  const double pace = worked > 1 ? elapsed_seconds() / worked : 1;
  hooks_.progress(what, worked / total_, (total_ - worked) * pace);
}

void StepProgress::show(const std::string& what, double share_of_step) {
  tell(what, share_of_step);
  hooks_.throw_if_stopped();
}

void StepProgress::next_step() {
  if (step_ < planned_.size()) finished_ += planned_[step_++];
}

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kCountedSeconds = 10e-3;  // counting makes shorter samples visibly slower

}  // namespace

void Visit::show(double share) { campaign_.progress_->show(campaign_.blocks_[block_].what, share); }

Point& Visit::point(const Factors& factors) {
  Points& points = campaign_.points;
  for (std::size_t i = points.size(); i-- > 0;)
    if (points[i].block == block_ && points[i].factors == factors) return points[i];
  return points[points.add({.factors = factors, .block = block_})];
}

void Visit::add(const Factors& factors, const std::vector<double>& samples,
                const std::vector<std::pair<const char*, double>>& beside) {
  if (samples.empty()) return;
  Point& all = point(factors);
  all.samples.insert(all.samples.end(), samples.begin(), samples.end());
  for (const auto& [name, value] : beside)
    all.beside[name].insert(all.beside[name].end(), samples.size(), value);
}

void add_sample(Point& point, const Sample& sample) {
  point.samples.push_back(sample.seconds);
  for (const auto& [name, value] : sample.beside) {
    // What was not seen with every sample is unknown with the others.
    point.beside[name].resize(point.samples.size() - 1, kUnknown);
    point.beside[name].push_back(value);
  }
  for (auto& [name, values] : point.beside) values.resize(point.samples.size(), kUnknown);
}

void Visit::skip(const std::string& what, const std::string& reason) {
  campaign_.skip(what, reason);
}

void Visit::in_turn(const std::vector<Contender>& contenders, const Effort& effort) {
  std::vector<double> last_seconds(contenders.size());
  for (int warmup = 0; warmup < effort.warmups; ++warmup) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      show(0);
      last_seconds[i] = contenders[i].measure().seconds;
    }
  }
  core::Clock& clock = core::tick_clock();
  const double start = clock.now();
  double order = 0, rounds = 0;
  for (const Point& earlier : campaign_.points)
    if (earlier.block == block_) order += static_cast<double>(earlier.samples.size());
  // The rounds that must be come first, then those that the budget allows.
  const auto share = [&] {
    const double spent = (clock.now() - start) / std::max(effort.budget_seconds, 1e-9);
    return std::max(rounds / effort.most, std::min(spent, rounds / effort.fewest));
  };
  core::in_rounds(
      contenders.size(), effort, clock, start,
      [&](std::size_t i) {
        show(share());
        const bool counted = last_seconds[i] >= kCountedSeconds;
        if (counted) campaign_.counters.start();
        Sample sample = contenders[i].measure();
        if (counted)
          for (const auto& count : campaign_.counters.stop()) sample.beside.push_back(count);
        last_seconds[i] = sample.seconds;
        sample.beside.emplace_back("order", order++);
        return sample;
      },
      [&](const std::vector<Sample>& samples) {
        ++rounds;
        for (std::size_t i = 0; i < contenders.size(); ++i)
          add_sample(point(contenders[i].factors), samples[i]);
      });
}

Block block_in_turn(std::string what, std::vector<Contender> contenders, Effort effort) {
  Block block{.what = std::move(what)};
  for (const Contender& one : contenders) block.points.push_back(one.factors);
  block.body = [contenders = std::move(contenders), effort](Visit& visit) mutable {
    effort.budget_seconds = visit.budget_seconds();
    visit.in_turn(contenders, effort);
  };
  return block;
}

void Campaign::add(Block block) {
  for (const Factors& factors : block.points) points.declare(factors);
  blocks_.push_back(std::move(block));
}

void Campaign::skip(const std::string& what, const std::string& reason) {
  const bool known =
      std::ranges::any_of(skipped, [&](const Skipped& one) { return one.name == what; });
  if (!known) skipped.push_back({what, reason});
}

std::pair<std::size_t, std::size_t> Campaign::unmeasured() const {
  std::size_t planned = 0, missing = 0;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    for (const Factors& factors : blocks_[block].points) {
      ++planned;
      missing += std::ranges::none_of(points, [&](const Point& point) {
        return point.block == block && point.measured() && point.factors == factors;
      });
    }
  }
  return {missing, planned};
}

void Campaign::visit(const CampaignOptions& options, std::size_t launch) {
  const std::size_t launches = blocks_.size() * static_cast<std::size_t>(options.passes);
  const double left = options.most_seconds - progress_->elapsed_seconds();
  const std::size_t sharing = launch < blocks_.size() ? blocks_.size() - launch : 1;
  Visit visit(*this, launch % blocks_.size(), static_cast<int>(launch / blocks_.size()),
              options.passes);
  visit.budget_seconds_ = options.budget_seconds / static_cast<double>(launches);
  visit.most_seconds_ = left / static_cast<double>(sharing);
  // Only run() decides whether to continue: several processes must do so together.
  progress_->tell(blocks_[visit.block_].what, 0);
  run_body(visit, !options.agree);
  progress_->next_step();
}

void Campaign::run_body(Visit& visit, bool alone) {
  const Block& block = blocks_[visit.block_];
  const auto refused = [&](const std::exception& error) {
    if (!alone) throw;
    if (!refusal_) refusal_ = std::current_exception();
    skip(block.what, error.what());
  };
  try {
    block.body(visit);
  } catch (const core::UsageError&) {
    throw;
  } catch (const core::VerificationError&) {
    throw;
  } catch (const core::Error& error) {  // for example a process that is killed for want of memory
    refused(error);
  } catch (const std::system_error& error) {  // a thread could not be started
    refused(error);
  } catch (const std::bad_alloc& error) {
    refused(error);
  }
}

bool Campaign::run(const CampaignOptions& options) {
  const std::size_t launches = blocks_.size() * static_cast<std::size_t>(options.passes);
  std::vector<double> planned;
  for (std::size_t i = 0; i < launches; ++i)
    planned.push_back(std::isfinite(options.budget_seconds)
                          ? options.budget_seconds / static_cast<double>(launches)
                          : blocks_[i % blocks_.size()].planned_seconds);
  StepProgress progress(hooks_, planned);
  progress_ = &progress;
  bool complete = true;
  refusal_ = nullptr;
  const auto agree = [&](bool yes) { return options.agree ? options.agree(yes) : yes; };
  try {
    for (std::size_t launch = 0; launch < launches && complete; ++launch) {
      complete = !agree(hooks_.stop_requested());
      if (!complete) break;
      const double spent = progress.elapsed_seconds();
      const bool first_pass = launch < blocks_.size();
      if (agree(!first_pass && spent > options.budget_seconds)) break;
      visit(options, launch);
    }
  } catch (const Stopped&) {
    complete = false;
  }
  seconds = progress.elapsed_seconds();
  progress_ = nullptr;
  const bool nothing = std::ranges::none_of(points, [](const Point& p) { return p.measured(); });
  if (refusal_ && nothing) std::rethrow_exception(refusal_);
  return complete;
}

}  // namespace tabane::lab
