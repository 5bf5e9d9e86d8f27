#include "tabane/tools/encrypt/copy_share.h"

#include <algorithm>
#include <array>

namespace tabane::encrypt {
namespace {

constexpr double kMostAmount = 0.01, kMostSeconds = 0.02;  // of the work
constexpr double kWidestInterval = 1.2;
// Below that the smallest and the largest sample are no 95 % interval; see core::median_interval().
constexpr std::size_t kFewestPairs = 6;
constexpr std::size_t kParts = 4;

bool cover_the_run(const std::vector<CopyPair>& pairs, double seconds) {
  std::array<bool, kParts> seen{};
  for (const CopyPair& pair : pairs) {
    const double part = pair.at / seconds * kParts;
    seen[static_cast<std::size_t>(std::clamp(part, 0.0, kParts - 1.0))] = true;
  }
  return std::ranges::all_of(seen, [](bool one) { return one; });
}

bool usable(const CopyPair& pair) {
  return pair.copy_seconds > 0 && pair.copy_amount > 0 && pair.work_seconds > 0 &&
         pair.work_amount > 0;
}

}  // namespace

std::optional<core::Ratio> share_of_copying(const std::vector<CopyPair>& pairs, double seconds) {
  if (seconds <= 0 || pairs.size() < kFewestPairs) return std::nullopt;
  if (!std::ranges::all_of(pairs, usable) || !cover_the_run(pairs, seconds)) return std::nullopt;
  std::vector<double> copying, working;  // seconds of an amount
  for (const CopyPair& pair : pairs) {
    copying.push_back(pair.copy_seconds / pair.copy_amount);
    working.push_back(pair.work_seconds / pair.work_amount);
  }
  const core::Ratio share = core::interleaved_ratio(copying, working);
  if (share.interval.high > kWidestInterval * share.interval.low) return std::nullopt;
  return share;
}

bool CopyBudget::allows(double amount) const {
  return copied_amount_ + amount <= kMostAmount * worked_amount_ &&
         copied_seconds_ <= kMostSeconds * worked_seconds_;
}

void CopyBudget::copied(double seconds, double amount) {
  copied_seconds_ += seconds;
  copied_amount_ += amount;
}

void CopyBudget::worked(double seconds, double amount) {
  worked_seconds_ += seconds;
  worked_amount_ += amount;
}

}  // namespace tabane::encrypt
