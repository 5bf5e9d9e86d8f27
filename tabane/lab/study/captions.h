// Titles and notes of a study's tables and charts: a text file in the study's folder, with places
// for values.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/lab/study/views.h"

namespace tabane::lab {

struct Caption {
  std::string title, note;
};

// The values that captions contain, by their names.
using CaptionValues = std::map<std::string, std::string, std::less<>>;

// Returns a paragraph of captions, with its values in the places of their names:
//
//   [watch]
//   Messages of {size}, over time
//   Larger points are far below the others.[ Here {slow} are.]
//
// "watch" is its name; the line below it is the title, the others are the note. Text in brackets is
// left out if one of its values is empty or missing. value: returns null if there is none.
// throws: core::Error if there is no such paragraph, or if a value outside of brackets is missing.
Caption caption_of(std::string_view captions, std::string_view name,
                   const std::function<std::optional<std::string>(std::string_view)>& value);

// The files captions.txt of studies and tools, which the build compiles into the program.
struct CaptionFile {
  const char* study;  // "pc-cluster" of studies/pc_cluster/captions.txt, "explain" of a tool
  const char* text;
};
std::span<const CaptionFile> caption_files();

// Adds the views of a study to its record, with the captions of the record's name.
struct StudyViews {
  Record& record;
  const Points& points;
  const Record& report;       // the published figures
  CaptionValues values = {};  // for all captions; {report.NAME} is a figure of the report

  // Returns a published figure, or its remark; `reported` as text. name: below the report's family.
  Entry published(const std::string& name) const;
  std::string reported(const std::string& name) const;
  // Returns a caption of the study. throws: as caption_of().
  Caption caption(std::string_view name, const CaptionValues& more = {}) const;

  // Add a view with a caption of that name, unless it has no row or no curve. A table has the name
  // of its caption: "ap1000.fits", and "ap1000.fits.2" if there is one already.
  void table(std::string_view caption, Rows rows, const CaptionValues& more = {}) const;
  void table(std::string_view caption, const std::vector<Column>& columns,
             const std::vector<Factors>& rows, const CaptionValues& more = {}) const;
  // name: of the chart, and of its caption unless that has another name.
  void chart(const std::string& name, Content content, const CaptionValues& more = {},
             std::string_view caption = {}) const;
  // All samples of one point or of several, in the order of time, with `flagged` ones larger. This
  // chart is compared with no other: run 7 here has nothing to do with run 7 elsewhere.
  void order_chart(const std::string& name, Axis y, std::vector<Curve> curves,
                   const CaptionValues& more = {}) const;
};

}  // namespace tabane::lab
