#include "tabane/tools/encrypt/copy_share.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {
namespace {

constexpr double kMostAmount = 0.01, kMostSeconds = 0.02;  // of the work
constexpr double kWidestInterval = 1.2;
// Below that the smallest and the largest sample are no 95 % interval; see core::median_interval().
constexpr std::size_t kFewestPairs = 6;
constexpr std::size_t kParts = 4;

bool cover_the_run(const std::vector<CopyPair>& pairs, double seconds) {
  std::set<double> seen;
  for (const CopyPair& pair : pairs) {
    seen.insert(std::floor(std::clamp(pair.at / seconds * kParts, 0.0, kParts - 1.0)));
  }
  return seen.size() == kParts;
}

bool usable(const CopyPair& pair) {
  return pair.copy_seconds > 0 && pair.copy_amount > 0 && pair.work_seconds > 0 &&
         pair.work_amount > 0;
}

constexpr std::size_t kCopyBytes = std::size_t{128} << 10;
// What is copied first is in the caches when the unit reads it, so it must be a small part of that;
// and many short copies say more than a few long ones.
constexpr std::uint32_t kFewestFiles = 4, kPartOfFiles = 16;
constexpr std::uint64_t kPartOfPiece = 64;
constexpr std::uint64_t kSmallestPart = std::uint64_t{256} << 10;

bool is_large(const Tree& tree, const Unit& unit) {
  return unit.files == 1 && tree.files[unit.first_file].bytes >= kLargeBytes;
}

std::uint64_t piece_offset(const Plan& plan, const Unit& unit) {
  return unit.pieces == 1 ? 0 : unit.piece * plan.piece_bytes;
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

CopySampler::CopySampler(const Tree& tree, const Plan& plan, int in_root, int to, CopyPairs& pairs)
    : tree_(tree),
      plan_(plan),
      pairs_(pairs),
      directories_(tree, in_root, false),
      to_(std::make_shared<const core::Descriptor>(fcntl(to, F_DUPFD_CLOEXEC, 0))) {}

// Spread over the unit, as sizes may go with names.
std::vector<CopySampler::CopiedPart> CopySampler::parts_of(const Unit& unit) const {
  if (is_large(tree_, unit)) {
    const std::uint64_t all = bytes_of(unit, tree_, plan_);
    const std::uint64_t part = std::max(all / kPartOfPiece, kSmallestPart);
    return {{unit.first_file, piece_offset(plan_, unit), std::min(all, part)}};
  }
  if (unit.files < kFewestFiles) return {};
  const std::uint32_t count = std::max<std::uint32_t>(1, unit.files / kPartOfFiles);
  std::vector<CopiedPart> parts;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t file = unit.first_file + (2 * i + 1) * unit.files / (2 * count);
    parts.push_back({file, 0, tree_.files[file].bytes});
  }
  return parts;
}

double CopySampler::amount_of(const Unit& unit, const std::vector<CopiedPart>& parts) const {
  double amount = is_large(tree_, unit) ? 0 : kBytesOfFile * static_cast<double>(parts.size());
  for (const CopiedPart& part : parts) amount += static_cast<double>(part.bytes);
  return amount;
}

double CopySampler::amount_of(const Unit& unit) const {
  const auto bytes = static_cast<double>(bytes_of(unit, tree_, plan_));
  return is_large(tree_, unit) ? bytes : kBytesOfFile * unit.files + bytes;
}

// What is written is random: the temporary copies must hold nothing that anyone wants to keep
// secret, whatever becomes of them.
void CopySampler::copy_part(int in, int out, CopiedPart part) {
  for (std::uint64_t at = 0; at < part.bytes;) {
    const auto want =
        static_cast<std::size_t>(std::min<std::uint64_t>(part.bytes - at, kCopyBytes));
    const std::size_t got = core::read_all_at(in, in_.data(), want, part.offset + at, "a copy");
    if (got == 0) return;
    core::write_all_at(out, random_.data(), got, at, "a copy");
    at += got;
  }
}

// Opening and making counts for whole files only, as one piece of many opens and makes nothing;
// removing the copies is no part of copying.
double CopySampler::copy(const Unit& unit, const std::vector<CopiedPart>& parts) {
  if (!random_.data()) {
    in_.reserve(kCopyBytes);
    random_.reserve(kCopyBytes);
    crypto::fill_random({random_.data(), kCopyBytes});
  }
  const core::SharedDescriptor from = directories_.open(tree_.files[parts.front().file].directory);
  std::vector<std::unique_ptr<core::OutputFile>> copies;
  double seconds = 0;
  for (const CopiedPart& part : parts) {
    const TreeFile& file = tree_.files[part.file];
    const double opens = pairs_.now();
    const core::Descriptor in = open_entry(from->get(), tree_.name(file.name_at));
    if (!in.valid()) throw core::SystemError("open", tree_.path(file), errno);
    copies.push_back(std::make_unique<core::OutputFile>(to_, "a copy", 0600, core::Until::unnamed));
    const double reads = pairs_.now();
    copy_part(in.get(), copies.back()->fd(), part);
    seconds += pairs_.now() - (is_large(tree_, unit) ? reads : opens);
  }
  return seconds;
}

void CopySampler::before(const Unit& unit) {
  pair_ = {.at = pairs_.now()};
  const std::vector<CopiedPart> parts = failed_ ? std::vector<CopiedPart>{} : parts_of(unit);
  const double amount = amount_of(unit, parts);
  if (!parts.empty() && budget_.allows(amount)) {
    try {
      pair_.copy_seconds = copy(unit, parts);
      pair_.copy_amount = amount;
    } catch (const std::exception&) {
      failed_ = true;  // such as no room: the job itself will say so
    }
    budget_.copied(pairs_.now() - pair_.at, amount);
  }
  unit_begin_ = pairs_.now();
}

void CopySampler::after(const Unit& unit, bool whole) {
  if (!whole) return;
  pair_.work_seconds = pairs_.now() - unit_begin_;
  pair_.work_amount = amount_of(unit);
  budget_.worked(pair_.work_seconds, pair_.work_amount);
  if (pair_.copy_amount > 0) pairs_.add(pair_);
}

}  // namespace tabane::encrypt
