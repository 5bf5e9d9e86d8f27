// What distinguishes one measured point from the others: named factors, each at one of its levels.
#pragma once

#include <compare>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tabane::lab {

// A number or a word. Numbers stand before words.
class Level {
 public:
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number> Level(Number number)
      : value_(static_cast<double>(number)) {}            // NOLINT: levels read as values
  Level(std::string word) : value_(std::move(word)) {}    // NOLINT
  Level(const char* word) : value_(std::string(word)) {}  // NOLINT

  bool is_number() const { return std::holds_alternative<double>(value_); }
  double number() const { return std::get<double>(value_); }
  const std::string& word() const { return std::get<std::string>(value_); }
  std::string text() const;  // "8", "0.5", "flags"

  friend bool operator==(const Level&, const Level&) = default;
  friend std::partial_ordering operator<=>(const Level&, const Level&) = default;

 private:
  std::variant<double, std::string> value_;
};

struct Factor {
  std::string name;
  Level level;
  friend bool operator==(const Factor&, const Factor&) = default;
};

// {{"way", "flags"}, {"ranks", 8}, {"bytes", 64}}: each name once, in the order in which people
// read them.
class Factors {
 public:
  Factors() = default;
  Factors(std::initializer_list<Factor> factors) : all_(factors) {}

  const Level* find(std::string_view name) const;  // null if absent
  void set(std::string_view name, Level level);
  // Whether each of the wanted factors is here at the wanted level.
  bool match(const Factors& wanted) const;
  // These, and `more`, which replace those of the same name.
  Factors with(const Factors& more) const;

  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  bool empty() const { return all_.empty(); }
  friend bool operator==(const Factors&, const Factors&) = default;

 private:
  std::vector<Factor> all_;
};

}  // namespace tabane::lab
