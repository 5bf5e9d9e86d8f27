// A view: one table or chart of a record, complete enough to be shown anywhere: in a terminal, on a
// page, by gnuplot, as JSON.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/json.h"
#include "tabane/lab/record/points.h"

namespace tabane::lab {

enum class Better { higher, lower, neither };

// ---- tables ----

// One cell of a table: nothing, text, or a value with its unit and interval.
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
  fitted,     // a line through the measured curve before it, drawn above all curves
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
  struct Cell {
    std::size_t row = 0, column = 0;
  };
  std::optional<Cell> framed = {};  // what is pointed at, for example what was chosen
  // The values at the ends of a logarithmic scale of colours; null: a linear scale of
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

// What a survey, a study or a comparison with peers found: figures, views of them, and what
// surrounds them. It is what is written as JSON, read again, shown and compared.
//
// The JSON is described key by key in docs/record-format.md. Measuring returns records; formatting
// takes them.

// Roof and figure are both measured: a figure this little above its limit is at it.
inline constexpr double kAtTheLimit = 1.03;

// A limit of the machine that a figure is held against.
struct Limit {
  double value = 0;  // in the unit of the result, > 0
  std::string how;   // where it comes from, in one sentence
  // The limit as it was measured in turn with the result's samples, one for each; else empty.
  std::vector<double> samples = {};
};

// Names of details that one part of the program writes and another reads.
namespace detail {
inline constexpr const char* kPerPu = "per_pu";  // [[os_index, value], …]
inline constexpr const char* kPairs = "pairs";
inline constexpr const char* kOffsetNs = "offset_ns";
inline constexpr const char* kBoundNs = "bound_ns";
inline constexpr const char* kPageBytes = "page_bytes";
inline constexpr const char* kTuning = "tuning";  // what continues a tuning and applies it
// What all of a record has in common, as text: records in which it differs are not compared.
inline constexpr const char* kHeldFixed = "held_fixed";
inline constexpr const char* kPageSize = "page_size";  // "huge pages"
inline constexpr const char* kFlopsPerElement = "flops_per_element";
inline constexpr const char* kBytesPerElement = "bytes_per_element";
inline constexpr const char* kSynchronisation = "synchronisation";
inline constexpr const char* kRemark = "remark";
}  // namespace detail

// One figure of the machine.
struct Result {
  std::string name;  // stable, dotted: "simd.dot.l1"
  std::string what;  // one sentence
  std::string unit;
  Better better = Better::neither;
  std::optional<double> value;  // median of the passes' medians, or of samples; null: not measured
  std::optional<core::Interval> interval;
  std::vector<double> samples;  // raw, in order, in `unit`
  core::PassSizes passes;       // samples of each pass of a survey; empty: all are of one
  std::string reason;           // why there is no value; empty: there is one
  std::optional<Limit> limit;
  Factors factors;                                                 // of a point of a study
  std::map<std::string, std::vector<double>, std::less<>> beside;  // seen with each sample
  Json details = Json::object();
  int version = 1;

  // value / limit, or limit / value where lower is better; null without either. Pairs of samples
  // taken in turn give an interval; of one pair the interval is the value.
  std::optional<core::Ratio> share_of_limit() const;
  std::optional<double> of_limit() const;  // its value
  // Whether the whole interval of the share lies above kAtTheLimit: then the limit is none.
  bool is_above_limit() const;
  // Whether samples repeat one thing, rather than each telling of another PU or pair.
  bool repeats_one_thing() const;
  // The two states of a figure that has two; null if it has one, or does not repeat one thing.
  std::optional<core::TwoStates> states() const;
  // A number among the details; null if it is not there.
  std::optional<double> number_detail(const char* detail) const;
};

// Fills value, samples and, from six samples on, interval of a result from raw samples in its unit.
// samples: not empty.
void set_samples(Result& result, std::vector<double> samples);

// Fills the limit of a result that has samples. samples: taken in turn with them, one for each.
void set_limit(Result& result, std::string how, std::vector<double> samples);

// Joins a result with the same one of a later pass: samples follow each other, value, interval and
// limit are those of all passes. A value without samples counts as one. What else the later one
// tells replaces the earlier.
void add_pass(Result& result, Result later);

struct Warning {
  std::string id;        // stable: "thp_off"
  std::string seen;      // what was seen
  std::string may_mean;  // what it may mean
  std::string do_this;   // what to do
};

// Something that the user can change, and what it brings on this machine.
struct Advice {
  std::string id;       // stable: "huge_pages"
  std::string change;   // what to do, one main clause
  std::string gain;     // what it brings, as measured here
  std::string command;  // how; empty: no command does it
};

struct Skipped {
  std::string name, reason;
};

struct ChecklistRow {
  std::string rule, text, status, evidence;
};

// tabane against a peer, or a figure against what it may be at most or at least.
struct Comparison {
  std::string question, unit;
  // A peer: rates in `unit`, and how many times ours is as fast.
  std::string peer_name;  // empty: a figure
  std::string peer_how;   // how the peer was started, and its version
  std::optional<double> ours, peer;
  std::optional<core::Ratio> ratio;
  std::optional<double> target;  // of the ratio
  std::string skipped;           // why it was not measured; empty: it was
  // A figure.
  std::string figure;
  std::optional<double> value, limit;
  bool at_least = false;  // the limit is a lower one
  std::vector<double> samples;

  std::optional<bool> met() const;  // null without a target or a limit
};

enum class Kind { survey, study, bench, comparison };

struct Record {
  Kind kind = Kind::survey;
  std::string name, title, source;  // of a study or a topic; source: author, year and machine
  std::string tabane_version, started, command_line;
  double duration_s = 0;
  bool complete = false;
  bool quick = false;
  Json machine = Json::object();
  Json environment = Json::object();
  std::vector<Warning> warnings;
  std::vector<Advice> advice;  // what to change, the greatest gain first
  std::vector<std::string> sentences;
  std::vector<Result> results;
  std::vector<View> views;
  std::vector<Comparison> comparisons;
  std::vector<Skipped> skipped;
  std::vector<ChecklistRow> checklist;

  const Result* find(std::string_view result) const;   // null if absent
  const View* find_view(std::string_view view) const;  // null if absent
  View* find_view(std::string_view view);
};

// The content of the view of that name if it is a T; else null.
template <class T>
const T* find_content(const Record& record, std::string_view name) {
  const View* view = record.find_view(name);
  return view == nullptr ? nullptr : std::get_if<T>(&view->content);
}

inline constexpr int kSchemaVersion = 2;

Json to_json(const Record& record);

// throws: core::UsageError if it is no record of this schema, naming the key that is missing or of
// the wrong kind.
Record record_from_json(const Json& json);

// The views of several passes of a survey as one view.

// Joins views of one name: each point of a curve, cell of a matrix and value of a table becomes the
// median of the passes that have it; a curve's point also gets the interval of that median over
// passes. Everything else is that of the last pass. views: not empty, all with the same kind of
// content; series, rows and columns may come and go.
View join_passes(std::span<const View> views);

}  // namespace tabane::lab
