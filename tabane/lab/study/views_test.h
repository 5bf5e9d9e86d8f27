// Looks up views, tables and warnings of a record, for tests, and keeps its page for another.
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tabane/lab/page/report.h"
#include "tabane/lab/record/record.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {

// throws: std::runtime_error if no view has such a title.
inline const View& view_of(const Record& record, const std::string& part_of_title) {
  const auto found = std::ranges::find_if(record.views, [&](const View& view) {
    return view.title.find(part_of_title) != std::string::npos;
  });
  if (found == record.views.end()) throw std::runtime_error("no view: " + part_of_title);
  return *found;
}

using Names = std::vector<std::string>;

// Whether each condition holds; "": the views that have none.
using Conditions = std::map<std::string, bool>;

// Returns the views of a study that docs/reports.md names and its record lacks. A name may contain
// *. What follows it in brackets, as in "`pc_cluster.watch` (with --hosts)", is a condition: where
// it does not hold, its views are not asked for. Views without a condition are, unless conditions
// say that "" does not hold.
// throws: std::runtime_error unless the conditions are all that the page has for the study.
inline Names missing_views(const std::string& study, const Record& record,
                           Conditions conditions = {}) {
  conditions.emplace("", true);
  std::ifstream page(std::filesystem::path(__FILE__).parent_path() / "../../../docs/reports.md");
  static const std::regex names("((?:`[a-z0-9_.*-]+`(?:, )?)+)(?: \\(([^)]*)\\))?");
  static const std::regex one("`([^`]*)`");
  Names missing;
  std::set<std::string> seen;  // conditions
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) inside = line.find("`" + study + "`") != std::string::npos;
    if (!inside || !line.starts_with("| ")) continue;
    const std::size_t begin = line.find(" | ");
    const std::string cell = line.substr(begin, line.find(" | ", begin + 3) - begin);
    for (std::sregex_iterator list(cell.begin(), cell.end(), names), end; list != end; ++list) {
      const std::string condition = (*list)[2], text = (*list)[1];
      seen.insert(condition);
      if (!conditions.contains(condition))
        throw std::runtime_error("docs/reports.md has a condition that the test of " + study +
                                 " does not know: " + condition);
      if (!conditions.at(condition)) continue;
      for (std::sregex_iterator name(text.begin(), text.end(), one); name != end; ++name) {
        const std::string wanted = (*name)[1];
        if (std::ranges::none_of(record.views, [&](const View& view) {
              return fnmatch(wanted.c_str(), view.name.c_str(), 0) == 0;
            }))
          missing.push_back(wanted);
      }
    }
  }
  for (const auto& [condition, holds] : conditions) {
    if (!seen.contains(condition))
      throw std::runtime_error("docs/reports.md has no such view of " + study + ": " + condition);
  }
  return missing;
}

// Where TABANE_PAGES is set, writes the page of an invented record to a folder below it, for
// report.browser.
inline void keep_page(Record record) {
  const char* const pages = std::getenv("TABANE_PAGES");  // NOLINT(concurrency-mt-unsafe)
  if (pages == nullptr) return;
  record.kind = Kind::study;
  write_report(record, std::filesystem::path(pages) / record.name);
}

inline bool warns(const Record& record, const std::string& id) {
  return std::ranges::count(record.warnings, id, &Warning::id) == 1;
}

inline const Rows& table(const Record& record, const std::string& part_of_title) {
  return std::get<Rows>(view_of(record, part_of_title).content);
}

// Returns what a row of a table shows.
inline std::vector<std::string> row_of(const View& view, std::size_t row) {
  std::vector<std::string> texts;
  for (const Entry& entry : std::get<Rows>(view.content).rows.at(row)) {
    texts.push_back(text_of(entry));
  }
  return texts;
}

// Returns what all rows of a table show. throws: std::runtime_error if one is not as long as the
// head.
inline std::vector<std::vector<std::string>> texts_of(const Record& record,
                                                      const std::string& part_of_title) {
  const View& view = view_of(record, part_of_title);
  const Rows& rows = std::get<Rows>(view.content);
  std::vector<std::vector<std::string>> texts;
  for (std::size_t row = 0; row < rows.rows.size(); ++row) {
    texts.push_back(row_of(view, row));
    if (texts.back().size() != rows.columns.size())
      throw std::runtime_error("a row of another length: " + view.title);
  }
  return texts;
}

// Returns what a table shows below a head, in the first row whose first entry begins or ends so.
// throws: std::runtime_error if there is no such table, column or row.
inline std::string shown_at(const Record& record, const std::string& part_of_title,
                            const std::string& head, const std::string& row = "") {
  const View& view = view_of(record, part_of_title);
  const Rows& rows = std::get<Rows>(view.content);
  const auto column = std::ranges::find(rows.columns, head);
  if (column == rows.columns.end()) throw std::runtime_error("no column: " + head);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const std::vector<std::string> texts = row_of(view, i);
    if (texts[0].starts_with(row) || texts[0].ends_with(row))
      return texts.at(static_cast<std::size_t>(column - rows.columns.begin()));
  }
  throw std::runtime_error("no row: " + row);
}

}  // namespace tabane::lab
