// Figures: views as gnuplot scripts with their data, drawn as SVG, and the same data as HTML
// tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

struct Figure {
  std::string view;  // the name of the view that it shows
  std::string id;    // file stem: "roofline"
  std::string title;
  std::string caption;          // reads the figure aloud, with its numbers
  std::string script;           // gnuplot; reads id.dat, writes id.svg
  std::string data;             // the text of id.dat
  std::string svg;              // empty if gnuplot is missing or failed
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

}  // namespace tabane::lab
