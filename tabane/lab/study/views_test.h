// Looks up views, tables and warnings of a record, for tests.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

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
