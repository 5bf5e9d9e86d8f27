// A view: one table or chart of a record, complete enough to be shown anywhere: in a terminal, on a
// page, by gnuplot, as JSON.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/json.h"

namespace tabane::lab {

enum class Better { higher, lower, neither };

// ---- tables ----

// What stands in one place of a table: nothing, text, or a value with its unit and interval.
// Unit "ratio" shows two decimals, "share" per cent, "1" a count.
struct Entry {
  std::string text = {};
  std::optional<double> value = {};
  std::string unit = {};
  std::optional<core::Interval> interval = {};

  Entry() = default;
  Entry(std::string t) : text(std::move(t)) {}  // NOLINT: entries read as text
  Entry(const char* t) : text(t) {}             // NOLINT
  Entry(double v, std::string u, std::optional<core::Interval> i = {})
      : value(v), unit(std::move(u)), interval(i) {}
  // NaN and null are "not measured".
  Entry(std::optional<double> v, std::string u) : value(v), unit(std::move(u)) {}

  bool none() const { return !value && text.empty(); }
  friend bool operator==(const Entry& a, const Entry& b) {
    return a.text == b.text && a.value == b.value && a.unit == b.unit;
  }
};

struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<Entry>> rows;  // each as long as columns
};

// ---- charts ----

struct Axis {
  std::string name;
  std::string unit;
  bool log = false;
};

enum class Role {
  measured,
  fitted,     // a line through the measured curve before it, in its colour
  published,  // figures of others, drawn apart
};

struct Curve {
  std::string name;
  std::vector<double> x, y;                 // same length
  std::vector<double> low = {}, high = {};  // 95 % of y; empty or the same length
  Role role = Role::measured;
  bool joined = true;              // points are joined by lines
  std::vector<bool> flagged = {};  // outliers, drawn larger; empty or the same length
  // Indices into the colours and the shapes of points; null: those of its place among the series.
  // Shape -1: a line without points.
  std::optional<int> colour = {}, shape = {};
  // Its name in the chart's key; null: `name`, empty: none. With a colour and a shape of its own
  // the key shows the shape alone.
  std::optional<std::string> key = {};
};

// A line across a chart with its label.
struct Mark {
  double at = 0;
  std::string label;
  bool vertical = true;
};

struct Curves {
  Axis x, y;
  std::vector<Curve> series;
  std::vector<Mark> marks = {};
  bool ideal = false;  // also draws what perfect scaling would give: y = x, or 1 for an efficiency
};

struct Matrix {
  std::string unit;
  Better better = Better::lower;
  std::vector<std::string> rows, columns;
  std::vector<std::vector<std::optional<double>>> values;  // rows × columns
  std::string row_axis = {}, column_axis = {};
  struct Place {
    std::size_t row = 0, column = 0;
  };
  std::optional<Place> framed = {};  // what is pointed at, for example what was chosen
  // The values that the ends of a logarithmic scale of colours stand for; null: a linear scale of
  // what is here.
  std::optional<core::Interval> colours = {};
  bool own_first = false;  // values are also shown as ratios to the column that has the row's name
};

struct Bar {
  std::string group, label;
  std::optional<double> value;
  std::optional<core::Interval> interval = {};
  std::string remark = {};  // where it comes from
  std::optional<double> target = {};
};

struct Bars {
  std::string unit;  // "share", "ratio", …
  std::vector<Bar> bars;
  std::optional<double> reference = {};  // a line across all bars, for example a limit
  bool clustered = false;  // bars of a group stand together under its name, one colour per label
  bool log = false;
};

// ---- pictures ----

// A picture that a workload made.
struct Image {
  std::string what;        // what is to be seen, for those who cannot see it
  std::string png_base64;  // the file
};

using Content = std::variant<Rows, Curves, Matrix, Bars, Image>;

struct View {
  std::string name;       // stable, dotted: "memory.latency"
  std::string title;      // what it shows, in one line
  std::string note = {};  // reads it aloud: what the figures say and how they were taken
  int version = 1;
  Json details = Json::object();
  Content content;
};

}  // namespace tabane::lab
