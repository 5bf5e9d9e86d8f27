// The JSON form of records. Each type lists its keys once, in describe(); a writer and a reader go
// through the same list.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/lab/record/record.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

// The names of an enum's values, which count from 0 to the one that the assertions name.
constexpr std::array<const char*, 3> names_of(Better) { return {"higher", "lower", "neither"}; }
constexpr std::array<const char*, 3> names_of(Role) { return {"measured", "fitted", "published"}; }
constexpr std::array<const char*, 4> names_of(Kind) {
  return {"survey", "study", "bench", "comparison"};
}

template <auto kLast>
constexpr bool kNamesAll = names_of(kLast).size() == static_cast<std::size_t>(kLast) + 1;
static_assert(kNamesAll<Better::neither> && kNamesAll<Role::published> &&
              kNamesAll<Kind::comparison>);

bool is_nan(double x) { return std::isnan(x); }

// ---- what each type consists of ----
// f(key, value, …): always there. f.maybe(key, value, …): left out where it is empty.

void describe(auto& f, Axis& a) { f("name", a.name, "unit", a.unit, "log", a.log); }

void describe(auto& f, Curve& c) {
  f("name", c.name, "x", c.x, "y", c.y);
  f.maybe("low", c.low, "high", c.high, "role", c.role, "joined", c.joined, "flagged", c.flagged);
  f.maybe("colour", c.colour, "shape", c.shape, "key", c.key);
  for (const auto& [key, size] : {std::pair{"y", c.y.size()},
                                  {"low", c.low.size()},
                                  {"high", c.high.size()},
                                  {"flagged", c.flagged.size()}})
    f.expect(key, size == c.x.size() || (size == 0 && key[0] != 'y'), "as long as x");
}

void describe(auto& f, Mark& m) { f("at", m.at, "label", m.label, "vertical", m.vertical); }

void describe(auto& f, Curves& c) {
  f("x", c.x, "y", c.y, "series", c.series);
  f.maybe("marks", c.marks, "ideal", c.ideal);
}

void describe(auto& f, Matrix::Cell& p) { f("row", p.row, "column", p.column); }

void describe(auto& f, Matrix& m) {
  f("unit", m.unit, "better", m.better, "rows", m.rows, "columns", m.columns, "values", m.values);
  f.maybe("row_axis", m.row_axis, "column_axis", m.column_axis, "framed", m.framed);
  f.maybe("colours", m.colours, "own_first", m.own_first);
  f.expect("values", m.values.size() == m.rows.size(), "as long as rows");
  for (const auto& row : m.values)
    f.expect("values", row.size() == m.columns.size(), "lists as long as columns");
}

void describe(auto& f, Bar& b) {
  f("group", b.group, "label", b.label, "value", b.value);
  f.maybe("interval", b.interval, "remark", b.remark, "target", b.target);
}

void describe(auto& f, Bars& b) {
  f("unit", b.unit, "bars", b.bars);
  f.maybe("reference", b.reference, "clustered", b.clustered, "log", b.log);
}

void describe(auto& f, Image& i) {
  f("what", i.what, "png_base64", i.png_base64);
  f.expect("png_base64", is_base64(i.png_base64), "base64");
}

void describe(auto& f, Rows& r) {
  f("columns", r.columns, "rows", r.rows);
  for (const auto& row : r.rows)
    f.expect("rows", row.size() == r.columns.size(), "lists as long as columns");
}

void describe(auto& f, View& v) {
  f("name", v.name, "title", v.title, "note", v.note, "version", v.version, "details", v.details);
  f.content(v.content);
}

void describe(auto& f, Result& r) {
  f("name", r.name, "what", r.what, "unit", r.unit, "better", r.better);
  f("value", r.value, "interval", r.interval, "samples", r.samples);
  f.expect("samples", std::ranges::none_of(r.samples, is_nan), "numbers");
  f.maybe("passes", r.passes);
  // Each by itself, too: sums may overflow.
  f.expect("passes",
           std::ranges::all_of(r.passes, [&](std::size_t n) { return n <= r.samples.size(); }),
           "sizes up to the number of samples");
  f.expect("passes",
           r.passes.empty() || std::accumulate(r.passes.begin(), r.passes.end(), std::size_t{0}) ==
                                   r.samples.size(),
           "sizes that add up to the number of samples");
  f.maybe("reason", r.reason);
  f.limit(r.limit);
  f.maybe("factors", r.factors, "beside", r.beside);
  f("details", r.details, "version", r.version);
}

