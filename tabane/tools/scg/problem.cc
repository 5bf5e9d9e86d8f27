#include "tabane/tools/scg/problem.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/solver/solution.h"

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
  throw core::UsageError(
      "{}: {} is not a {}", where, value,
      positive ? fmt::format("positive number from {} to {}", kLeastK, kMostK) : "finite number");
}

void check_values(const Values& values, std::size_t rows, std::size_t columns,
                  const std::string& what, bool positive = false) {
  if (values.is_constant()) return check_number(values, values.constant, 0, what, positive);
  if (values.array.rows != rows || values.array.columns != columns) {
    throw core::UsageError("{}: {} has {} x {} numbers; expected {} x {}", what, values.name,
                           values.array.rows, values.array.columns, rows, columns);
  }
  for (std::size_t i = 0; i < values.array.values.size(); ++i) {
    check_number(values, values.array.values[i], i, what, positive);
  }
}

// Returns the distance from the outermost unknowns to a side, in squares.
double distance_to(const Problem& problem, SideIndex side) {
  return problem.sides[side].condition == Condition::dirichlet ? 1 : 0.5;
}

constexpr std::string_view kNeumann = "neumann";

Side side_named(const std::string& what, std::string_view text) {
  Side side;
  if (text.starts_with(kNeumann)) {
    const std::string_view rest = text.substr(kNeumann.size());
    if (rest.empty() || rest[0] == ':') {
      side.condition = Condition::neumann;
      if (!rest.empty()) side.values = values_named(what, std::string(rest.substr(1)));
      return side;
    }
  }
  side.values = values_named(what, std::string(text));
  return side;
}

// named: whether the text has named a side already.
void set_side(Problem& problem, std::string_view part, std::array<bool, kSides>& named) {
  const std::size_t equals = part.find('=');
  const auto name = std::ranges::find(kSideNames, part.substr(0, equals));
  if (equals == std::string_view::npos || name == kSideNames.end()) {
    throw core::UsageError(
        "--boundary: \"{}\" is not SIDE=VALUE with a side north, south, west or east, and a "
        "number, an NPY file or neumann:VALUE",
        part);
  }
  const std::string what = fmt::format("--boundary {}", *name);
  const auto side = static_cast<std::size_t>(name - kSideNames.begin());
  if (std::exchange(named[side], true)) {
    throw core::UsageError("{} is given twice; give it once", what);
  }
  problem.sides[side] = side_named(what, part.substr(equals + 1));
}

double from_side(const Problem& problem, SideIndex side, std::size_t place, double face, double h) {
  const Side& given = problem.sides[side];
  const double value = given.values.at(0, place);
  return given.condition == Condition::dirichlet ? face * value : h * value;
}

}  // namespace

void check(const Problem& problem) {
  if (problem.rows == 0 || problem.columns == 0) {
    throw core::UsageError("a mesh of {} x {} has no unknowns: give at least 1 x 1", problem.rows,
                           problem.columns);
  }
  check_values(problem.k, problem.rows, problem.columns, "k", true);
  check_values(problem.f, problem.rows, problem.columns, "f");
  bool determined = false;
  for (int side = 0; side < kSides; ++side) {
    const std::size_t length = side == kNorth || side == kSouth ? problem.columns : problem.rows;
    const Side& given = problem.sides[side];
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

void check_memory(const Problem& problem, const Extras& extras, double usable) {
  const double unknowns = static_cast<double>(problem.rows) * static_cast<double>(problem.columns);
  const double each = memory_bytes_per_unknown(is_uniform(problem), extras.proof, extras.values);
  solver::require_memory(unknowns * each, usable, [&](const auto& needed, const auto& free) {
    return fmt::format(
        "a mesh of {} x {} takes {}, and {} are free: the largest that fits is -n {:.0f}",
        problem.rows, problem.columns, needed, free, std::floor(std::sqrt(usable / each)));
  });
}

Values values_named(const std::string& what, const std::string& text) {
  if (const auto number = core::number_in<double>(text)) return {.constant = *number};
  Values values{.name = text};
  try {
    values.array = solver::read_npy(text);
  } catch (const core::SystemError& failure) {
    throw core::UsageError("{}: \"{}\" is neither a number nor a file to be read ({})", what, text,
                           failure.what());
  }
  if (values.array.values.empty()) {
    throw core::UsageError("{}: {} holds no numbers", what, text);
  }
  return values;
}

void set_boundary(Problem& problem, const std::string& text) {
  std::string_view left = text;
  std::array<bool, kSides> named{};
  while (true) {
    const std::size_t comma = left.find(',');
    set_side(problem, left.substr(0, comma), named);
    if (comma == std::string_view::npos) return;
    left.remove_prefix(comma + 1);
  }
}

void take_size_from_arrays(Problem& problem) {
  for (const Values* values : {&problem.f, &problem.k}) {
    if (values->is_constant()) continue;
    problem.rows = values->array.rows;
    problem.columns = values->array.columns;
    return;
  }
}

Faces faces_of(const Problem& problem, std::size_t row, std::size_t column) {
  return faces_in<double>(problem, row, column, 1);
}

double right_side_of(const Problem& problem, std::size_t row, std::size_t column,
                     const Faces& faces) {
  const double h = mesh_width(problem);
  double sum = h * h * problem.f.at(row, column);
  if (row == 0) sum += from_side(problem, kNorth, column, faces.north, h);
  if (row + 1 == problem.rows) sum += from_side(problem, kSouth, column, faces.south, h);
  if (column == 0) sum += from_side(problem, kWest, row, faces.west, h);
  if (column + 1 == problem.columns) sum += from_side(problem, kEast, row, faces.east, h);
  return sum;
}

}  // namespace tabane::scg
