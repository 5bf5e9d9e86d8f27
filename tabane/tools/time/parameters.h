// Parameters that a command line is run with: {NAME} stands for each of their values in turn.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/lab/record/points.h"

namespace tabane::lab {

struct Parameter {
  std::string name;
  std::vector<std::string> values;  // at least one
};

// From the first number up to the last in steps, without rounding: "0.1" to "0.3" by "0.1" is 0.1,
// 0.2, 0.3. throws: core::UsageError naming what is not a number, empty or too much.
Parameter number_parameter(std::string name, std::string_view first, std::string_view last,
                           std::string_view step = "1");

// "a,b,c"; "\," is a comma in a value. throws: core::UsageError for a name that cannot stand in
// braces.
Parameter list_parameter(std::string name, std::string_view values);

using Values = std::vector<std::pair<std::string, std::string>>;

// All combinations of values, the last parameter's change fastest; without parameters an empty one.
// throws: core::UsageError for more than 10 000.
std::vector<Values> combinations_of(const std::vector<Parameter>& parameters);

// A number if that is how it is written, else a word: "8" and "0.5", but not "08".
Level level_of(const std::string& value);

}  // namespace tabane::lab
