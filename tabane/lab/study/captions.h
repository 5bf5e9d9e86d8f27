// Titles and notes of a study's tables and charts: a text beside the study, with places for values.
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

// The values that stand in captions, by their names.
using Values = std::map<std::string, std::string, std::less<>>;

// Returns a paragraph of captions, with its values in the places of their names:
//
//   [watch]
//   Messages of {size}, over time
//   Larger points are far below the others.[ Here {slow} are.]
//
// "watch" is its name; the line below it is the title, the others are the note. What stands in
// brackets is left out if one of its values is empty or missing. value: returns null if missing.
// throws: core::Error if there is no such paragraph, or no value outside of brackets.
Caption caption_of(std::string_view captions, std::string_view name,
                   const std::function<std::optional<std::string>(std::string_view)>& value);

// The files studies/*/captions.txt, put into the program by the build.
struct CaptionFile {
  const char* study;  // "pc-cluster" of studies/pc_cluster/captions.txt
  const char* text;
};
std::span<const CaptionFile> caption_files();

// Adds the views of a study to its record, with the captions of the record's name.
struct StudyViews {
  Record& record;
  const Points& points;
  const Record& report;  // the published figures
  Values values = {};    // for all captions; {report.NAME} is a figure of the report in all

  // A published figure, or its remark. name: below the family of the report.
  Entry published(const std::string& name) const;
  std::string reported(const std::string& name) const;
  // The same for captions, where {report.NAME} is a published figure.
  Caption caption(std::string_view name, const Values& more = {}) const;

  // caption: its name. Nothing is added without rows, or without curves.
  void table(std::string_view caption, Rows rows, const Values& more = {}) const;
  void table(std::string_view caption, const std::vector<Column>& columns,
             const std::vector<Factors>& rows, const Values& more = {}) const;
  // name: of the chart, and of its caption unless that has another.
  void chart(const std::string& name, Content content, const Values& more = {},
             std::string_view caption = {}) const;
};

}  // namespace tabane::lab
