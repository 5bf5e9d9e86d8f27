// What a survey or a study found: figures, tables and what surrounds them, and their JSON form.
//
// The JSON is described key by key in docs/survey-format.md. Measuring returns these records;
// formatting takes them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tabane/core/statistics.h"

namespace tabane::lab {

using Json = nlohmann::ordered_json;

enum class Better { higher, lower, neither };

// A limit of the machine that a figure is held against.
struct Limit {
  double value = 0;  // in the unit of the result, > 0
  std::string how;   // where it comes from, in one sentence
};

// One figure of the machine.
struct Result {
  std::string name;  // stable, dotted: "simd.dot.l1"
  std::string what;  // one sentence
  std::string unit;
  Better better = Better::neither;
  std::optional<double> value;  // median of samples; null: not measured
  std::optional<core::Interval> interval;
  std::vector<double> samples;  // raw, in order, in `unit`
  std::optional<Limit> limit;
  Json parameters = Json::object();
  int version = 1;

  // value / limit, or limit / value where lower is better; null without either.
  std::optional<double> of_limit() const;
};

// Fills value, samples and, from six samples on, interval of a result from raw samples in its unit.
// samples: not empty.
void set_samples(Result& result, std::vector<double> samples);

struct Axis {
  std::string name;
  std::string unit;
  bool log = false;
};

struct Curve {
  std::string name;
  std::vector<double> x, y;       // same length
  std::vector<double> low, high;  // 95 % of y; empty or the same length
};

struct CurvesTable {
  Axis x, y;
  std::vector<Curve> series;
};

struct MatrixTable {
  std::string unit;
  Better better = Better::lower;
  std::vector<std::string> rows, columns;
  std::vector<std::vector<std::optional<double>>> values;  // rows × columns
};

struct RowsTable {
  struct Column {
    std::string name, unit;
  };
  using Cell = std::variant<std::monostate, double, std::string>;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Table {
  std::string name;
  std::string what;
  int version = 1;
  Json parameters = Json::object();
  std::variant<CurvesTable, MatrixTable, RowsTable> content;
};

struct Warning {
  std::string id;        // stable: "thp_off"
  std::string seen;      // what was seen
  std::string may_mean;  // what it may mean
  std::string do_this;   // what to do
};

struct Skipped {
  std::string name, reason;
};

struct ChecklistRow {
  std::string rule, text, status, evidence;
};

struct SurveyRecord {
  std::string tabane_version, started, command_line;
  double duration_s = 0;
  bool complete = false;
  bool quick = false;
  Json machine = Json::object();
  Json environment = Json::object();
  std::vector<Warning> warnings;
  std::vector<std::string> sentences;
  std::vector<Result> results;
  std::vector<Table> tables;
  std::vector<Skipped> skipped;
  std::vector<ChecklistRow> checklist;

  const Result* find(std::string_view name) const;       // null if absent
  const Table* find_table(std::string_view name) const;  // null if absent
};

Json to_json(const SurveyRecord& record);

// throws: core::UsageError if it is not a survey of a schema version that this program reads,
// naming the key that is missing or of the wrong kind.
SurveyRecord survey_from_json(const Json& json);

}  // namespace tabane::lab
