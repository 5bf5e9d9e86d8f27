#include "tabane/tools/encrypt/plan.h"

#include <algorithm>
#include <limits>

namespace tabane::encrypt {
namespace {

// Only orders of magnitude matter: they decide between one thread and several for jobs of less than
// a millisecond, and how finely larger ones are cut.
constexpr double kSecondsPerFile = 15e-6;  // open, create, write, rename, close
constexpr double kSecondsPerByte = 0.6e-9;
constexpr double kSecondsPerThread = 200e-6;  // several times what starting one costs

constexpr std::uint64_t kSmallestPiece = std::uint64_t{1} << 20;  // hides opening, joins, seeks
constexpr std::uint64_t kLargestPiece = std::uint64_t{16} << 20;  // progress; the wait at the end
constexpr std::uint32_t kMostFiles = 256;     // one directory at a time, one counter step
constexpr std::uint64_t kUnitsPerThread = 8;  // what is left at the end is an eighth of a share

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

void add_pieces(std::uint32_t index, std::uint64_t bytes, std::uint64_t piece,
                std::vector<Unit>& units) {
  const std::uint64_t count = (bytes + piece - 1) / piece;
  for (std::uint64_t i = 0; i < count; ++i) {
    units.push_back({.first_file = index,
                     .files = 1,
                     .piece = static_cast<std::uint32_t>(i),
                     .pieces = static_cast<std::uint32_t>(count)});
  }
}

// Runs of small files of one directory: two threads in one directory wait for each other.
void add_batches(const Tree& tree, std::uint32_t most, std::vector<Unit>& units) {
  Unit batch{.first_file = 0, .files = 0};
  std::uint64_t bytes = 0;
  const auto close = [&] {
    if (batch.files > 0) units.push_back(batch);
    batch.files = 0;
    bytes = 0;
  };
  for (std::uint32_t i = 0; i < tree.files.size(); ++i) {
    const TreeFile& file = tree.files[i];
    const bool joins = batch.files > 0 && batch.files < most && bytes + file.bytes <= kLargeBytes &&
                       tree.files[batch.first_file].directory == file.directory;
    if (!joins || file.bytes >= kLargeBytes) close();
    if (file.bytes >= kLargeBytes) continue;
    if (batch.files == 0) batch.first_file = i;
    ++batch.files;
    bytes += file.bytes;
  }
  close();
}

}  // namespace

unsigned choose_threads(std::uint64_t files, std::uint64_t bytes, unsigned pus) {
  const double work =
      static_cast<double>(files) * kSecondsPerFile + static_cast<double>(bytes) * kSecondsPerByte;
  const double pays = work / kSecondsPerThread;
  if (pays >= pus) return std::max(1u, pus);
  return std::max(1u, static_cast<unsigned>(pays));
}

std::uint64_t bytes_of(const Unit& unit, const Tree& tree, const Plan& plan) {
  if (unit.pieces > 1) {
    const std::uint64_t before = unit.piece * plan.piece_bytes;
    return std::min(plan.piece_bytes, tree.files[unit.first_file].bytes - before);
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < unit.files; ++i) bytes += tree.files[unit.first_file + i].bytes;
  return bytes;
}

Plan make_plan(const Tree& tree, const PlanOptions& options) {
  Plan plan{.options = options};
  const std::uint64_t bytes = tree.bytes();
  plan.threads =
      options.threads > 0 ? options.threads : choose_threads(tree.files.size(), bytes, options.pus);
  const std::uint64_t share = bytes / (plan.threads * kUnitsPerThread);
  plan.piece_bytes = round_up(std::clamp(share, kSmallestPiece, kLargestPiece), options.piece_unit);
  const bool split = options.can_split && plan.threads > 1;

  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < tree.files.size(); ++i) {
    if (tree.files[i].bytes >= kLargeBytes) large.push_back(i);
  }
  std::ranges::stable_sort(large, std::greater<>{},
                           [&](std::uint32_t i) { return tree.files[i].bytes; });
  for (std::uint32_t i : large) {
    const bool cut = split && tree.files[i].bytes >= 2 * plan.piece_bytes;
    add_pieces(i, tree.files[i].bytes,
               cut ? plan.piece_bytes : std::numeric_limits<std::uint64_t>::max() / 2, plan.units);
  }
  const std::uint64_t most = tree.files.size() / (plan.threads * kUnitsPerThread);
  add_batches(tree, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, 1, kMostFiles)),
              plan.units);
  if (options.threads == 0) {
    plan.threads = std::max<unsigned>(
        1, static_cast<unsigned>(std::min<std::size_t>(plan.threads, plan.units.size())));
  }
  return plan;
}

bool takes_chain(const OpenChains& open, std::uint64_t bytes, std::uint64_t share,
                 std::size_t lanes) {
  if (open.files == 0) return true;
  if (open.bytes_left + bytes / 2 > share) return false;
  const std::size_t most = 2 * lanes - 1;
  const bool fits = open.files < most && open.bytes_left + (most - open.files) * bytes >= share;
  return fits || open.files < lanes;
}

}  // namespace tabane::encrypt
