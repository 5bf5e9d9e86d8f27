#include "tabane/program/record_file.h"

#include <fmt/format.h>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/record/json.h"
#include "tabane/lab/survey/present.h"
#include "tabane/program/printable.h"

namespace tabane::program {

namespace {

// Of all keys and texts: what is shown of a record must not steer a terminal. Only what a tuning
// keeps for itself, which is compared and not shown, stays as it is.
lab::Json without_controls_in(const lab::Json& json) {
  if (json.is_string()) return without_controls(json.text());
  if (!json.is_structured()) return json;
  lab::Json all = json.is_array() ? lab::Json::array() : lab::Json::object();
  for (const auto& [key, value] : json.items()) {
    lab::Json shown =
        key == lab::detail::kTuning && value.is_object() ? value : without_controls_in(value);
    if (json.is_array())
      all.push_back(std::move(shown));
    else
      all[without_controls(key)] = std::move(shown);
  }
  return all;
}

}  // namespace

lab::Record read_record(const std::string& file) {
  const std::string text = core::read_file(file);
  try {
    lab::Record record = lab::record_from_json(without_controls_in(lab::Json::parse(text)));
    // Surveys of schema version 1 lack the views that results of several probes make.
    if (record.kind == lab::Kind::survey) lab::present(record);
    return record;
  } catch (const core::Error& error) {
    throw core::UsageError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace tabane::program
