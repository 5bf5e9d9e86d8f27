#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tabane/core/error.h"
#include "tabane/lab/record.h"
#include "tabane/lab/text.h"

namespace tabane::lab {
namespace {

constexpr int kSchemaVersion = 1;

// ---- writing ----

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json number(const std::optional<double>& x) { return x ? number(*x) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (double x : values) out.push_back(number(x));
  return out;
}

Json texts(const std::vector<std::string>& values) {
  Json out = Json::array();
  for (const auto& x : values) out.push_back(clean_utf8(x));
  return out;
}

Json clean(const Json& json) {
  if (json.is_string()) return clean_utf8(json.get_ref<const std::string&>());
  if (json.is_number_float()) return number(json.get<double>());
  if (json.is_array()) {
    Json out = Json::array();
    for (const auto& x : json) out.push_back(clean(x));
    return out;
  }
  if (json.is_object()) {
    Json out = Json::object();
    for (const auto& [key, x] : json.items()) out[clean_utf8(key)] = clean(x);
    return out;
  }
  return json;
}

std::string_view name_of(Better better) {
  if (better == Better::higher) return "higher";
  return better == Better::lower ? "lower" : "neither";
}

// Seconds in one of `unit`; 0 if the unit is not a time.
double seconds_per(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  return unit == "ns" ? 1e-9 : 0;
}

Json outliers(const Result& result) {
  Json out = {{"mean_plus_1_s", nullptr}, {"far_fence", nullptr}};
  if (result.samples.empty()) return out;
  out["far_fence"] = core::outliers_far_fence(result.samples).size();
  if (const double scale = seconds_per(result.unit); scale > 0) {
    std::vector<double> seconds = result.samples;
    for (double& x : seconds) x *= scale;
    out["mean_plus_1_s"] = core::outliers_mean_plus(seconds).size();
  }
  return out;
}

Json write(const Result& r) {
  Json interval = nullptr;
  if (r.interval) interval = {number(r.interval->low), number(r.interval->high)};
  return {{"name", clean_utf8(r.name)},
          {"what", clean_utf8(r.what)},
          {"unit", clean_utf8(r.unit)},
          {"better", name_of(r.better)},
          {"value", number(r.value)},
          {"interval", interval},
          {"samples", numbers(r.samples)},
          {"limit", r.limit ? number(r.limit->value) : Json(nullptr)},
          {"limit_how", r.limit ? Json(clean_utf8(r.limit->how)) : Json(nullptr)},
          {"of_limit", number(r.of_limit())},
          {"parameters", clean(r.parameters)},
          {"version", r.version},
          {"outliers", outliers(r)}};
}

Json write(const Axis& axis) {
  return {{"name", clean_utf8(axis.name)}, {"unit", clean_utf8(axis.unit)}, {"log", axis.log}};
}

void write_content(Json& out, const CurvesTable& table) {
  out["kind"] = "curves";
  out["x"] = write(table.x);
  out["y"] = write(table.y);
  out["series"] = Json::array();
  for (const auto& curve : table.series) {
    Json series = {
        {"name", clean_utf8(curve.name)}, {"x", numbers(curve.x)}, {"y", numbers(curve.y)}};
    if (!curve.low.empty()) series["low"] = numbers(curve.low);
    if (!curve.high.empty()) series["high"] = numbers(curve.high);
    out["series"].push_back(std::move(series));
  }
}

void write_content(Json& out, const MatrixTable& table) {
  out["kind"] = "matrix";
  out["unit"] = clean_utf8(table.unit);
  out["better"] = name_of(table.better);
  out["rows"] = texts(table.rows);
  out["columns"] = texts(table.columns);
  out["values"] = Json::array();
  for (const auto& row : table.values) {
    Json cells = Json::array();
    for (const auto& x : row) cells.push_back(number(x));
    out["values"].push_back(std::move(cells));
  }
}

Json write(const RowsTable::Cell& cell) {
  if (const auto* x = std::get_if<double>(&cell)) return number(*x);
  if (const auto* text = std::get_if<std::string>(&cell)) return clean_utf8(*text);
  return nullptr;
}

void write_content(Json& out, const RowsTable& table) {
  out["kind"] = "rows";
  out["columns"] = Json::array();
  for (const auto& column : table.columns)
    out["columns"].push_back(
        {{"name", clean_utf8(column.name)}, {"unit", clean_utf8(column.unit)}});
  out["rows"] = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const auto& cell : row) cells.push_back(write(cell));
    out["rows"].push_back(std::move(cells));
  }
}

