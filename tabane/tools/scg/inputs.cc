#include "tabane/tools/scg/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::scg {
namespace {

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
    throw core::UsageError(fmt::format(
        "--boundary: \"{}\" is not SIDE=VALUE with a side north, south, west or east, and a "
        "number, an NPY file or neumann:VALUE",
        part));
  }
  const std::string what = fmt::format("--boundary {}", *name);
  const auto side = static_cast<std::size_t>(name - kSideNames.begin());
  if (std::exchange(named[side], true)) {
    throw core::UsageError(fmt::format("{} is given twice; give it once", what));
  }
  problem.sides[side] = side_named(what, part.substr(equals + 1));
}

}  // namespace

Values values_named(const std::string& what, const std::string& text) {
  Values values;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, values.constant);
  if (error == std::errc() && stop == end) return values;
  values.constant = 0;
  values.name = text;
  try {
    values.array = solver::read_npy(text);
  } catch (const core::SystemError& failure) {
    throw core::UsageError(fmt::format("{}: \"{}\" is neither a number nor a file to be read ({})",
                                       what, text, failure.what()));
  }
  if (values.array.values.empty()) {
    throw core::UsageError(fmt::format("{}: {} holds no numbers", what, text));
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

bool take_size_from_arrays(Problem& problem) {
  for (const Values* values : {&problem.f, &problem.k}) {
    if (values->is_constant()) continue;
    problem.rows = values->array.rows;
    problem.columns = values->array.columns;
    return true;
  }
  return false;
}

}  // namespace tabane::scg
