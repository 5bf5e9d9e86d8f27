// What a study shows, as data: a table is a list of columns, each with a cell that says what it
// shows of a row's factors; a curve is such a cell over one factor.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/lab/record/points.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

using PointList = std::vector<const Point*>;

// The combinations of levels of these factors that measured points with the wanted factors have, in
// the order of levels of the first, then of the second … throws: as Points::find().
std::vector<Factors> combinations(const Points& points, const std::vector<std::string>& names,
                                  const Factors& wanted = {});
// Those of the rows whose number of this factor is fitting.
std::vector<Factors> only(std::vector<Factors> rows, std::string_view factor,
                          const std::function<bool(double)>& fits);

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

// ---- entries of tables ----

// Intervals are left out where there are too few samples for one.
Entry median_entry(const Point* point, bool with_interval = false);  // seconds; none if null
Entry ratio_entry(const Point* a, const Point* b);                   // a / b in turn, with interval
Entry count_entry(double number);
// A published figure, or its remark if it is none; none if it is not among them.
Entry published_entry(const Record& published, const std::string& result);
// Returns which values are beyond Tukey's far fence above the median; NaN, not known, is not.
std::vector<bool> unusually_high(const std::vector<double>& values);
// The median of what was seen beside the samples of a point; null if nothing was.
std::optional<double> median_beside(const Point& point, std::string_view what);

// ---- cells ----

// Finds the point that a cell shows; null if there is none.
class Pick {
 public:
  using Find = std::function<const Point*(const Points& points, const Factors& row)>;

  Pick() : Pick(Factors()) {}
  // The point with the row's factors and these, which replace the row's.
  Pick(Factors of);                                              // NOLINT: picks read as factors
  Pick(std::initializer_list<Factor> of) : Pick(Factors(of)) {}  // NOLINT
  Pick(Find find) : find_(std::move(find)) {}                    // NOLINT

  const Point* operator()(const Points& points, const Factors& row) const {
    return find_(points, row);
  }

 private:
  Find find_;
};

// Those of the rows that have all these points.
std::vector<Factors> having(std::vector<Factors> rows, const Points& points,
                            const std::vector<Pick>& picks);

// Shows something of the points that have the row's factors: {{"n", 1000}}.
using Cell = std::function<Entry(const Points& points, const Factors& row)>;

// The level of a factor of the row. unit "1": a number; else with its unit, as text.
Cell level_of(std::string factor, std::string unit = "1");
// A word among the row's factors, as `title` calls it; null: as it is.
Cell word_of(std::string factor, std::string (*title)(const std::string& word) = nullptr);
// The median time of a point.
Cell time_of(Pick pick = {}, bool with_interval = false);
// amount(point) in the time of the point.
Cell rate_of(Pick pick, std::string unit, std::function<double(const Point&)> amount,
             bool with_interval = false);
// Anything else of a point; none if there is no such point.
Cell shown_of(Pick pick, std::function<Entry(const Point&)> show);
// The ratio a / b: in turn, or else of medians that were not taken together.
Cell ratio_of(Pick a, Pick b, bool with_interval = true);
Cell medians_ratio_of(Pick a, Pick b);
// A published figure. name: below the family of the report; levels of the row replace their factors
// in braces: "barrier.network.ranks{ranks}".
Cell published_of(const Record& report, std::string name);

// ---- tables ----

struct Column {
  std::string head;
  Cell cell;
  bool needed = false;  // rows without it are left out
};

// Makes a row for each of these factors.
Rows rows_of(const std::vector<Column>& columns, const Points& points,
             const std::vector<Factors>& rows);

// Makes a row for each level of what the rows are; those without entries are left out.
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

// ---- charts ----

// Without an interval the curve's is not a number there.
void add_place(Curve& curve, double x, double y, std::optional<core::Interval> interval);
// Medians with their intervals over a factor. scale: of x.
Curve curve_over(const std::string& name, const PointList& points, std::string_view factor,
                 double x_scale = 1);
// What a cell shows over a factor of the rows; rows of which it shows no value are left out.
Curve curve_of(const std::string& name, const Cell& cell, const Points& points,
               const std::vector<Factors>& rows, std::string_view factor);
// Adds a curve unless it has no points.
void add_curve(Curves& curves, Curve curve);

struct Line {
  std::string name;
  Factors factors;  // of its points
};
// A line for each word that a factor has among these points, with the name that `title` gives it.
std::vector<Line> lines_by(const Points& points, const std::string& factor, const Factors& wanted,
                           std::string (*title)(const std::string& word));
// Times over a factor, a curve for each line that has points; both axes are logarithmic.
Curves times_over(const Points& points, std::string_view factor, const std::vector<Line>& lines,
                  std::string axis, std::string unit = "", double x_scale = 1);
// x / y: a time per x as a rate.
Curves as_rate(Curves curves, Axis y);

// What a cell shows of each row with each column; they are named by their last factors.
Matrix matrix_of(const Cell& cell, const Points& points, const std::vector<Factors>& rows,
                 const std::vector<Factors>& columns);

// Adds a chart, named below the record's family, unless it has no curve.
void add_chart(Record& record, const std::string& name, std::string title, std::string note,
               Content content);

}  // namespace tabane::lab
