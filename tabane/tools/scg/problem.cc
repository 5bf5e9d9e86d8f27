#include "tabane/tools/scg/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/tools/scg/model.h"

namespace tabane::scg {
namespace {

// So that neither the sum of four faces nor its reciprocal overflows.
constexpr double kLeastK = 1e-300, kMostK = 1e300;

std::string place_of(const Values& values, std::size_t index) {
  if (values.array.rows == 1) return fmt::format("number {}", index);
  return fmt::format("row {}, column {}", index / values.array.columns,
                     index % values.array.columns);
}

void check_number(const Values& values, double value, std::size_t index, const std::string& what,
                  bool positive) {
  if (std::isfinite(value) && (!positive || (value >= kLeastK && value <= kMostK))) return;
  const std::string where =
      values.is_constant() ? what
                           : fmt::format("{}: {}, {}", what, values.name, place_of(values, index));
  throw core::UsageError(fmt::format(
      "{}: {} is not a {}", where, value,
      positive ? fmt::format("positive number from {} to {}", kLeastK, kMostK) : "finite number"));
}

void check_values(const Values& values, std::size_t rows, std::size_t columns,
                  const std::string& what, bool positive = false) {
  if (values.is_constant()) return check_number(values, values.constant, 0, what, positive);
  if (values.array.rows != rows || values.array.columns != columns) {
    throw core::UsageError(fmt::format("{}: {} has {} x {} numbers; expected {} x {}", what,
                                       values.name, values.array.rows, values.array.columns, rows,
                                       columns));
  }
  for (std::size_t i = 0; i < values.array.values.size(); ++i) {
    check_number(values, values.array.values[i], i, what, positive);
  }
}

// From the outermost unknowns to a side, in squares.
double distance_to(const Problem& problem, SideIndex side) {
  return problem.sides[side].condition == Condition::dirichlet ? 1 : 0.5;
}

}  // namespace

void check(const Problem& problem) {
  if (problem.rows == 0 || problem.columns == 0) {
    throw core::UsageError(fmt::format("a mesh of {} x {} has no unknowns: give at least 1 x 1",
                                       problem.rows, problem.columns));
  }
  check_values(problem.k, problem.rows, problem.columns, "k", true);
  check_values(problem.f, problem.rows, problem.columns, "f");
  bool determined = false;
  for (int side = 0; side < kSides; ++side) {
    const std::size_t length = side == kNorth || side == kSouth ? problem.columns : problem.rows;
    const Side& given = problem.sides[static_cast<std::size_t>(side)];
    check_values(given.values, 1, length, fmt::format("boundary {}", kSideNames[side]));
    determined |= given.condition == Condition::dirichlet;
  }
  if (!determined) {
    throw core::UsageError(
        "boundary: four Neumann sides leave u open; give its value on one side at least");
  }
}

double squares_across(const Problem& problem) {
  return static_cast<double>(problem.columns - 1) + distance_to(problem, kWest) +
         distance_to(problem, kEast);
}

double mesh_width(const Problem& problem) { return 1 / squares_across(problem); }

double x_of(const Problem& problem, std::size_t column) {
  return mesh_width(problem) * (static_cast<double>(column) + distance_to(problem, kWest));
}

double y_of(const Problem& problem, std::size_t row) {
  return mesh_width(problem) * (static_cast<double>(row) + distance_to(problem, kNorth));
}

bool is_uniform(const Problem& problem) {
  return problem.k.is_constant() && std::ranges::all_of(problem.sides, [](const Side& side) {
           return side.condition == Condition::dirichlet;
         });
}

double contrast_of(const Problem& problem) {
  if (problem.k.is_constant()) return 1;
  const auto [least, most] = std::ranges::minmax(problem.k.array.values);
  return most / least;
}

bool needs_proof(const Problem& problem) {
  constexpr double kMostTrusted = 1e4;
  return contrast_of(problem) > kMostTrusted;
}

double needed_bytes(const Problem& problem, const Extras& extras) {
  const double unknowns = static_cast<double>(problem.rows) * static_cast<double>(problem.columns);
  return unknowns * memory_bytes_per_unknown(is_uniform(problem), extras.proof, extras.values);
}

void check_memory(const Problem& problem, const Extras& extras, double usable) {
  const double needed = needed_bytes(problem, extras);
  if (needed <= usable) return;
  const double unknowns = static_cast<double>(problem.rows) * static_cast<double>(problem.columns);
  throw core::UsageError(fmt::format(
      "a mesh of {} x {} takes {}, and {} are free: the largest that fits is -n {:.0f}",
      problem.rows, problem.columns, core::format_bytes(static_cast<std::uint64_t>(needed)),
      core::format_bytes(static_cast<std::uint64_t>(usable)),
      std::floor(std::sqrt(usable / (needed / unknowns)))));
}

}  // namespace tabane::scg
