// -div(k grad u) = f on a rectangle of width 1, on a mesh of squares.
//
// Each unknown stands in the middle of a square of side h. Between two of them flows, through the
// face, k_face (u - u_neighbour) / h per length, with k_face the mean of the two k. A Dirichlet
// side, where u is given, lies h beyond the outermost unknowns, and the face to it has their k; a
// Neumann side, where the flow k du/dn into the rectangle is given, is the outer face itself, h / 2
// beyond them. So the matrix is symmetric, and the error falls as h^2 at all sides.
#pragma once

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

// harmonic: what two layers one behind the other conduct, so that the flow is right where k jumps.
enum class FaceMean { harmonic, arithmetic };

struct Problem {
  std::size_t rows = 400, columns = 400;  // of unknowns; row 0 is at the north side
  Values k{1}, f{1};
  FaceMean mean = FaceMean::harmonic;
  std::array<Side, kSides> sides = {};
};

// throws: core::UsageError naming what cannot be, its place, and what was expected: sizes of 0,
// arrays that do not fit the mesh, numbers that are not finite, k <= 0 or
// beyond the range of what can be added up, four Neumann sides (then u
// would not be determined).
void check(const Problem& problem);

// Squares in the rectangle's width, halves included; the side of a square: 1 / squares_across().
double squares_across(const Problem& problem);
double mesh_width(const Problem& problem);
// Where an unknown stands: from the west side; from the north side.
double x_of(const Problem& problem, std::size_t column);
double y_of(const Problem& problem, std::size_t row);

// Whether all unknowns have the same stencil: k constant, and u given on all sides.
bool is_uniform(const Problem& problem);

// The largest k, divided by the smallest.
double contrast_of(const Problem& problem);
// Whether k varies so much that a small residual alone says too little of u.
bool needs_proof(const Problem& problem);

// What a solution takes memory for, beside the unknowns themselves.
struct Extras {
  bool values = false;  // rank 0 puts all unknowns together
  bool proof = false;
};
// Bytes that a solution takes on all ranks together, beside the arrays of the problem.
double needed_bytes(const Problem& problem, const Extras& extras);
// throws: core::UsageError with the largest n that fits if `usable` bytes do not suffice.
void check_memory(const Problem& problem, const Extras& extras, double usable);

}  // namespace tabane::scg