void describe(auto& f, Warning& w) {
  f("id", w.id, "seen", w.seen, "may_mean", w.may_mean, "do", w.do_this);
}

void describe(auto& f, Advice& a) {
  f("id", a.id, "change", a.change, "gain", a.gain, "command", a.command);
}

void describe(auto& f, Skipped& s) { f("name", s.name, "reason", s.reason); }

void describe(auto& f, ChecklistRow& c) {
  f("rule", c.rule, "text", c.text, "status", c.status, "evidence", c.evidence);
}

void describe(auto& f, Comparison& c) {
  f("question", c.question, "unit", c.unit);
  f.maybe("skipped", c.skipped);
  if (f.is_figure(c)) {
    f("figure", c.figure, "value", c.value);
    f.bound(c);
    f.maybe("samples", c.samples);
  } else {
    f("peer_name", c.peer_name);
    f.maybe("peer_how", c.peer_how);
    f("ours", c.ours, "peer", c.peer);
    f.ratio(c.ratio);
    f("target", c.target);
  }
}

void describe(auto& f, Record& r) {
  f("kind", r.kind, "name", r.name, "title", r.title, "source", r.source);
  f("tabane_version", r.tabane_version, "started", r.started, "duration_s", r.duration_s);
  f("complete", r.complete, "quick", r.quick, "command_line", r.command_line);
  f("machine", r.machine, "environment", r.environment, "warnings", r.warnings);
  f.maybe("advice", r.advice);
  f("sentences", r.sentences, "results", r.results, "views", r.views);
  f("comparisons", r.comparisons, "skipped", r.skipped, "checklist", r.checklist);
}

// ---- writing ----

Json clean(const Json& json) {
  if (json.is_string()) return clean_utf8(json.text());
  if (json.is_number_float() && !std::isfinite(json.get<double>())) return nullptr;
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

class Writer {
 public:
  template <class T>
  static Json write(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return clean_utf8(value);
    } else if constexpr (std::is_same_v<T, double>) {
      return std::isfinite(value) ? Json(value) : Json(nullptr);
    } else if constexpr (std::is_same_v<T, Json>) {
      return clean(value);
    } else if constexpr (std::is_same_v<T, core::Interval>) {
      return {write(value.low), write(value.high)};
    } else if constexpr (std::is_enum_v<T>) {
      return names_of(value)[static_cast<std::size_t>(value)];
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::is_same_v<T, Factors>) {
      Json out = Json::object();
      for (const Factor& factor : value)
        out[clean_utf8(factor.name)] =
            factor.level.is_number() ? write(factor.level.number()) : write(factor.level.word());
      return out;
    } else if constexpr (std::is_same_v<T, Entry>) {
      return write_entry(value);
    } else {
      return write_other(value);
    }
  }

  void operator()(const char* key, const auto& value, const auto&... more) {
    out_[key] = write(value);
    if constexpr (sizeof...(more) > 0) (*this)(more...);
  }
  template <class T, class... More>
  void maybe(const char* key, const T& value, const More&... more) {
    bool empty = false;
    if constexpr (std::is_same_v<T, bool>)
      empty = value == (std::string_view(key) == "joined");  // which is true where nothing is said
    else if constexpr (requires { value.empty(); })
      empty = value.empty();
    else if constexpr (requires { value.has_value(); })
      empty = !value.has_value();
    else
      empty = value == T{};
    if (!empty) out_[key] = write(value);
    if constexpr (sizeof...(more) > 0) maybe(more...);
  }
  void expect(const char*, bool, const char*) {}

  static bool is_figure(const Comparison& c) { return !c.figure.empty(); }
  void bound(const Comparison& c) { out_[c.at_least ? "at_least" : "at_most"] = write(c.limit); }
  void ratio(const std::optional<core::Ratio>& ratio) {
    out_["ratio"] = ratio ? write(ratio->value) : Json(nullptr);
    out_["ratio_interval"] = ratio ? write(ratio->interval) : Json(nullptr);
    out_["pairs"] = ratio ? Json(ratio->pairs) : Json(nullptr);
  }
  void limit(const std::optional<Limit>& limit) {
    out_["limit"] = limit ? write(limit->value) : Json(nullptr);
    out_["limit_how"] = limit ? write(limit->how) : Json(nullptr);
    if (limit && !limit->samples.empty()) out_["limit_samples"] = write(limit->samples);
  }
  void content(const Content& content) {
    static constexpr const char* kKinds[] = {"rows", "curves", "matrix", "bars", "image"};
    out_["kind"] = kKinds[content.index()];
    std::visit([&](const auto& one) { out_.update(write(one)); }, content);
  }

  Json take() { return std::move(out_); }

 private:
  static Json write_states(const core::TwoStates& states) {
    return {{{"value", write(states.low)}, {"share", 1 - states.high_share}},
            {{"value", write(states.high)}, {"share", states.high_share}}};
  }
  static Json write_entry(const Entry& entry) {
    if (entry.none()) return nullptr;
    if (!entry.value) return clean_utf8(entry.text);
    Json out = {{"value", write(*entry.value)}, {"unit", clean_utf8(entry.unit)}};
    if (entry.interval) out["interval"] = write(*entry.interval);
    if (!entry.text.empty()) out["text"] = clean_utf8(entry.text);
    return out;
  }
  template <class T>
  static Json write_other(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(write(value));
    return out;
  }
  template <class T>
  static Json write_other(const std::optional<T>& value) {
    return value ? write(*value) : Json(nullptr);
  }
  template <class T, class Less>
  static Json write_other(const std::map<std::string, T, Less>& values) {
    Json out = Json::object();
    for (const auto& [key, value] : values) out[clean_utf8(key)] = write(value);
    return out;
  }
  template <class T>
  static Json write_other(const T& value) {
    Writer writer;
    describe(writer, const_cast<T&>(value));  // a writer changes nothing
    if constexpr (std::is_same_v<T, Result>) {
      const auto share = value.share_of_limit();
      writer.out_["of_limit"] = share ? write(share->value) : Json(nullptr);
      if (share && share->pairs > 1) writer.out_["of_limit_interval"] = write(share->interval);
      if (const auto states = value.states()) writer.out_["states"] = write_states(*states);
      writer.out_["outliers"] = outliers(value);
    }
    if constexpr (std::is_same_v<T, Comparison>) writer.out_["met"] = value.met();
    return writer.take();
  }

  Json out_ = Json::object();
};

