// Records that earlier versions wrote.
#include <utility>

#include "tabane/lab/record/json_reader.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {
namespace {

void rename(Json& object, const char* from, const char* to) {
  if (!object.is_object() || !object.contains(from)) return;
  Json value = std::move(object[from]);
  object.erase(from);
  object[to] = std::move(value);
}

// "rows" had columns with units; entries now carry theirs.
void upgrade_rows(Json& table) {
  if (table.value("kind", "") != "rows" || !table.contains("columns")) return;
  const Json columns = table["columns"];
  Json names = Json::array();
  for (const Json& column : columns) names.push_back(column.value("name", ""));
  table["columns"] = names;
  for (Json& row : table["rows"]) {
    for (std::size_t i = 0; i < row.size() && i < columns.size(); ++i) {
      if (row[i].is_number()) row[i] = {{"value", row[i]}, {"unit", columns[i].value("unit", "")}};
    }
  }
}

Json upgraded_survey(Json survey) {
  survey["schema_version"] = kSchemaVersion;
  survey["name"] = "survey";
  survey["title"] = "";
  survey["source"] = "";
  survey["comparisons"] = Json::array();
  for (const char* list : {"results", "tables"}) {
    if (!survey.contains(list) || !survey[list].is_array()) continue;
    for (Json& one : survey[list]) rename(one, "parameters", "details");
  }
  if (survey.contains("tables") && survey["tables"].is_array()) {
    for (Json& table : survey["tables"]) {
      rename(table, "what", "title");
      table["note"] = "As an earlier version of tabane measured it.";
      upgrade_rows(table);
    }
  }
  rename(survey, "tables", "views");
  return survey;
}

// Tables of studies were text alone, with the head as the first row.
Json upgraded_table(const std::string& study, std::size_t number, const Json& table) {
  Json rows = table.value("rows", Json::array());
  for (Json& row : rows) {  // version 1 let rows be shorter than the head
    while (row.size() < rows[0].size()) row.push_back(nullptr);
  }
  const Json columns = rows.empty() ? Json::array() : rows[0];
  if (!rows.empty()) rows.erase(0);
  return {{"name", study + ".table." + std::to_string(number)},
          {"title", table.value("title", "")},
          {"note", table.value("remark", "")},
          {"version", 1},
          {"details", Json::object()},
          {"kind", "rows"},
          {"columns", columns},
          {"rows", rows}};
}

}  // namespace

Json upgraded_from_1(const Json& json) {
  const JsonReader top(json);
  const std::string kind = top.at("kind").text();
  if (kind != "study") {
    top.at("kind").expect(kind == "survey", R"("survey" or "study")");
    return upgraded_survey(json);
  }
  Json study = upgraded_survey(top.at("survey").object());
  for (const char* key : {"kind", "name", "title", "source"}) study[key] = top.at(key).text();
  Json views = Json::array();
  std::size_t number = 0;
  for (const Json& table : json.value("tables", Json::array()))
    views.push_back(upgraded_table(json.value("name", ""), ++number, table));
  for (Json& view : study["views"]) views.push_back(std::move(view));
  study["views"] = std::move(views);
  return study;
}

}  // namespace tabane::lab
