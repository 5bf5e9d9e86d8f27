// What distinguishes one measured point from the others: named factors, each at one of its levels.
#pragma once

#include <compare>
#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tabane/core/statistics.h"

namespace tabane::lab {

// A number or a word. Numbers sort before words.
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
  // The level of a factor that must be here. throw: core::Error naming it.
  double number(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  std::string text(std::string_view name) const;
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

// Measured points: what a campaign fills and what tables and charts are made from.

// One point: samples of what its factors say. Sample i belongs to round i of its block, in which
// all points of the block were measured in turn.
struct Point {
  Factors factors;
  std::size_t block = 0;
  std::vector<double> samples = {};
  // What was seen with each sample: {"page_faults", …}; as many as samples, NaN where not known.
  std::map<std::string, std::vector<double>, std::less<>> beside = {};

  bool measured() const { return !samples.empty(); }
  double median() const { return core::median(samples); }
  // 95 % of the median; null for fewer than core::kFewestForInterval samples.
  std::optional<core::Interval> interval() const;
  // As of its factors.
  double number(std::string_view factor) const { return factors.number(factor); }
  std::string text(std::string_view factor) const { return factors.text(factor); }
};

// a / b of points of one block, taken in turn; null if one is null or not measured, or if they were
// not always taken together.
std::optional<core::Ratio> ratio_in_turn(const Point* a, const Point* b);

class Points {
 public:
  // Makes the names of factors known that may have no measured point.
  void declare(const Factors& factors);
  // Adds a point and returns its index.
  std::size_t add(Point point);
  Point& operator[](std::size_t i) { return all_[i]; }
  const Point& operator[](std::size_t i) const { return all_[i]; }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  // The measured point with these factors; null if there is none. Factors that are not named may
  // have any level.
  // throws: core::Error for a factor of an unknown name: a typing error would pass for "not
  // measured".
  const Point* find(const Factors& wanted) const;
  // All measured points with these factors, in order of `by` if it is given. throws: as find().
  std::vector<const Point*> where(const Factors& wanted, std::string_view by = {}) const;
  // The levels of a factor among these points: numbers ascending, words in order of appearance.
  // throws: as find().
  std::vector<Level> levels(std::string_view factor, const Factors& wanted = {}) const;
  std::vector<double> numbers(std::string_view factor, const Factors& wanted = {}) const;
  std::vector<std::string> words(std::string_view factor, const Factors& wanted = {}) const;

 private:
  void require_known(std::string_view factor) const;

  std::vector<Point> all_;
  std::set<std::string, std::less<>> known_;  // names of factors
};

// The point with the least median; null if there is none.
const Point* fastest(const std::vector<const Point*>& points);

}  // namespace tabane::lab