// ---- reading ----

// A value of a JSON file together with the path that leads to it. Every function throws
// core::UsageError, which names the key, if the value is of another kind.
class Reader {
 public:
  explicit Reader(const Json& json, std::string path = "") : json_(json), path_(std::move(path)) {}

  template <class T>
  void read(T& value) const {
    if constexpr (std::is_same_v<T, std::string>) {
      expect(json_.is_string(), "text");
      value = clean_utf8(json_.text());  // files of others may hold what a terminal obeys
    } else if constexpr (std::is_same_v<T, double>) {
      value = json_.is_null() ? std::numeric_limits<double>::quiet_NaN() : number();
    } else if constexpr (std::is_same_v<T, bool>) {
      expect(json_.is_boolean(), "true or false");
      value = json_.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      read_integer(value);
    } else if constexpr (std::is_same_v<T, Json>) {
      expect(json_.is_object(), "an object");
      value = json_;
    } else if constexpr (std::is_same_v<T, core::Interval>) {
      const auto ends = as<std::vector<double>>();
      expect(ends.size() == 2, "a list of two numbers");
      value = {ends[0], ends[1]};
    } else if constexpr (std::is_enum_v<T>) {
      read_enum(value);
    } else if constexpr (std::is_same_v<T, Factors>) {
      each([&](const std::string& key, const Reader& level) {
        value.set(key,
                  level.json_.is_string() ? Level(level.as<std::string>()) : Level(level.number()));
      });
    } else if constexpr (std::is_same_v<T, Entry>) {
      read_entry(value);
    } else {
      read_other(value);
    }
  }
  template <class T>
  T as() const {
    T value{};
    read(value);
    return value;
  }

  void operator()(const char* key, auto& value, auto&... more) const {
    at(key).read(value);
    if constexpr (sizeof...(more) > 0) (*this)(more...);
  }
  void maybe(const char* key, auto& value, auto&... more) const {
    if (has(key)) at(key).read(value);
    if constexpr (sizeof...(more) > 0) maybe(more...);
  }
  void expect(const char* key, bool right, const char* what) const {
    if (!right) at(key).wrong(what);
  }

