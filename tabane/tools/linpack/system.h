// The equations A x = b, element by element, so that each rank can make its own part of them, and
// make it again when the answer is checked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tabane::linpack {

class System {
 public:
  explicit System(int n) : n_(n) {}
  virtual ~System() = default;

  int n() const { return n_; }
  // Writes rows [first, first + out.size()) of column j; column n is the right side.
  virtual void read(int j, int first, std::span<double> out) const = 0;

 private:
  int n_;
};

// Numbers from [-0.5, 0.5), each a hash of the seed and its place: the same on any grid.
class RandomSystem : public System {
 public:
  RandomSystem(int n, std::uint64_t seed) : System(n), seed_(seed) {}
  void read(int j, int first, std::span<double> out) const override;

 private:
  std::uint64_t seed_;
};

// Given numbers.
class GivenSystem : public System {
 public:
  // a: n x n, column by column. b: n; empty: the sums of a's rows, so that every x is 1.
  GivenSystem(int n, std::vector<double> a, std::vector<double> b = {});
  void read(int j, int first, std::span<double> out) const override;

 private:
  std::vector<double> a_, b_;
};

}  // namespace tabane::linpack
