#include "tabane/tools/linpack/system.h"

#include <algorithm>

#include "tabane/core/error.h"

namespace tabane::linpack {
namespace {

// The output function of SplitMix64: each bit of the input changes half of the output's.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;

}  // namespace

// Column j is the SplitMix64 stream that begins at a hash of seed and j.
void RandomSystem::read(int j, int first, std::span<double> out) const {
  const std::uint64_t column = mix(mix(seed_ + kGamma) + kGamma * (static_cast<unsigned>(j) + 1u));
  std::uint64_t state = column + kGamma * static_cast<unsigned>(first);
  for (double& value : out) {
    state += kGamma;
    value = static_cast<double>(static_cast<std::int64_t>(mix(state)) >> 11) * 0x1p-53;
  }
}

GivenSystem::GivenSystem(int n, std::vector<double> a, std::vector<double> b)
    : System(n), a_(std::move(a)), b_(std::move(b)) {
  const auto size = static_cast<std::size_t>(n);
  TABANE_ASSERT(a_.size() == size * size && (b_.empty() || b_.size() == size));
  if (!b_.empty()) return;
  b_.resize(size);
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = 0; i < size; ++i) b_[i] += a_[j * size + i];
  }
}

void GivenSystem::read(int j, int first, std::span<double> out) const {
  const double* const column =
      j == n() ? b_.data()
               : a_.data() + static_cast<std::size_t>(j) * static_cast<std::size_t>(n());
  std::copy_n(column + first, out.size(), out.begin());
}

}  // namespace tabane::linpack
