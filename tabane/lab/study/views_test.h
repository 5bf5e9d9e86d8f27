// What tests of studies look up in a record and in its views.
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

// What a row of a table shows.
inline std::vector<std::string> row_of(const View& view, std::size_t row) {
  std::vector<std::string> texts;
  for (const Entry& entry : std::get<Rows>(view.content).rows.at(row)) {
    texts.push_back(text_of(entry));
  }
  return texts;
}

}  // namespace tabane::lab
