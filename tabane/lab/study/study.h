// What all studies share: a study is one of the reports run again on this machine. It says what it
// is about, lets a campaign measure, and shows tables and charts next to the published figures.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"
#include "tabane/lab/record_head.h"
#include "tabane/lab/survey/disturbances.h"

namespace tabane::lab {

using PointList = std::vector<const Point*>;

// ---- points ----

// The combinations of levels of these factors that measured points with the wanted factors have, in
// the order of levels of the first, then of the second … throws: as Points::find().
std::vector<Factors> combinations(const Points& points, const std::vector<std::string>& names,
                                  const Factors& wanted = {});

// ---- options ----

// throws: core::UsageError "--runs 0: from 1 to 100" unless the value is legal.
template <class T>
void require_option(bool legal, const char* flag, const T& value, const char* what_is_legal) {
  if (!legal) throw core::UsageError(fmt::format("{} {}: {}", flag, value, what_is_legal));
}

// ---- a study under way ----

// Its record, and what disturbs it meanwhile.
class RunningStudy {
 public:
  // throws: core::UsageError if the topology is not that of this machine.
  RunningStudy(const core::Topology& topology, const About& about, bool quick);

  // Adds the results of a campaign, how long it took and what it skipped. what: as add_results().
  void add(const Campaign& campaign, bool complete,
           const std::function<std::string(const Point&)>& what);
  // Returns the record, with the warnings that a survey has, too, but for those of which the study
  // has its own judgement. judged: their ids, "outliers".
  Record finish(std::initializer_list<std::string_view> judged = {});

  Record record;

 private:
  Disturbances disturbances_;
};

// ---- results ----

// The first part of the names of a record's results and charts: "process_thread".
std::string family(const Record& record);
// A word as part of a name: "vector_tree".
std::string name_part(std::string word);
// Adds a figure made from several points, without what is not finite. Returns it until the next.
Result& add_result(Record& record, const std::string& name, std::string what, const Entry& figure,
                   Better better);

// Adds every measured point as a result in seconds, named by its factors:
// "ap1000.barrier.flags.ranks4". what: one sentence about the point.
void add_results(Record& record, const Points& points,
                 const std::function<std::string(const Point&)>& what);
// The median of what was seen beside the samples of a point; null if nothing was.
std::optional<double> median_beside(const Point& point, std::string_view what);

// ---- entries of tables ----

// Intervals are left out where there are too few samples for one.
Entry median_entry(const Point* point, bool with_interval = false);  // seconds; none if null
Entry ratio_entry(const Point* a, const Point* b);                   // a / b in turn, with interval
Entry count_entry(double number);
// A published figure, or its remark if it is none; none if it is not among them.
Entry published_entry(const Record& published, const std::string& result);

// A row for each level of what the rows are; those without entries are left out.
template <class Levels, class RowOf>
Rows rows_of(std::vector<std::string> columns, const Levels& levels, const RowOf& row_of) {
  Rows rows{std::move(columns), {}};
  for (const auto& level : levels) {
    std::vector<Entry> row = row_of(level);
    if (!row.empty()) rows.rows.push_back(std::move(row));
  }
  return rows;
}

// Adds a table unless it is empty. A name follows from the record's and the number of its tables.
void add_table(Record& record, std::string title, Rows rows, std::string note);

// ---- tables as data ----

// Shows something of the points that have the row's factors: {{"n", 1000}}.
using Cell = std::function<Entry(const Points& points, const Factors& row)>;

// The level of a factor of the row. unit "1": a number; else with its unit, as text.
Cell level_of(std::string factor, std::string unit = "1");
// A word among the row's factors, as `title` calls it.
Cell word_of(std::string factor, std::string (*title)(const std::string& word));
// The median of the point that also has these factors, in seconds.
Cell time_of(Factors of = {}, bool with_interval = false);
// amount(point) in the time of that point.
Cell rate_of(Factors of, std::string unit, std::function<double(const Point&)> amount);
// The ratio a / b of two such points: in turn, or else of medians that were not taken together.
Cell ratio_of(Factors a, Factors b, bool with_interval = true);
Cell medians_ratio_of(Factors a, Factors b);
// A published figure. name: below the family of the report; levels of the row replace their factors
// in braces: "barrier.network.ranks{ranks}".
Cell published_of(const Record& report, std::string name);

struct Column {
  std::string head;
  Cell cell;
  bool needed = false;  // rows without it are left out
};

// Makes a row for each of these factors.
Rows rows_of(const std::vector<Column>& columns, const Points& points,
             const std::vector<Factors>& rows);

// ---- curves ----

// Without an interval the curve's is not a number there.
void add_place(Curve& curve, double x, double y, std::optional<core::Interval> interval);
// Medians with their intervals over a factor. scale: of x.
Curve curve_over(const std::string& name, const PointList& points, std::string_view factor,
                 double x_scale = 1);
// a / b in turn, with intervals, over a factor; pairs that were not taken in turn are left out.
Curve ratio_curve(const std::string& name, const PointList& a, const PointList& b,
                  std::string_view factor);
// Medians over a factor as rates of amount(point), with their intervals.
Curve rate_over(const std::string& name, const PointList& points, std::string_view factor,
                const std::function<double(const Point&)>& amount);
// Adds a curve unless it has no points.
void add_curve(Curves& curves, Curve curve);

struct Line {
  std::string name;
  Factors factors;  // of its points
};
// Times over a factor, a curve for each line that has points; both axes are logarithmic.
Curves times_over(const Points& points, std::string_view factor, const std::vector<Line>& lines,
                  std::string axis, std::string unit = "", double x_scale = 1);
// x / y: a time per x as a rate.
Curves as_rate(Curves curves, Axis y);

// Adds a chart of all samples of one point or of several, in the order of time, with `flagged` ones
// larger. It is compared with no other: run 7 here has nothing to do with run 7 elsewhere.
void add_order_chart(Record& record, const std::string& name, std::string title, std::string note,
                     Axis y, std::vector<Curve> curves);

// Adds a chart, named below the record's family, unless it has no curve.
void add_chart(Record& record, const std::string& name, std::string title, std::string note,
               decltype(View::content) content);

}  // namespace tabane::lab