Json write(const Table& table) {
  Json out = {{"name", clean_utf8(table.name)},
              {"what", clean_utf8(table.what)},
              {"kind", nullptr},
              {"version", table.version},
              {"parameters", clean(table.parameters)}};
  std::visit([&](const auto& content) { write_content(out, content); }, table.content);
  return out;
}

// ---- reading ----

// A value of the file together with the path that leads to it, so that errors can name it.
class Reader {
 public:
  explicit Reader(const Json& json, std::string path = "") : json_(json), path_(std::move(path)) {}

  Reader at(const char* key) const {
    if (!json_.is_object()) wrong("an object");
    const std::string path = path_.empty() ? key : path_ + "." + key;
    const auto it = json_.find(key);
    if (it == json_.end()) throw core::UsageError(fmt::format("survey: key {} is missing", path));
    return Reader(*it, path);
  }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  template <class F>
  auto list(F read_one) const -> std::vector<decltype(read_one(std::declval<Reader>()))> {
    if (!json_.is_array()) wrong("a list");
    std::vector<decltype(read_one(std::declval<Reader>()))> out;
    out.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i)
      out.push_back(read_one(Reader(json_[i], fmt::format("{}[{}]", path_, i))));
    return out;
  }

  bool is_null() const { return json_.is_null(); }
  bool is_text() const { return json_.is_string(); }
  std::string text() const {
    if (!json_.is_string()) wrong("text");
    return json_.get<std::string>();
  }
  bool boolean() const {
    if (!json_.is_boolean()) wrong("true or false");
    return json_.get<bool>();
  }
  int integer() const {
    if (!json_.is_number_integer()) wrong("a whole number");
    return json_.get<int>();
  }
  double number() const {
    if (!json_.is_number()) wrong("a number");
    return json_.get<double>();
  }
  std::optional<double> number_or_null() const {
    if (json_.is_null()) return std::nullopt;
    return number();
  }
  Json object() const {
    if (!json_.is_object()) wrong("an object");
    return json_;
  }
  std::vector<double> numbers() const {
    return list([](const Reader& r) {
      return r.number_or_null().value_or(std::numeric_limits<double>::quiet_NaN());
    });
  }
  std::vector<std::string> texts() const {
    return list([](const Reader& r) { return r.text(); });
  }

  void expect(bool right, const std::string& what) const {
    if (!right) wrong(what);
  }
  [[noreturn]] void wrong(const std::string& expected) const {
    throw core::UsageError(
        fmt::format("survey: key {} must be {}", path_.empty() ? "(top)" : path_, expected));
  }

 private:
  const Json& json_;
  std::string path_;
};

Better read_better(const Reader& r) {
  const std::string text = r.text();
  if (text == "higher") return Better::higher;
  if (text == "lower") return Better::lower;
  r.expect(text == "neither", "\"higher\", \"lower\" or \"neither\"");
  return Better::neither;
}

Result read_result(const Reader& r) {
  Result out;
  out.name = r.at("name").text();
  out.what = r.at("what").text();
  out.unit = r.at("unit").text();
  out.better = read_better(r.at("better"));
  out.value = r.at("value").number_or_null();
  if (const Reader interval = r.at("interval"); !interval.is_null()) {
    const auto ends = interval.numbers();
    interval.expect(ends.size() == 2, "null or a list of two numbers");
    out.interval = core::Interval{ends[0], ends[1]};
  }
  out.samples = r.at("samples").numbers();
  if (const auto limit = r.at("limit").number_or_null())
    out.limit = Limit{*limit, r.at("limit_how").is_null() ? "" : r.at("limit_how").text()};
  out.parameters = r.at("parameters").object();
  out.version = r.at("version").integer();
  return out;
}

Axis read_axis(const Reader& r) {
  return {r.at("name").text(), r.at("unit").text(), r.at("log").boolean()};
}

Curve read_curve(const Reader& r) {
  Curve out{r.at("name").text(), r.at("x").numbers(), r.at("y").numbers(), {}, {}};
  if (r.has("low")) out.low = r.at("low").numbers();
  if (r.has("high")) out.high = r.at("high").numbers();
  const auto fits = [&](const std::vector<double>& v) { return v.size() == out.x.size(); };
  r.at("y").expect(fits(out.y), "as long as x");
  if (!out.low.empty()) r.at("low").expect(fits(out.low), "as long as x");
  if (!out.high.empty()) r.at("high").expect(fits(out.high), "as long as x");
  return out;
}

MatrixTable read_matrix(const Reader& r) {
  MatrixTable out;
  out.unit = r.at("unit").text();
  out.better = read_better(r.at("better"));
  out.rows = r.at("rows").texts();
  out.columns = r.at("columns").texts();
  out.values = r.at("values").list([&](const Reader& row) {
    auto cells = row.list([](const Reader& cell) { return cell.number_or_null(); });
    row.expect(cells.size() == out.columns.size(), "as long as columns");
    return cells;
  });
  r.at("values").expect(out.values.size() == out.rows.size(), "as long as rows");
  return out;
}

