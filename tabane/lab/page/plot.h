// Figures: views as gnuplot scripts with their data, drawn as SVG, and the same data as HTML
// tables.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/lab/record/record.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {

struct Figure {
  std::string view;  // the name of the view that it shows
  std::string id;    // file stem: "roofline"
  std::string title;
  std::string caption;          // reads the figure aloud, with its numbers
  std::string script;           // gnuplot; reads id.dat, writes id.svg and id.narrow.svg
  std::string data;             // the text of id.dat
  std::string svg, narrow_svg;  // empty if gnuplot is missing or failed
  std::string data_table_html;  // the same data as an HTML table
};

// The figure of a view; null if it is a table, or has too little for a chart.
std::optional<Figure> figure_of(const View& view);

// Whether the page shows a view with its note: all but those that a survey leaves unpresented.
bool is_on_page(const Record& record, const View& view);

// The figures of a record in the order of its views. Their ids differ and are safe names of files.
std::vector<Figure> make_figures(const Record& record);

// Runs gnuplot on each figure to fill svg. Returns why not, if gnuplot is missing or fails.
std::optional<std::string> draw(std::vector<Figure>& figures);

// The content of a view as an HTML table; a picture as itself. Matrices above 32 columns are
// summarised by row.
std::string table_html(const View& view);

// What gnuplot scripts share: palette, axes, marks. Labels that reach a script go through
// plot_label(), so that no name in a record can become a gnuplot command.

// ---- palette ----

struct FigureColour {
  std::string hex;       // as gnuplot draws it, on white
  std::string variable;  // as the page names it, so that dark mode can have its own
};

// Ink for axes, grid and marks, then the colours of series. source: Okabe and Ito, Color Universal
// Design.
std::span<const FigureColour> figure_colours();
inline constexpr std::string_view kAxisColour = "#6b7280";
// Colour of the i-th series; goes round after six.
std::string_view series_colour(std::size_t i);

// ---- scripts ----

// Every chart is drawn twice: for screens and paper, and for phones.
struct Format {
  int width, font;  // in SVG units, pixels of a phone

  bool narrow() const { return width < 500; }
  std::string suffix() const { return narrow() ? ".narrow" : ""; }
  // Room for a text of so many characters, in the widest of the usual fonts.
  double text(std::size_t characters) const { return 0.64 * font * double(characters); }
  double line() const { return 1.3 * font; }
};
inline constexpr Format kWide{720, 14}, kNarrow{340, 11};

// The first lines of every script: terminal, output, style.
std::string script_head(std::string_view id, Format format, double height);
// "set AXIStics" with the labels at 0, 1, 2 …, or at these places.
std::string label_ticks(char axis, const std::vector<std::string>& labels,
                        const std::vector<double>& places = {});
// "'label' place" for "set xtics (…)".
std::string tick(std::string_view label, double place);

// "set key" with room for so many entries and the axis below a chart of this size, and the height
// of both together. Wider than the chart gnuplot makes no key.
struct Key {
  double height = 0;
  std::string script;
};
Key key_below(std::size_t entries, std::size_t longest, Format format, double width, double height);

// What an axis must show: the finite ones of some values, on a logarithmic axis the positive ones.
struct Extent {
  bool log = true;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double v) {
    if (!std::isfinite(v) || (log && !(v > 0))) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  void add(std::span<const double> values) {
    for (const double v : values) add(v);
  }
  bool empty() const { return !(low <= high); }
};

// The smallest of … 0.5, 1, 2, 5, 10 … with at most `most` steps between the ends.
double round_step(double between, int most);

// Scale, range and ticks of an axis: sizes at powers of two, counts where they were measured, whole
// numbers at whole numbers, else decades or what gnuplot chooses. `shown`: the unit in which values
// are drawn. values: where there are points.
std::string axis_ticks(char name, const Axis& axis, const Extent& range, const Shown& shown,
                       const std::set<double>& values, Format format);

// ---- the kinds of charts ----

// Adds the drawing in this format to the script, and sets the data, which all formats share. False
// if there is too little to draw. The figure has title, caption and tables already.
bool plot(Figure& figure, const Curves& curves, Format format);
bool plot(Figure& figure, const Matrix& matrix, Format format);
bool plot(Figure& figure, const Bars& bars, Format format);

}  // namespace tabane::lab
