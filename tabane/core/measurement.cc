#include "tabane/core/measurement.h"

#include <cmath>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

// Checks for confidence every so many rounds; sorting all samples after each would cost more than
// work.
constexpr int kCheckEvery = 8;

struct Epoch {
  double seconds = 0;
  bool disturbed = false;
};

Epoch time_once(const Contender& contender, std::uint64_t iterations, Clock& clock) {
  if (contender.before) contender.before();
  if (contender.timed) {
    const double seconds = contender.timed(iterations);
    return {std::abs(seconds), seconds < 0};
  }
  const RunningShare running;
  const double start = clock.now();
  contender.work(iterations);
  const double seconds = clock.now() - start;
  return {seconds, running.share() < kLeastRunningShare};
}

// An epoch, taken again while it is disturbed and tries are left.
Epoch time_undisturbed(const Contender& contender, Series& series, int most_tries, Clock& clock) {
  Epoch epoch = time_once(contender, series.iterations_per_epoch, clock);
  for (int tries = 1; epoch.disturbed && tries < most_tries; ++tries) {
    ++series.retaken;
    epoch = time_once(contender, series.iterations_per_epoch, clock);
  }
  return epoch;
}

double time_epoch(const Contender& contender, std::uint64_t iterations, Clock& clock) {
  return time_once(contender, iterations, clock).seconds;
}

// The shortest of three epochs, or the first that is not long enough: an interruption makes an
// epoch look long, and a batch left too small by one would time the call instead of the work.
double surely_lasting(const Contender& contender, std::uint64_t iterations, double enough,
                      Clock& clock) {
  double shortest = time_epoch(contender, iterations, clock);
  for (int again = 0; again < 2 && shortest >= enough; ++again)
    shortest = std::min(shortest, time_epoch(contender, iterations, clock));
  return shortest;
}

// Doubles the batch until an epoch lasts long enough. The epochs run here are not counted.
std::uint64_t grow_epoch(const Contender& contender, const MeasureOptions& options, Clock& clock) {
  if (options.single_iteration) return 1;
  const double enough = std::max(options.min_epoch_steps * clock.step(), options.min_epoch_seconds);
  std::uint64_t iterations = 1;
  while (iterations < (std::uint64_t{1} << 40)) {
    const double seconds = surely_lasting(contender, iterations, enough, clock);
    if (seconds >= enough) break;
    // Aim a little above; a first epoch with cold caches may have been slow.
    const double factor = seconds > 0 ? std::clamp(1.2 * enough / seconds, 1.5, 16.0) : 16.0;
    iterations = static_cast<std::uint64_t>(std::ceil(static_cast<double>(iterations) * factor));
  }
  return iterations;
}

bool confident(const Series& series, double target) {
  const Interval interval = series.interval();
  const double middle = series.median();
  return middle > 0 && (interval.high - interval.low) / 2 <= target * middle;
}

}  // namespace

Effort Effort::part(int pass, int passes) const {
  const auto rounds = [&](int all) {
    return static_cast<int>(std::int64_t{all} * (pass + 1) / passes -
                            std::int64_t{all} * pass / passes);
  };
  Effort part = *this;
  part.fewest = rounds(fewest);
  part.most = rounds(most);
  part.budget_seconds = budget_seconds / passes;
  return part;
}

Series measure(std::string name, Work work, const MeasureOptions& options, Clock& clock) {
  std::vector<Contender> one;
  one.push_back({std::move(name), std::move(work), {}});
  return std::move(measure_interleaved(std::move(one), options, clock).front());
}

std::vector<Series> measure_interleaved(std::vector<Contender> contenders,
                                        const MeasureOptions& options, Clock& clock) {
  TABANE_ASSERT(options.min_epochs >= 1 && options.max_epochs >= options.min_epochs);
  const double start = clock.now();
  const double budget = options.budget_seconds * static_cast<double>(contenders.size());
  std::vector<Series> all(contenders.size());
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    all[c].name = contenders[c].name;
    all[c].iterations_per_epoch = grow_epoch(contenders[c], options, clock);
    for (int w = 0; w < options.warmup_epochs; ++w)
      time_epoch(contenders[c], all[c].iterations_per_epoch, clock);
  }

  const Effort rounds{
      .fewest = options.min_epochs, .most = options.max_epochs, .budget_seconds = budget};
  const RoundsEnd end = in_rounds(
      contenders.size(), rounds, clock, start,
      [&](std::size_t c) {
        return time_undisturbed(contenders[c], all[c], options.most_tries, clock);
      },
      [&](const std::vector<Epoch>& epochs) {
        for (std::size_t c = 0; c < all.size(); ++c) {
          all[c].samples.push_back(epochs[c].seconds /
                                   static_cast<double>(all[c].iterations_per_epoch));
          all[c].disturbed += options.most_tries > 1 && epochs[c].disturbed;
        }
      },
      [&](int round) {
        if (round != options.min_epochs && round % kCheckEvery != 0) return false;
        return std::ranges::all_of(all, [&](const Series& series) {
          return confident(series, options.confidence_target);
        });
      });
  for (Series& series : all) series.stopped = end;
  return all;
}

}  // namespace tabane::core