  bool is_figure(const Comparison&) const { return has("figure"); }
  void bound(Comparison& c) const {
    c.at_least = has("at_least");
    at(c.at_least ? "at_least" : "at_most").read(c.limit);
  }
  void ratio(std::optional<core::Ratio>& ratio) const {
    if (at("ratio").json_.is_null()) return;
    ratio.emplace();
    at("ratio").read(ratio->value);
    at("ratio_interval").read(ratio->interval);
    at("pairs").read(ratio->pairs);
  }
  void limit(std::optional<Limit>& limit) const {
    const auto value = at("limit").as<std::optional<double>>();
    if (!value) return;
    limit = Limit{*value, at("limit_how").as<std::optional<std::string>>().value_or("")};
    maybe("limit_samples", limit->samples);
    expect("limit_samples", std::ranges::none_of(limit->samples, is_nan), "numbers");
  }
  void content(Content& content) const {
    const auto kind = at("kind").as<std::string>();
    if (kind == "rows") return read_other(content.emplace<Rows>());
    if (kind == "curves") return read_other(content.emplace<Curves>());
    if (kind == "matrix") return read_other(content.emplace<Matrix>());
    if (kind == "bars") return read_other(content.emplace<Bars>());
    expect("kind", kind == "image", R"("rows", "curves", "matrix", "bars" or "image")");
    read_other(content.emplace<Image>());
  }

 private:
  Reader at(const char* key) const {
    expect(json_.is_object(), "an object");
    const std::string path = path_.empty() ? key : path_ + "." + key;
    const auto it = json_.find(key);
    if (it == json_.end()) throw core::UsageError("record: key {} is missing", path);
    return Reader(*it, path);
  }
  bool has(const char* key) const { return json_.contains(key); }
  // Calls f(key, reader) for each value of an object.
  void each(auto f) const {
    expect(json_.is_object(), "an object");
    for (const auto& [key, value] : json_.items()) f(key, Reader(value, path_ + "." + key));
  }

  void expect(bool right, const std::string& what) const {
    if (!right) wrong(what);
  }
  [[noreturn]] void wrong(const std::string& expected) const {
    throw core::UsageError("record: key {} must be {}", path_.empty() ? "(top)" : path_, expected);
  }

  double number() const {
    expect(json_.is_number(), "a number");
    return json_.get<double>();
  }
  template <class Integer>
  void read_integer(Integer& value) const {
    expect(json_.is_number_integer(), "a whole number");
    const auto number = json_.get<double>();
    expect(std::abs(number) <= 9e15 && std::in_range<Integer>(static_cast<long long>(number)),
           "a smaller number");
    value = json_.get<Integer>();
  }
  template <class Enum>
  void read_enum(Enum& value) const {
    constexpr auto kNames = names_of(Enum());
    const auto found = std::ranges::find(kNames, as<std::string>());
    if (found == kNames.end()) wrong(fmt::format("\"{}\"", fmt::join(kNames, "\" or \"")));
    value = static_cast<Enum>(found - kNames.begin());
  }
  void read_entry(Entry& entry) const {
    if (json_.is_null()) return;
    if (json_.is_string()) return read(entry.text);
    at("value").read(entry.value);
    at("unit").read(entry.unit);
    maybe("interval", entry.interval);
    maybe("text", entry.text);
  }
  template <class T>
  void read_other(std::vector<T>& values) const {
    expect(json_.is_array(), "a list");
    for (std::size_t i = 0; i < json_.size(); ++i)
      values.push_back(Reader(json_[i], fmt::format("{}[{}]", path_, i)).as<T>());
  }
  template <class T>
  void read_other(std::optional<T>& value) const {
    if (!json_.is_null()) value = as<T>();
  }
  template <class T, class Less>
  void read_other(std::map<std::string, T, Less>& values) const {
    each([&](const std::string& key, const Reader& one) { one.read(values[key]); });
  }
  void read_other(auto& value) const { describe(*this, value); }

  const Json& json_;
  std::string path_;
};

}  // namespace

Json to_json(const Record& record) {
  Json out = {{"schema_version", kSchemaVersion}};
  out.update(Writer::write(record));
  return out;
}

Record record_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("schema_version"))
    throw core::UsageError("this is no record of tabane, which has a schema_version");
  const Reader top(json);
  int schema = 0;
  top("schema_version", schema);
  if (schema != kSchemaVersion)
    throw core::UsageError("record: schema_version is {}; this program reads {}", schema,
                           kSchemaVersion);
  Record record;
  top.read(record);
  return record;
}

}  // namespace tabane::lab
