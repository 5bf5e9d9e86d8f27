// -div(k grad u) = f on a rectangle of width 1, on a mesh of squares.
//
// Each unknown is in the middle of a square of side h. Through the face between two of them
// k_face (u - u_neighbour) / h flows per length, with k_face the mean of the two k. A Dirichlet
// side, where u is given, is h beyond the outermost unknowns, and the face to it has their k; a
// Neumann side, where the flow k du/dn into the rectangle is given, is the outer face itself, h / 2
// beyond them. So the matrix is symmetric, and the error falls as h^2 at all sides.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "tabane/solver/npy.h"

namespace tabane::scg {

// One number everywhere, or one for each place.
struct Values {
  double constant = 0;
  solver::Array2d array = {};  // empty: constant
  std::string name = {};       // of the file that the array is from

  bool is_constant() const { return array.values.empty(); }
  double at(std::size_t row, std::size_t column) const {
    return is_constant() ? constant : array.values[row * array.columns + column];
  }
};

enum class Condition { dirichlet, neumann };

enum SideIndex { kNorth, kSouth, kWest, kEast, kSides };
inline constexpr std::array<const char*, kSides> kSideNames{"north", "south", "west", "east"};
constexpr SideIndex opposite(SideIndex side) { return static_cast<SideIndex>(side ^ 1); }

struct Side {
  Condition condition = Condition::dirichlet;
  Values values = {};  // u, or k du/dn; an array: of one row
};

// harmonic: what two successive layers conduct, so that the flow is right where k jumps.
enum class FaceMean { harmonic, arithmetic };

struct Problem {
  std::size_t rows = 400, columns = 400;  // of unknowns; row 0 is at the north side
  Values k{1}, f{1};
  FaceMean mean = FaceMean::harmonic;
  std::array<Side, kSides> sides = {};
};

// throws: core::UsageError naming what is impossible, its place, and what was expected: sizes of 0,
// arrays that do not fit the mesh, numbers that are not finite, k <= 0 or beyond the range of what
// can be added up, four Neumann sides (then u would not be determined).
void check(const Problem& problem);

// Squares in the rectangle's width, halves included; the side of a square: 1 / squares_across().
double squares_across(const Problem& problem);
double mesh_width(const Problem& problem);

// Whether all unknowns have the same stencil: k constant, and u given on all sides.
bool is_uniform(const Problem& problem);

// The largest k, divided by the smallest.
double contrast_of(const Problem& problem);
// Whether k varies so much that a small residual alone says too little of u.
bool needs_proof(const Problem& problem);

// What a solution takes memory for, besides the unknowns themselves.
struct Extras {
  bool values = false;  // rank 0 puts all unknowns together
  bool proof = false;
};
// throws: core::UsageError with the largest n that fits if `usable` bytes do not suffice for a
// solution on all ranks together, besides the arrays of the problem.
void check_memory(const Problem& problem, const Extras& extras, double usable);

// Reads a problem's numbers as users write them: "1", "-2.5e3" or the name of an NPY file. what:
// the option, for errors. throws: core::UsageError if it is neither, or the file is malformed.
Values values_named(const std::string& what, const std::string& text);

// Reads "west=0,east=neumann,north=u.npy,south=neumann:flow.npy": u, or neumann and k du/dn (0 if
// it is left out), on the sides that it names. throws: core::UsageError.
void set_boundary(Problem& problem, const std::string& text);

// Takes the mesh's size from the first array among k and f, if there is one.
void take_size_from_arrays(Problem& problem);

// The conductances of the faces around an unknown; 0 on a Neumann side. T: double or Twice.
template <class T>
struct FacesIn {
  T north = 0, south = 0, west = 0, east = 0;

  T sum() const { return (north + south) + (west + east); }  // the diagonal of A
};
using Faces = FacesIn<double>;

// Returns the mean of k on both sides of a face: symmetric, and without overflow or underflow.
template <class T>
T mean_of(FaceMean mean, double a, double b) {
  if (mean == FaceMean::arithmetic) return T(0.5 * a) + T(0.5 * b);
  return T(std::max(a, b)) / (T(a) + T(b)) * T(2 * std::min(a, b));
}

// of_k: multiplies k; a power of two.
template <class T>
FacesIn<T> faces_in(const Problem& problem, std::size_t row, std::size_t column, double of_k) {
  const Values& k = problem.k;
  const double own = k.at(row, column) * of_k;
  const auto between = [&](std::size_t i, std::size_t j) {
    return mean_of<T>(problem.mean, own, k.at(i, j) * of_k);
  };
  const auto at = [&](SideIndex side) {
    return T(problem.sides[side].condition == Condition::dirichlet ? own : 0);
  };
  return {row > 0 ? between(row - 1, column) : at(kNorth),
          row + 1 < problem.rows ? between(row + 1, column) : at(kSouth),
          column > 0 ? between(row, column - 1) : at(kWest),
          column + 1 < problem.columns ? between(row, column + 1) : at(kEast)};
}
Faces faces_of(const Problem& problem, std::size_t row, std::size_t column);

// Returns what is known of an unknown's equation: h^2 f, what the faces conduct from Dirichlet
// sides, and what flows in over Neumann sides.
double right_side_of(const Problem& problem, std::size_t row, std::size_t column,
                     const Faces& faces);

// Operations per unknown and iteration. Rates count the 24 of the AP1000 report, as others do; 18
// is the least: 8 for A p, where all stencils are the same, 4 for two scalar products, 6 for three
// vectors.
inline constexpr double kOperations = 24, kLeastOperations = 18;

constexpr double operations(double unknowns, double iterations) {
  return kOperations * unknowns * iterations;
}

// Bytes per unknown and iteration between the processor and what holds the vectors, if rows that
// were just used stay nearer:
//
//   pass        reads               writes   one stencil    with couplings
//   direction   r, p                p             24             + 16
//   update      p, r                r             24             + 16
//               x, in every second  x              8
//                                                 56               88
//
// Every line that is written was read before: stores past the caches would save nothing.
constexpr double bytes_per_unknown(bool uniform) { return uniform ? 56 : 88; }

// Memory, in bytes: p, r and x, two couplings of each unknown where they differ; for a proof the
// couplings in any case, the lower half of x, and w in two halves; on rank 0 the result, and the
// parts of the ranks that it is made of.
constexpr double memory_bytes_per_unknown(bool uniform, bool proof, bool with_values) {
  return (uniform && !proof ? 24 : 40) + (proof ? 24 : 0) + (with_values ? 24 : 0);
}

}  // namespace tabane::scg