RowsTable::Cell read_cell(const Reader& r) {
  if (r.is_null()) return std::monostate();
  if (r.is_text()) return r.text();
  return r.number();
}

RowsTable read_rows(const Reader& r) {
  RowsTable out;
  out.columns = r.at("columns").list([](const Reader& column) {
    return RowsTable::Column{column.at("name").text(), column.at("unit").text()};
  });
  out.rows = r.at("rows").list([&](const Reader& row) {
    auto cells = row.list(read_cell);
    row.expect(cells.size() == out.columns.size(), "as long as columns");
    return cells;
  });
  return out;
}

Table read_table(const Reader& r) {
  Table out;
  out.name = r.at("name").text();
  out.what = r.at("what").text();
  out.version = r.at("version").integer();
  out.parameters = r.at("parameters").object();
  const std::string kind = r.at("kind").text();
  if (kind == "curves") {
    out.content =
        CurvesTable{read_axis(r.at("x")), read_axis(r.at("y")), r.at("series").list(read_curve)};
  } else if (kind == "matrix") {
    out.content = read_matrix(r);
  } else {
    r.at("kind").expect(kind == "rows", "\"curves\", \"matrix\" or \"rows\"");
    out.content = read_rows(r);
  }
  return out;
}

void read_surroundings(const Reader& r, SurveyRecord& out) {
  out.tabane_version = r.at("tabane_version").text();
  out.started = r.at("started").text();
  out.command_line = r.at("command_line").text();
  out.duration_s = r.at("duration_s").number();
  out.complete = r.at("complete").boolean();
  out.quick = r.at("quick").boolean();
  out.machine = r.at("machine").object();
  out.environment = r.at("environment").object();
  out.warnings = r.at("warnings").list([](const Reader& w) {
    return Warning{w.at("id").text(), w.at("seen").text(), w.at("may_mean").text(),
                   w.at("do").text()};
  });
  out.sentences = r.at("sentences").texts();
  out.skipped = r.at("skipped").list([](const Reader& s) {
    return Skipped{s.at("name").text(), s.at("reason").text()};
  });
  out.checklist = r.at("checklist").list([](const Reader& c) {
    return ChecklistRow{c.at("rule").text(), c.at("text").text(), c.at("status").text(),
                        c.at("evidence").text()};
  });
}

}  // namespace

Json to_json(const SurveyRecord& record) {
  Json out = {{"schema_version", kSchemaVersion},
              {"kind", "survey"},
              {"tabane_version", clean_utf8(record.tabane_version)},
              {"started", clean_utf8(record.started)},
              {"duration_s", number(record.duration_s)},
              {"complete", record.complete},
              {"quick", record.quick},
              {"command_line", clean_utf8(record.command_line)},
              {"machine", clean(record.machine)},
              {"environment", clean(record.environment)},
              {"warnings", Json::array()},
              {"sentences", texts(record.sentences)},
              {"results", Json::array()},
              {"tables", Json::array()},
              {"skipped", Json::array()},
              {"checklist", Json::array()}};
  for (const auto& w : record.warnings)
    out["warnings"].push_back({{"id", clean_utf8(w.id)},
                               {"seen", clean_utf8(w.seen)},
                               {"may_mean", clean_utf8(w.may_mean)},
                               {"do", clean_utf8(w.do_this)}});
  for (const auto& result : record.results) out["results"].push_back(write(result));
  for (const auto& table : record.tables) out["tables"].push_back(write(table));
  for (const auto& s : record.skipped)
    out["skipped"].push_back({{"name", clean_utf8(s.name)}, {"reason", clean_utf8(s.reason)}});
  for (const auto& c : record.checklist)
    out["checklist"].push_back({{"rule", clean_utf8(c.rule)},
                                {"text", clean_utf8(c.text)},
                                {"status", clean_utf8(c.status)},
                                {"evidence", clean_utf8(c.evidence)}});
  return out;
}

SurveyRecord survey_from_json(const Json& json) {
  const Reader top(json);
  const int schema = top.at("schema_version").integer();
  if (schema != kSchemaVersion)
    throw core::UsageError(
        fmt::format("survey: schema_version is {}; this program reads {}", schema, kSchemaVersion));
  top.at("kind").expect(top.at("kind").text() == "survey", "\"survey\"");
  SurveyRecord out;
  read_surroundings(top, out);
  out.results = top.at("results").list(read_result);
  out.tables = top.at("tables").list(read_table);
  return out;
}

}  // namespace tabane::lab
